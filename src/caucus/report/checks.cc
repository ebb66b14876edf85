#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/evaluate/goodness.h"
#include "caucus/report/parts.h"

namespace caucus::report {

Json data_json(const Dataset& data) {
  const DataTraits found = traits(data);
  const std::size_t n = data.num_items();
  std::map<std::size_t, double> lengths;
  std::vector<double> first(n, 0.0), mentions(n, 0.0);
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const RankingView ranking = data.rankings[i];
    const double w = data.rankings.weight(i);
    lengths[ranking.size()] += w;
    for (ItemId item : ranking.items()) mentions[item] += w;
    bool at_first = true;
    ranking.for_each_group([&](std::span<const ItemId> group) {
      if (at_first)
        for (ItemId item : group) first[item] += w / static_cast<double>(group.size());
      at_first = false;
    });
  }
  Json by_length = Json::array();
  for (const auto& [length, count] : lengths) by_length.push_back({length, rounded(count)});
  const double total = data.rankings.total_weight();
  std::vector<std::string> sentences;
  sentences.push_back(fmt::format("{} rankings of {} items; {} of them are different.", whole(total), whole(static_cast<double>(n)),
                                  whole(static_cast<double>(data.rankings.size()))));
  if (data.voters.share())
    sentences.push_back(fmt::format("They come from {} voters, each of whom belongs to one group with all rankings.",
                                    whole(data.voters.total_weight())));
  if (found.complete)
    sentences.push_back("Every ranking lists all items.");
  else if (found.kind == DataKind::pairwise)
    sentences.push_back("Every ranking compares two items.");
  else
    sentences.push_back(fmt::format(
        "Rankings list from {} to {} items; {}.", found.min_length, found.max_length,
        data.unranked == Unranked::last ? "items not listed count as below the listed ones" : "items not listed took no part"));
  if (found.has_ties) sentences.push_back("Some rankings tie items.");
  if (data.blank_weight() > 0.0)
    sentences.push_back(fmt::format("Besides, {} list nothing and take no part.", whole(data.blank_weight())));
  if (data.facts.overvoted > 0.0)
    sentences.push_back(fmt::format("{} have an overvote: that place counts as empty.", whole(data.facts.overvoted)));
  if (data.facts.skipped > 0.0)
    sentences.push_back(fmt::format("{} skip a place: later choices move up.", whole(data.facts.skipped)));
  return {{"source", file_name(data.source)},
          {"digest", digest(data)},
          {"num_rankings", rounded(total)},
          {"num_blank", rounded(data.blank_weight(), 12)},
          {"num_overvoted", rounded(data.facts.overvoted, 12)},
          {"num_skipped", rounded(data.facts.skipped, 12)},
          {"num_unique", data.rankings.size()},
          {"num_items", n},
          {"kind", name_of(found.kind)},
          {"min_length", found.min_length},
          {"max_length", found.max_length},
          {"has_ties", found.has_ties},
          {"unranked", name_of(data.unranked)},
          {"lengths", by_length},
          {"items", data.items},
          {"first_places", rounded(first)},
          {"mentions", rounded(mentions)},
          {"sentences", sentences}};
}

Json goodness_json(const FittedModel& model, const Dataset& data, std::uint64_t seed, int threads, std::string& why_not,
                   std::vector<std::string>& misfits) {
  GoodnessOptions options;
  options.max_ballots = std::clamp<std::size_t>(std::size_t{200000} / std::max<std::size_t>(data.num_items(), 1), 500, 5000);
  options.replicates = 99;
  options.max_worst = 200;
  options.seed = seed;
  options.threads = threads;
  Goodness goodness;
  try {
    goodness = goodness_of_fit(model, data, options);
  } catch (const DataError& error) {
    why_not = error.what();
    return nullptr;
  }
  Json checks = Json::array();
  std::vector<std::string> fits, sentences;
  std::vector<std::string>& misses = misfits;
  for (GoodnessCheck& check : goodness.checks) {
    const bool first = check.name == "first places", pairs = check.name == "pairs";
    std::stable_sort(check.worst.begin(), check.worst.end(), [&](const Discrepancy& a, const Discrepancy& b) {
      return first ? a.expected > b.expected : std::abs(a.z) > std::abs(b.z);
    });
    const std::size_t keep = first ? 200 : 40;
    Json rows = Json::array();
    for (std::size_t i = 0; i < std::min(keep, check.worst.size()); ++i) {
      const Discrepancy& one = check.worst[i];
      const double deviation = one.z != 0.0 ? (one.observed - one.expected) / one.z : 0.5;
      std::string label = one.what;
      for (const std::string_view prefix : {"first places of ", "places listed on ballots that begin with "})
        if (label.starts_with(prefix)) label.erase(0, prefix.size());
      rows.push_back({{"label", label},
                      {"observed", rounded(one.observed)},
                      {"expected", rounded(one.expected)},
                      {"low", rounded(std::max(0.0, one.expected - 1.96 * deviation))},
                      {"high", rounded(one.expected + 1.96 * deviation)}});
    }
    (check.p_value > 0.05 ? fits : misses).push_back(check.name);
    const std::string name = first ? "First places" : pairs ? "Pairs" : "Ballot lengths";
    const std::string words =
        first   ? "How many of the ballots put the item first."
        : pairs ? fmt::format("How many of the ballots place one item above another; the {} pairs furthest from the model.",
                              rows.size())
                : "How many places are listed, in all, on the ballots that begin with the item.";
    checks.push_back({{"name", name}, {"words", words}, {"p_value", rounded(check.p_value)}, {"unit", "count"}, {"rows", rows}});
  }
  if (misses.empty())
    sentences.push_back(
        fmt::format("Yes, as far as was checked: {} look like those of data drawn from the model.", list_words(fits)));
  else if (fits.empty())
    sentences.push_back(
        fmt::format("Not in all respects: {} differ from what the model gives by more than chance.", list_words(misses)));
  else
    sentences.push_back(fmt::format("In part: {} fit, {} differ from what the model gives by more than chance.", list_words(fits),
                                    list_words(misses)));
  sentences.push_back(
      fmt::format("{} ballots were held against {} data sets drawn from the model. With much data even small differences show.",
                  whole(static_cast<double>(goodness.num_ballots)), goodness.replicates));
  return {{"sentences", sentences}, {"checks", checks}};
}

