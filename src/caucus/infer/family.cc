#include "caucus/infer/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/data/weights.h"
#include "caucus/infer/stopping.h"
#include "caucus/io/stream.h"

namespace caucus {

std::vector<std::string> Accepts::names() const {
  std::vector<std::string> result;
  if (complete) result.emplace_back("complete");
  if (top_t) result.emplace_back("top-t");
  if (subset) result.emplace_back("subset"), result.emplace_back("pairwise");
  if (ties) result.emplace_back("ties");
  if (voters) result.emplace_back("voters");
  return result;
}

void require_accepted(const Accepts& accepts, const Dataset& data, std::string_view who) {
  const DataTraits found = traits(data);
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    throw DataError(fmt::format("{}: {} does not take {}; {}", data.source, who, what, remedy));
  };
  if (data.rankings.empty()) throw DataError(fmt::format("{}: there are no rankings", data.source));
  if (data.voters.share() && !accepts.voters)
    refuse("several rankings by one voter",
           "its groups are groups of rankings. Leave --voter out to let every ranking count as a voter of its own, or choose a "
           "family and method that does (caucus families)");
  if (found.has_ties && !accepts.ties)
    refuse("rankings with ties", "choose a family that does (caucus families), or break the ties first");
  if (found.top_t && !accepts.top_t)
    refuse("rankings that stop early (top-t)", "keep the complete rankings only, or choose a family that does (caucus families)");
  if (found.subset && !accepts.subset)
    refuse("rankings of a subset of the items", accepts.top_t ? "if unlisted items are below the listed ones, say --unranked last"
                                                              : "choose a family that does (caucus families)");
}

bool Family::takes_stream(const OptionMap&) const { return false; }

bool FamilyInfo::has_option(std::string_view option) const {
  return std::ranges::any_of(options, [&](const OptionInfo& one) { return one.name == option; });
}

namespace {

void complete_summary(FitOutcome& outcome, double num_rankings, double begun, const Run& run) {
  FitSummary& summary = outcome.summary;
  summary.num_rankings = num_rankings;
  summary.seconds = run.seconds() - begun;
  summary.seed = run.seed;
  summary.threads = resolve_threads(run.threads);
  summary.log_discrete_values = 0.0;
  for (const Group& group : outcome.model->profile()) summary.log_discrete_values += group.log_discrete_values;
  if (summary.trace.values.empty() && !std::isnan(summary.loglik)) summary.trace = {"log-likelihood", {summary.loglik}};
}

// Whether a single ranking says that all would take more than half a second.
bool one_takes_long(const FittedModel& model, const Dataset& data, const Run& run) {
  if (data.rankings.empty()) return false;
  const double begun = run.seconds();
  double one = 0.0;
  model.log_prob(data, 0, 1, std::span(&one, 1));
  const double each = run.seconds() - begun;
  return each > 0.02 && each * static_cast<double>(data.rankings.size()) > 0.5 * resolve_threads(run.threads);
}

// The log-likelihood of a fit that did not come with it. It may take longer than the fit (a kernel estimate compares every ballot
// with every other): where the time is up, or the fit was stopped and this takes more than half a second, it is left out, with a
// warning.
double scored(const FittedModel& model, const Dataset& data, const Run& run, FitSummary& summary) {
  if (counts_voters(model, data)) return log_likelihood(model, data, run.threads);
  const bool stopped = should_stop(run) || summary.stop_reason == StopReason::time_limit;
  const double until = stopped ? std::min(run.seconds() + 0.5, run.time_limit + 1.0) : run.time_limit;
  const auto stop = [&] { return run.seconds() >= until || (!stopped && stop_requested(run.observer)); };
  const auto log_prob =
      stopped && one_takes_long(model, data, run) ? std::nullopt : log_probs_unless(stop, model, data, run.threads);
  if (run.agreed(!log_prob)) {
    if (!stopped) summary.stop_reason = why_stopped(run);
    summary.warnings.emplace_back("there was no time to compute the log-likelihood; caucus score MODEL DATA does");
    return Progress::no_number;
  }
  double total = 0.0;
  for (std::size_t i = 0; i < log_prob->size(); ++i) total += data.rankings.weight(i) * (*log_prob)[i];
  return total;
}

}  // namespace

// Several processes that all did the same work would be no faster than one.
void Family::require_shared(const OptionMap& options) const {
  const FamilyInfo own = info();
  const auto given = options.find("method");
  for (const MethodInfo& method : own.methods) {
    if (method.name != (given == options.end() ? own.methods.front().name : given->second)) continue;
    if (!method.shared)
      throw UsageError(fmt::format("family {}, method {}: several processes cannot share its work; run it with caucus, on threads",
                                   own.name, method.name));
  }
}

FitOutcome Family::fit(const Dataset& data, const OptionMap& options, const Run& run) const {
  const double begun = run.seconds();
  if (run.workers().several()) require_shared(options);
  FitOutcome outcome = do_fit(data, options, run);
  FitSummary& summary = outcome.summary;
  if (std::isnan(summary.loglik)) summary.loglik = scored(*outcome.model, data, run, summary);
  // Where there was no time for the one there is none for the other.
  if (!summary.entropy && outcome.model->num_components() > 1 && !std::isnan(summary.loglik))
    summary.entropy = membership_entropy(*outcome.model, data, run.threads);
  complete_summary(outcome, summary.num_rankings > 0.0 ? summary.num_rankings : data.rankings.total_weight(), begun, run);
  const bool voters = counts_voters(*outcome.model, data);
  if (voters && !(summary.num_voters > 0.0)) summary.num_voters = data.voters.total_weight();
  const double size = voters ? effective_size(data.voters.weights) : effective_size(data.rankings);
  if (size > 0.0 && size != (voters ? data.voters.total_weight() : data.rankings.total_weight()))
    summary.details.set("effective_size", size);
  return outcome;
}

FitOutcome Family::fit_stream(RankingStream& rankings, const OptionMap& options, const Run& run) const {
  const double begun = run.seconds();
  FitOutcome outcome = do_fit_stream(rankings, options, run);
  complete_summary(outcome, rankings.total_weight(), begun, run);
  return outcome;
}

FitOutcome Family::do_fit_stream(RankingStream&, const OptionMap&, const Run&) const {
  throw UsageError(fmt::format("family {} needs all rankings at once", info().name));
}

}  // namespace caucus
