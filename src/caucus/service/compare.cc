#include "caucus/service/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/renamed_options.h"
#include "caucus/data/folds.h"
#include "caucus/infer/stopping.h"
#include "caucus/infer/tasks.h"
#include "caucus/result/monte_carlo_scores.h"
#include "caucus/service/checkpoints.h"
#include "caucus/service/families.h"
#include "caucus/service/fit.h"
#include "caucus/service/select.h"

namespace caucus {

namespace {

constexpr double effort_of_a_fold = 0.25;  // of the search that a fit of its own would have

bool ties_are_outcomes(std::string_view family) { return find_family(family).info().ties == TieMeaning::outcome; }

struct Scored {
  CompareRow row;
  HeldoutScores scores;
};

// Says which family and fold the progress is of.
class FoldObserver : public Observer, public StopSource {
 public:
  explicit FoldObserver(Observer* outer) : outer_(outer) {}
  void enter(std::string where) { where_ = std::move(where); }
  Flow progress(const Progress& progress) override {
    if (outer_ == nullptr) return Flow::proceed;
    Progress told = progress;
    const std::string phase = fmt::format("{}, {}", where_, progress.phase);
    told.phase = phase;
    return outer_->progress(told);
  }
  bool stop_requested() const override { return caucus::stop_requested(outer_); }
  void warning(std::string_view message) override {
    if (outer_ != nullptr) outer_->warning(message);
  }