namespace {

constexpr std::size_t trace_points = 400;

// At most trace_points values, evenly spread, the last one always among them.
Json thinned(const std::string& name, const std::vector<double>& values, double first_iteration = 0.0, double stride = 1.0) {
  const std::size_t step = (values.size() + trace_points - 1) / trace_points;
  Json iterations = Json::array(), kept = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % std::max<std::size_t>(step, 1) != 0 && i + 1 != values.size()) continue;
    if (!std::isfinite(values[i])) continue;
    iterations.push_back(rounded(first_iteration + stride * static_cast<double>(i)));
    kept.push_back(rounded(values[i], 9));
  }
  return {{"name", name}, {"iterations", iterations}, {"values", kept}};
}

std::string quantity_words(std::string name) {
  if (name == "num_clusters") return "number of groups";
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace

Json traces_json(const FitSummary& summary) {
  Json traces = Json::array();
  const auto add = [&](const std::string& name, const char* words, Json chains) {
    for (const Json& chain : chains)
      if (chain["values"].size() > 1) {
        traces.push_back({{"name", name}, {"words", words}, {"chains", std::move(chains)}});
        return;
      }
  };
  if (summary.posterior)
    for (const ChainQuantity& quantity : summary.posterior->quantities) {
      Json chains = Json::array();
      const auto burnin = summary.options.find("burnin");
      bool warm_up = false;  // traces that are longer than the draws kept begin with the warm-up
      for (std::size_t c = 0; c < quantity.traces.size(); ++c) {
        const std::vector<double>& trace = quantity.traces[c];
        warm_up = burnin != summary.options.end() && trace.size() * quantity.traces.size() > summary.posterior->num_draws;
        const double stride = warm_up ? static_cast<double>(summary.iterations) / static_cast<double>(trace.size()) : 1.0;
        chains.push_back(thinned(fmt::format("chain {}", c + 1), trace, 0.0, stride));
      }
      const std::size_t before = traces.size();
      add(quantity_words(quantity.name),
          "Each line is one run of the sampler. Runs that mingle and do not drift agree with each other.", std::move(chains));
      double rounds = 0.0;
      const std::string& words = warm_up ? burnin->second : "";
      if (warm_up && traces.size() > before && std::from_chars(words.data(), words.data() + words.size(), rounds).ec == std::errc())
        traces.back()["burnin"] = rounds;
    }
  // The number of groups is what a reader asks for first.
  std::stable_partition(traces.begin(), traces.end(), [](const Json& trace) { return trace["name"] == "number of groups"; });
  add(summary.trace.measures, "The value that the fit makes as large as it can, round by round. It should rise and level off.",
      Json::array({thinned("fit", summary.trace.values)}));
  return traces;
}

namespace {

// Why the fit ended, and whether that is as it should be. A sampler that made all its rounds ended as it was told.
struct Ending {
  const char *name, *words;
  std::optional<bool> good;
};
Ending ending(const FitSummary& summary) {
  switch (summary.stop_reason) {
    case StopReason::converged:
      return {"converged", "the last rounds changed nothing that matters.", true};
    case StopReason::closed_form:
      return {"solved", "the answer has a closed form.", true};
    case StopReason::time_limit:
      return {"time limit", "it was still improving: allow more time.", false};
    case StopReason::interrupted:
      return {"interrupted", "this is the best result up to then.", false};
    case StopReason::iteration_limit:
      break;
  }
  if (summary.posterior) return {"all rounds done", "the sampler made the number of rounds it was given.", std::nullopt};
  return {"round limit", "it was still improving: allow more iterations.", false};
}

}  // namespace

Json diagnostics_json(const FitSummary& summary, const FittedModel* model, const VoterView* voters) {
  Json rows = Json::array();
  const auto add = [&](const std::string& name, const std::string& value, const std::string& words,
                       std::optional<bool> good = std::nullopt) {
    Json row = {{"name", name}, {"value", value}, {"words", words}};
    if (good) row["good"] = *good;
    rows.push_back(std::move(row));
  };
  const bool fitted = std::isfinite(summary.loglik) || summary.iterations > 0;  // a model written by hand has no fit
  if (fitted) {
    const Ending end = ending(summary);
    add("Ended because", end.name, end.words, end.good);
  }
  if (std::isfinite(summary.loglik)) {
    const double each = summary.loglik / summary.num_rankings;
    add("Log-likelihood", fmt::format("{:.2f}", summary.loglik),
        std::isfinite(each) ? fmt::format("natural logarithm; {:.4f} per ranking.", each) : "natural logarithm.");
  }
  if (summary.starts && summary.starts->tried > 1) {
    const bool alone = summary.starts->agreeing <= 1;
    add("Starts that agree", fmt::format("{} of {}", summary.starts->agreeing, summary.starts->finished),
        alone ? "only one start found this result: try more restarts." : "fits from different starts ended at the same result.",
        !alone);
    if (const std::optional<double> chance = summary.starts->chance_of_a_better)
      add("Chance of a better result", percent(*chance), "estimated from how often the starts ended at the same place.",
          *chance < 0.1);
  }
  if (model != nullptr) {
    std::optional<double> gap;  // the largest of all groups
    for (const Group& group : model->profile())
      if (group.errors.order_gap) gap = std::max(gap.value_or(0.0), *group.errors.order_gap);
    if (gap)
      add("Orders", *gap <= 0.0 ? "proven best" : "not proven best",
          *gap <= 0.0 ? "no other order fits the groups better." : "a search found them; a better one may exist.", *gap <= 0.0);
    for (const ModelFact& fact : model->facts()) add(fact.name, fact.value, fact.words);
  }
  if (summary.posterior)
    for (const ChainQuantity& one : summary.posterior->quantities) {
      const std::string shown = quantity_words(one.name);
      if (one.rhat)
        add("R-hat, " + shown, fmt::format("{:.3f}", *one.rhat),
            *one.rhat < 1.05 ? "the runs agree (below 1.05)." : "the runs do not agree (1.05 or more): run longer.",
            *one.rhat < 1.05);
      if (one.effective_sample_size)
        add("Effective draws, " + shown, fmt::format("{:.0f}", *one.effective_sample_size),
            *one.effective_sample_size >= 100.0 ? "enough for means and intervals."
                                                : "fewer than 100: run longer for intervals you can lean on.",
            *one.effective_sample_size >= 100.0);
    }
  if (voters != nullptr && model != nullptr && model->num_components() > 1)
    add("Clear memberships", percent(voters->sure() / std::max(1e-300, voters->total())),
        fmt::format("of the {} belong to their group with probability 0.9 or more.", voters->members()));
  if (summary.loglik_is_estimated) add("Normaliser", "estimated", "the likelihood may not be compared with other families.", false);
  if (summary.regularization && *summary.regularization > 0.0)
    add("Regularization", fmt::format("{:.3g}", *summary.regularization),
        "a weak pull keeps strengths finite that the data do not bound.");
  if (summary.seconds > 0.0)
    add("Time",
        summary.seconds < 1.0 ? fmt::format("{:.0f} ms", 1000.0 * summary.seconds) : fmt::format("{:.1f} s", summary.seconds),
        fmt::format("for {} rounds.", whole(summary.iterations)));
  return rows;
}

namespace {

// At most 120 of the ballots, group by group.
Json coclustering_json(const CoClustering& found, std::size_t num_groups) {
  std::vector<std::size_t> order(found.labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return found.labels[a] < found.labels[b]; });
  const std::size_t step = std::max<std::size_t>(1, (order.size() + 119) / 120);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < order.size(); i += step) kept.push_back(order[i]);
  Json labels = Json::array(), values = Json::array();
  for (std::size_t i : kept) {
    labels.push_back(std::min(found.labels[i], num_groups - 1));
    for (std::size_t j : kept) values.push_back(std::lround(1000.0 * found.together[i][j]));
  }
  return {{"labels", std::move(labels)}, {"values", std::move(values)}};
}

}  // namespace

Json clusters_json(const FitSummary& summary, std::size_t num_groups) {
  if (!summary.posterior || summary.posterior->num_groups.empty()) return nullptr;
  const auto& counts = summary.posterior->num_groups;
  Json list = Json::array();
  double total = 0.0;
  auto mode = counts.front();
  for (const auto& one : counts) {
    list.push_back({one.first, one.second});
    total += static_cast<double>(one.second);
    if (one.second > mode.second) mode = one;
  }
  Json json = {
      {"num_clusters", std::move(list)},
      {"words",
       fmt::format(
           "How probable each number of groups is, given the data. Most probable: {} ({}). Small groups come and go; the point "
           "estimate has {}.",
           mode.first, percent(static_cast<double>(mode.second) / std::max(total, 1e-300)), num_groups)}};
  if (const auto& together = summary.posterior->co_clustering; together && !together->labels.empty() && num_groups > 0)
    json["coclustering"] = coclustering_json(*together, num_groups);
  return json;
}

}  // namespace caucus::report
