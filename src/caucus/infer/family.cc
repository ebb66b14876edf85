#include "caucus/infer/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"

namespace caucus {

std::vector<std::string> Accepts::names() const {
  std::vector<std::string> result;
  if (complete) result.emplace_back("complete");
  if (top_t) result.emplace_back("top-t");
  if (subset) result.emplace_back("subset"), result.emplace_back("pairwise");
  if (ties) result.emplace_back("ties");
  return result;
}

void require_accepted(const Accepts& accepts, const Dataset& data, std::string_view who) {
  const DataTraits found = traits(data);
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    throw DataError(fmt::format("{}: {} does not take {}; {}", data.source, who, what, remedy));
  };
  if (data.rankings.empty()) throw DataError(fmt::format("{}: there are no rankings", data.source));
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
  if (summary.trace.values.empty()) summary.trace = {"log-likelihood", {summary.loglik}};
}

}  // namespace

FitOutcome Family::fit(const Dataset& data, const OptionMap& options, const Run& run) const {
  const double begun = run.seconds();
  FitOutcome outcome = do_fit(data, options, run);
  FitSummary& summary = outcome.summary;
  if (std::isnan(summary.loglik)) summary.loglik = log_likelihood(*outcome.model, data, run.threads);
  if (!summary.entropy && outcome.model->num_components() > 1)
    summary.entropy = membership_entropy(*outcome.model, data, run.threads);
  complete_summary(outcome, data.rankings.total_weight(), begun, run);
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

namespace model_json {

namespace {
[[noreturn]] void fail(std::string_view where, std::string_view key, std::string_view expected) {
  throw DataError(fmt::format("model file: {}{}{}: expected {}", where, where.empty() ? "" : ".", key, expected));
}
}  // namespace

std::vector<std::string> items(const nlohmann::json& model) {
  const auto found = model.find("items");
  if (found == model.end() || !found->is_array() || found->empty()) fail("", "items", "a list of item names");
  std::vector<std::string> result;
  std::unordered_set<std::string> seen;
  for (const auto& item : *found) {
    if (!item.is_string()) fail("", "items", "texts only");
    result.push_back(item.get<std::string>());
    if (!seen.insert(result.back()).second) fail("", "items", fmt::format("distinct names, but '{}' stands twice", result.back()));
  }
  return result;
}

Unranked unranked(const nlohmann::json& model) {
  const auto found = model.find("unranked");
  if (found == model.end()) return Unranked::last;
  if (found->is_string())
    if (const auto value = enum_from_name<Unranked>(found->get<std::string>())) return *value;
  fail("", "unranked", "\"last\" or \"absent\"");
}

const nlohmann::json& components(const nlohmann::json& model) {
  const auto found = model.find("components");
  if (found == model.end() || !found->is_array() || found->empty()) fail("", "components", "a list with at least one component");
  for (std::size_t k = 0; k < found->size(); ++k)
    if (!(*found)[k].is_object()) fail("", fmt::format("components[{}]", k), "an object");
  return *found;
}

double number(const nlohmann::json& object, const char* key, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) fail(where, key, "a number");
  const double value = found->get<double>();
  if (!std::isfinite(value)) fail(where, key, "a finite number");
  return value;
}

std::vector<double> numbers(const nlohmann::json& object, const char* key, std::size_t size, std::string_view where) {
  const auto found = object.find(key);
  const std::string expected = fmt::format("a list of {} finite numbers", size);
  if (found == object.end() || !found->is_array() || found->size() != size) fail(where, key, expected);
  std::vector<double> result;
  for (const auto& value : *found) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) fail(where, key, expected);
    result.push_back(value.get<double>());
  }
  return result;
}

std::vector<ItemId> permutation(const nlohmann::json& object, const char* key, std::size_t size, std::string_view where) {
  const auto found = object.find(key);
  const std::string expected = fmt::format("each of 0..{} once", size - 1);
  if (found == object.end() || !found->is_array() || found->size() != size) fail(where, key, expected);
  std::vector<ItemId> result;
  std::vector<bool> seen(size, false);
  for (const auto& value : *found) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() >= static_cast<std::int64_t>(size))
      fail(where, key, expected);
    const auto item = value.get<ItemId>();
    if (seen[item]) fail(where, key, expected);
    seen[item] = true;
    result.push_back(item);
  }
  return result;
}

std::vector<double> weights(const nlohmann::json& components) {
  std::vector<double> result;
  double total = 0.0;
  for (std::size_t k = 0; k < components.size(); ++k) {
    const std::string where = fmt::format("components[{}]", k);
    const bool alone = components.size() == 1 && !components[k].contains("weight");
    result.push_back(alone ? 1.0 : number(components[k], "weight", where));
    if (result.back() < 0.0) fail(where, "weight", "a number not below zero");
    total += result.back();
  }
  if (std::abs(total - 1.0) > 1e-6) fail("", "components", fmt::format("weights that sum to 1, but they sum to {}", total));
  for (double& weight : result) weight /= total;
  return result;
}

}  // namespace model_json

}  // namespace caucus