 private:
  Observer* outer_;
  std::string where_;
};

// What a fold gives: enough to go on without its model.
struct Fold {
  std::vector<double> log_prob, weight;
  double groups = 0.0;
  double monte_carlo_error = 0.0;  // of the weighted sum of log_prob
  int at_largest = 0;
  bool interrupted = false, out_of_time = false;
  std::string refused;
};
auto parts(IsA<Fold> auto& fold) {
  return std::tie(fold.log_prob, fold.weight, fold.groups, fold.monte_carlo_error, fold.at_largest, fold.interrupted,
                  fold.out_of_time, fold.refused);
}

Fold run_fold(const Contender& contender, const Split& split, const std::vector<int>& candidates, bool choose, const Run& run) {
  Fold fold;
  if (should_stop(run)) {  // a fit that begins now would only add to the time
    (why_stopped(run) == StopReason::time_limit ? fold.out_of_time : fold.interrupted) = true;
    return fold;
  }
  try {
    FitOutcome outcome;
    if (choose) {
      Selection selection = select(split.train,
                                   {.family = contender.family,
                                    .options = contender.options,
                                    .candidates = candidates,
                                    .criterion = find_family(contender.family).info().quick_criterion},
                                   run);
      fold.interrupted = selection.interrupted;
      fold.out_of_time = selection.out_of_time;
      fold.at_largest = candidates.size() > 1 && selection.chosen_k == candidates.back() ? 1 : 0;
      outcome = std::move(selection.chosen);
    } else {
      service::FitResult fitted =
          service::fit({.family = contender.family, .options = contender.options, .data = &split.train}, run);
      outcome = {std::move(fitted.model), std::move(fitted.summary)};
    }
    fold.interrupted = fold.interrupted || outcome.summary.stop_reason == StopReason::interrupted;
    fold.out_of_time = fold.out_of_time || outcome.summary.stop_reason == StopReason::time_limit;
    if (fold.out_of_time) return fold;
    outcome.model->check(split.test);
    HeldoutScores scores;
    if (!scores.append_unless([&] { return should_stop(run); }, *outcome.model, split.test, run.threads))
      (why_stopped(run) == StopReason::time_limit ? fold.out_of_time : fold.interrupted) = true;
    fold.log_prob = std::move(scores.log_prob);
    fold.weight = std::move(scores.weight);
    fold.groups = static_cast<double>(outcome.model->num_components());
    if (const auto* by_draws = dynamic_cast<const MonteCarloScores*>(outcome.model.get()))
      fold.monte_carlo_error = by_draws->loglik_error(split.test, run.threads);
  } catch (const DataError& refusal) {
    fold.refused = refusal.what();
  }
  return fold;
}

// one: the weight that counts as one ballot in the data that the splits are of.
Scored run_contender(const Contender& contender, const std::vector<Split>& splits, double one, const CompareRequest& request,
                     Run run, bool& interrupted) {
  run.seed = contender.seed.value_or(run.seed);
  Scored result;
  result.scores.one = one;
  result.row.label = contender.label;
  result.row.family = contender.family;
  const Family& family = find_family(contender.family);
  const std::vector<int>& candidates = contender.candidates.empty() ? request.candidates : contender.candidates;
  const bool choose = family.info().has_option("components") && !contender.options.contains("components") && !candidates.empty();
  const double before = run.seconds();
  if (request.reset_peak_memory) request.reset_peak_memory();
  FoldObserver observer(run.observer);
  run.observer = &observer;
  run.effort *= effort_of_a_fold;
  // Processes have a fold each; here one fold comes after the other, with all threads, and what it has done is remembered too.
  const std::string place = run.journal != nullptr ? run.journal->next() + "/" : "";
  const bool several = run.workers().several();
  bool over = false;
  const auto body = [&](std::size_t number) -> std::optional<Fold> {
    if (over) return std::nullopt;
    observer.enter(fmt::format("{}, fold {} of {}", contender.label, number + 1, splits.size()));
    Run own = run.alone();
    std::optional<JournalScope> scope;
    if (run.journal != nullptr && !several)
      own.journal = &scope.emplace(run.journal->journal(), fmt::format("{}{}/", place, number));
    Fold fold = run_fold(contender, splits[number], candidates, choose, own);
    over = fold.interrupted || fold.out_of_time || !fold.refused.empty();
    return fold;
  };
  const auto folds = run_tasks<Fold>({1, run.ranks, run.journal}, splits.size(), body,
                                     [](const Fold& fold) { return !fold.interrupted && !fold.out_of_time; });
  bool out_of_time = false;
  double error_squared = 0.0;
  for (const std::optional<Fold>& fold : folds) {
    if (!fold) continue;
    if (!fold->refused.empty() && !result.row.refused) result.row.refused = fold->refused;
    interrupted = interrupted || fold->interrupted;
    out_of_time = out_of_time || fold->out_of_time;
    result.row.folds_at_largest += fold->at_largest;
    result.row.groups += fold->groups / static_cast<double>(splits.size());
    error_squared += fold->monte_carlo_error * fold->monte_carlo_error;
    result.scores.log_prob.insert(result.scores.log_prob.end(), fold->log_prob.begin(), fold->log_prob.end());
    result.scores.weight.insert(result.scores.weight.end(), fold->weight.begin(), fold->weight.end());
  }
  result.row.seconds = run.seconds() - before;
  if (request.peak_memory_bytes) result.row.peak_bytes = request.peak_memory_bytes();
  if (interrupted && !result.row.refused) result.row.refused = "interrupted before all folds were scored";
  if (out_of_time && !result.row.refused) {
    result.row.refused = "the time limit came before its fits were done";
    result.row.unfinished = true;
  }
  if (!result.row.refused) {
    result.row.heldout_mean = result.scores.mean();
    result.row.heldout_se = result.scores.standard_error();
    if (error_squared > 0.0) result.row.monte_carlo_error = std::sqrt(error_squared) / sum(result.scores.weight);
    if (!std::isfinite(result.row.heldout_mean)) result.row.refused = "gives some held-out ballots probability zero";
  }
  return result;
}

}  // namespace

Contender parse_contender(std::string_view text) {
  Contender contender{std::string(text), std::string(text.substr(0, text.find(':'))), {}, {}, {}};
  const Family& family = find_family(contender.family);
  if (text.find(':') == std::string_view::npos) return contender;
  std::string_view rest = text.substr(text.find(':') + 1);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(';'));
    rest = part.size() == rest.size() ? std::string_view{} : rest.substr(part.size() + 1);
    const std::size_t equals = part.find('=');
    const std::string key =
        equals == std::string_view::npos || part.substr(0, equals) == "k" ? "components" : std::string(part.substr(0, equals));
    if (key == "seed") {
      contender.seed = static_cast<std::uint64_t>(detail::parse_integer("seed", part.substr(equals + 1)));
      continue;
    }
    const std::string_view value = equals == std::string_view::npos ? part : part.substr(equals + 1);
    if (key == "components" && value.find("..") != std::string_view::npos)
      contender.candidates = parse_candidates(value);
    else
      contender.options[key] = std::string(value);
    if (!family.info().has_option(key)) {
      std::vector<std::string> known;
      for (const OptionInfo& option : family.info().options) known.push_back(option.name);
      if (const std::string_view now = renamed_option(key, known); !now.empty())
        throw UsageError(fmt::format("'{}' is now called '{}'", key, now));
      throw UsageError(
          fmt::format("family {} has no option {}; see 'caucus families {}'", contender.family, key, contender.family));
    }
  }
  return contender;
}

namespace {

std::string describe(const CompareRequest& request) {
  std::string text = fmt::format("compare k {} folds {}", fmt::join(request.candidates, ","), request.folds);
  for (const Contender& contender : request.contenders)
    text += fmt::format("; {} {} k {} seed {}", contender.family, service::options_text(contender.options),
                        fmt::join(contender.candidates, ","), contender.seed ? std::to_string(*contender.seed) : "");
  return text;
}

}  // namespace

Comparison compare(const Dataset& data, const CompareRequest& request, const Run& run) {
  if (!request.checkpoint.path.empty()) {
    const service::Checkpoints checkpoints(request.checkpoint, describe(request), data, run);
    CompareRequest open = request;
    open.checkpoint = {};
    return compare(data, open, checkpoints.run());
  }
  const std::vector<Split> splits = make_folds(data, request.folds, run.seed);
  Comparison comparison;
  comparison.folds = request.folds;
  comparison.seed = run.seed;
  comparison.num_rankings = data.rankings.total_weight();
  comparison.data = facts_of(data, run.ranks);
  std::vector<Scored> scored;
  for (const Contender& contender : request.contenders) {
    if (comparison.interrupted) break;
    scored.push_back(run_contender(contender, splits, one_ballot_of(data), request, run, comparison.interrupted));
  }

  comparison.note = unscored_note(splits);
  if (data.rankings.has_ties()) {
    const auto taken = [&](bool outcomes) {
      return std::any_of(scored.begin(), scored.end(),
                         [&](const Scored& one) { return !one.row.refused && ties_are_outcomes(one.row.family) == outcomes; });
    };
    if (taken(true) && taken(false)) {
      std::string left_out;
      for (Scored& one : scored)
        if (!one.row.refused && ties_are_outcomes(one.row.family)) {
          left_out += (left_out.empty() ? "" : ", ") + one.row.label;
          one.row.refused = fmt::format("another sample space for ties; its own held-out mean is {:.6f}", one.row.heldout_mean);
        }
      comparison.note += fmt::format(
          "{}The data have ties. For {} a tie is an outcome of its own; for the others a tied ballot is the event that one of the "
          "consistent rankings occurred. These are different sample spaces, so {} is left out of the order.",
          comparison.note.empty() ? "" : "\n", left_out, left_out);
    }
  }

  std::stable_sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    if (a.row.refused.has_value() != b.row.refused.has_value()) return !a.row.refused.has_value();
    return !a.row.refused && a.row.heldout_mean > b.row.heldout_mean;
  });
  std::string wanting;
  for (const Scored& one : scored)
    if (!one.row.refused && one.row.folds_at_largest > 0)
      wanting +=
          fmt::format("{}{} ({} of {} folds)", wanting.empty() ? "" : ", ", one.row.label, one.row.folds_at_largest, splits.size());
  if (!wanting.empty())
    comparison.note += fmt::format(
        "{}The largest number of groups offered was chosen by {}; with more, as in -k 1..12 or pl:1..12, it may predict better.",
        comparison.note.empty() ? "" : "\n", wanting);
  for (const Scored& one : scored)
    if (!one.row.refused && one.row.monte_carlo_error)
      comparison.note +=
          fmt::format("{}The scores of {} are means over draws, which leave an error of {:.2g} in its held-out mean.",
                      comparison.note.empty() ? "" : "\n", one.row.label, *one.row.monte_carlo_error);
  for (Scored& one : scored) {
    if (!one.row.refused) one.row.behind_best = paired_difference(scored.front().scores, one.scores);
    comparison.table.push_back(std::move(one.row));
  }
  return comparison;
}

}  // namespace caucus
