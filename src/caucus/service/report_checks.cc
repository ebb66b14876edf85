#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "caucus/base/error.h"
#include "caucus/evaluate/goodness.h"
#include "caucus/service/report_parts.h"

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
  if (found.complete)
    sentences.push_back("Every ranking lists all items.");
  else if (found.kind == DataKind::pairwise)
    sentences.push_back("Every ranking compares two items.");
  else
    sentences.push_back(fmt::format(
        "Rankings list from {} to {} items; {}.", found.min_length, found.max_length,
        data.unranked == Unranked::last ? "items not listed count as below the listed ones" : "items not listed took no part"));
  if (found.has_ties) sentences.push_back("Some rankings tie items.");
  return {{"source", data.source},
          {"digest", digest(data)},
          {"num_rankings", rounded(total)},
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

Json goodness_json(const FittedModel& model, const Dataset& data, std::uint64_t seed, int threads, std::string& why_not) {
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
  std::vector<std::string> fits, misses, sentences;
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

// A list of numbers is one chain, a list of lists is several.
Json chains_of(const Json& values) {
  Json chains = Json::array();
  if (!values.is_array() || values.empty()) return chains;
  const auto numbers = [](const Json& list) {
    std::vector<double> result;
    for (const Json& value : list) result.push_back(value.is_number() ? value.get<double>() : std::nan(""));
    return result;
  };
  if (values[0].is_array())
    for (std::size_t c = 0; c < values.size(); ++c) chains.push_back(thinned(fmt::format("chain {}", c + 1), numbers(values[c])));
  else
    chains.push_back(thinned("fit", numbers(values)));
  return chains;
}

}  // namespace

Json traces_json(const Json& model) {
  Json traces = Json::array();
  const auto add = [&](const char* name, const char* words, const Json* values) {
    if (values == nullptr) return;
    Json chains = chains_of(*values);
    bool enough = false;
    for (const Json& chain : chains) enough = enough || chain["values"].size() > 1;
    if (enough) traces.push_back({{"name", name}, {"words", words}, {"chains", std::move(chains)}});
  };
  const char* sampler = "Each line is one run of the sampler. Runs that mingle and do not drift agree with each other.";
  // Samplers: {"traces": {"num_clusters": [[chain 1], ...], "log_joint": ...}} in "fit" or "posterior".
  for (const char* home : {"fit", "posterior"})
    if (const Json* several = find(model, {home, "traces"}); several != nullptr && several->is_object())
      for (const auto& [name, values] : several->items()) {
        std::string shown = name == "num_clusters" ? "number of groups" : name;
        std::replace(shown.begin(), shown.end(), '_', ' ');
        add(shown.c_str(), sampler, &values);
      }
  // The same as one object per chain: [{"num_clusters": [...], "log_joint": [...]}, ...].
  if (const Json* list = find(model, {"posterior", "traces"});
      list != nullptr && list->is_array() && !list->empty() && (*list)[0].is_object())
    for (const auto& [name, first] : (*list)[0].items()) {
      Json chains = Json::array();
      for (const Json& chain : *list)
        if (const Json* values = find(chain, {name.c_str()}); values != nullptr && values->is_array()) chains.push_back(*values);
      std::string shown = name == "num_clusters" ? "number of groups" : name;
      std::replace(shown.begin(), shown.end(), '_', ' ');
      add(shown.c_str(), sampler, &chains);
    }
  // The number of groups is what a reader asks for first.
  std::stable_partition(traces.begin(), traces.end(), [](const Json& trace) { return trace["name"] == "number of groups"; });
  add("log-likelihood of the draws", sampler, find(model, {"fit", "draws_loglik"}));
  add("objective", "The value that the fit makes as large as it can, round by round. It should rise and level off.",
      find(model, {"fit", "trace"}));
  return traces;
}

Json diagnostics_json(const Json& model, const VoterView* voters, const Dataset* data) {
  Json rows = Json::array();
  const auto add = [&](const std::string& name, const std::string& value, const std::string& words,
                       std::optional<bool> good = std::nullopt) {
    Json row = {{"name", name}, {"value", value}, {"words", words}};
    if (good) row["good"] = *good;
    rows.push_back(std::move(row));
  };
  if (const Json* reason = find(model, {"fit", "stop_reason"}); reason != nullptr && reason->is_string()) {
    const std::string why = reason->get<std::string>();
    const bool sampler = find(model, {"fit", "rhat_max"}) != nullptr || find(model, {"fit", "draws_loglik"}) != nullptr ||
                         model.contains("posterior");
    if (why == "converged")
      add("Ended because", "converged", "the last rounds changed nothing that matters.", true);
    else if (why == "closed_form")
      add("Ended because", "solved", "the answer has a closed form.", true);
    else if (why == "iteration_limit" && sampler)
      add("Ended because", "all rounds done", "the sampler made the number of rounds it was given.");
    else if (why == "iteration_limit")
      add("Ended because", "round limit", "it was still improving: allow more iterations.", false);
    else if (why == "time_limit")
      add("Ended because", "time limit", "it was still improving: allow more time.", false);
    else if (why == "interrupted")
      add("Ended because", "interrupted", "this is the best result up to then.", false);
    else
      add("Ended because", why, "");
  }
  if (const auto loglik = number_at(model, {"fit", "loglik"})) {
    const auto rankings = number_at(model, {"fit", "num_rankings"});
    add("Log-likelihood", fmt::format("{:.2f}", *loglik),
        rankings && *rankings > 0.0 ? fmt::format("natural logarithm; {:.4f} per ranking.", *loglik / *rankings)
                                    : "natural logarithm.");
  }
  if (const auto gap = number_at(model, {"fit", "gap"}))
    add("Gap to the proven best", fmt::format("{:.4g}", *gap),
        *gap <= 0.0 ? "the order is proven to be the best." : "a better order may exist.", *gap <= 0.0);
  if (const auto tried = number_at(model, {"fit", "starts", "tried"}))
    if (const auto agreeing = number_at(model, {"fit", "starts", "agreeing"})) {
      const bool alone = *agreeing <= 1.0 && *tried > 1.0;
      add("Starts that agree", fmt::format("{:.0f} of {:.0f}", *agreeing, *tried),
          alone ? "only one start found this result: try more restarts." : "fits from different starts ended at the same result.",
          !alone);
    }
  if (const auto starts = number_at(model, {"fit", "restarts", "starts"}))
    if (const auto agreed = number_at(model, {"fit", "restarts", "agreed"}); agreed && *starts > 1.0) {
      add("Starts that agree",
          fmt::format("{:.0f} of {:.0f}", *agreed, number_at(model, {"fit", "restarts", "finished"}).value_or(*starts)),
          *agreed <= 1.0 ? "only one start found this result: try more restarts."
                         : "fits from different starts ended at the same result.",
          *agreed > 1.0);
    }
  if (const Json* proven = find(model, {"fit", "consensus_proven"}); proven != nullptr && proven->is_boolean())
    add("Orders", proven->get<bool>() ? "proven best" : "not proven best",
        proven->get<bool>() ? "no other order fits the groups better." : "a search found them; a better one may exist.",
        proven->get<bool>());
  if (const Json* found = find(model, {"posterior", "diagnostics"}); found != nullptr && found->is_object())
    for (const auto& [name, values] : found->items()) {
      std::string shown = name == "num_clusters" ? "number of groups" : name;
      std::replace(shown.begin(), shown.end(), '_', ' ');
      if (const auto rhat = number_at(values, {"rhat"}))
        add("R-hat, " + shown, fmt::format("{:.3f}", *rhat),
            *rhat < 1.05 ? "the runs agree (below 1.05)." : "the runs do not agree (1.05 or more): run longer.", *rhat < 1.05);
      if (const auto ess = number_at(values, {"effective_sample_size"}))
        add("Effective draws, " + shown, fmt::format("{:.0f}", *ess),
            *ess >= 100.0 ? "enough for means and intervals." : "fewer than 100: run longer for intervals you can lean on.",
            *ess >= 100.0);
    }
  if (const Json* components = find(model, {"components"}); components != nullptr && components->is_array() &&
                                                            !components->empty() &&
                                                            (*components)[0].contains("rankings"))  // a density
    if (const auto bandwidth = number_at((*components)[0], {"theta"}))
      add("Kernel width (theta)", fmt::format("{:.4g}", *bandwidth),
          "the larger, the closer the probability stays to the rankings seen.");
  if (const auto rhat = number_at(model, {"fit", "rhat_max"}))
    add("R-hat", fmt::format("{:.3f}", *rhat),
        *rhat < 1.05 ? "the runs agree (below 1.05)." : "the runs do not agree (1.05 or more): run longer.", *rhat < 1.05);
  if (const auto ess = number_at(model, {"fit", "ess_min"}))
    add("Effective draws", fmt::format("{:.0f}", *ess),
        *ess >= 100.0 ? "enough for means and intervals." : "fewer than 100: run longer for intervals you can lean on.",
        *ess >= 100.0);
  if (voters != nullptr && data != nullptr && model.contains("components") && model["components"].size() > 1) {
    double sure = 0.0;
    for (std::size_t i = 0; i < voters->label.size(); ++i) sure += voters->certainty[i] >= 0.9 ? data->rankings.weight(i) : 0.0;
    const double share = sure / std::max(1e-300, data->rankings.total_weight());
    add("Clear memberships", percent(share), "of the rankings belong to their group with probability 0.9 or more.");
  }
  if (const Json* normalizer = find(model, {"fit", "normalizer"}); normalizer != nullptr && normalizer->is_string())
    add("Normaliser", normalizer->get<std::string>(),
        normalizer->get<std::string>() == "exact" ? "the likelihood may be compared with other families."
                                                  : "the likelihood may not be compared with other families.",
        normalizer->get<std::string>() == "exact");
  if (const auto regularization = number_at(model, {"fit", "regularization"}); regularization && *regularization > 0.0)
    add("Regularization", fmt::format("{:.3g}", *regularization), "a weak pull keeps strengths finite that the data do not bound.");
  if (const auto seconds = number_at(model, {"fit", "seconds"}))
    add("Time", *seconds < 1.0 ? fmt::format("{:.0f} ms", 1000.0 * *seconds) : fmt::format("{:.1f} s", *seconds),
        fmt::format("for {} rounds.", whole(number_at(model, {"fit", "iterations"}).value_or(0.0))));
  return rows;
}

Json clusters_json(const Json& model) {
  const Json* counts = find(model, {"posterior", "num_clusters"});
  if (counts == nullptr || (!counts->is_object() && !counts->is_array()) || counts->empty()) return nullptr;
  std::map<std::int64_t, double> by_count;
  if (counts->is_object()) {
    for (const auto& [key, value] : counts->items())
      if (value.is_number() && !key.empty() && key.find_first_not_of("0123456789") == std::string::npos && key.size() < 10)
        by_count[std::stoll(key)] += value.get<double>();
  } else {
    for (const Json& row : *counts) {
      if (row.is_array() && row.size() == 2 && row[0].is_number() && row[1].is_number())
        by_count[row[0].get<std::int64_t>()] += row[1].get<double>();
      if (row.is_object())
        if (const auto k = number_at(row, {"k"}))
          by_count[static_cast<std::int64_t>(*k)] += number_at(row, {"count"}).value_or(number_at(row, {"draws"}).value_or(0.0));
    }
  }
  if (by_count.empty()) return nullptr;
  Json list = Json::array();
  std::int64_t mode = by_count.begin()->first;
  double total = 0.0;
  for (const auto& [k, draws] : by_count) {
    list.push_back({k, rounded(draws)});
    total += draws;
    if (draws > by_count[mode]) mode = k;
  }
  Json json = {
      {"num_clusters", list},
      {"words",
       fmt::format(
           "How probable each number of groups is, given the data. Most probable: {} ({}). Small groups come and go; the point "
           "estimate has {}.",
           mode, percent(by_count[mode] / std::max(total, 1e-300)),
           model.contains("components") ? model["components"].size() : 0)}};
  // Co-clustering of some ballots: {"labels": group of each, "values": rows of probabilities}.
  for (const char* name : {"coclustering", "co_clustering"}) {
    const Json* together = find(model, {"posterior", name});
    if (together == nullptr || !together->is_object()) continue;
    const Json* labels = find(*together, {"labels"});
    const Json* values = find(*together, {"values"});
    if (labels == nullptr || values == nullptr || !labels->is_array() || !values->is_array() || values->size() != labels->size())
      continue;
    std::vector<std::size_t> order(labels->size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return (*labels)[a].get<std::int64_t>() < (*labels)[b].get<std::int64_t>();
    });
    const std::size_t step = (order.size() + 119) / 120;  // at most 120 ballots
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < order.size(); i += std::max<std::size_t>(step, 1)) kept.push_back(order[i]);
    const std::int64_t base = (*labels)[order[0]].get<std::int64_t>() >= 1 ? 1 : 0;  // labels count from 1 in files
    const auto num_groups = static_cast<std::int64_t>(model.contains("components") ? model["components"].size() : 0);
    Json own = Json::array(), flat = Json::array();
    for (std::size_t i : kept) {
      own.push_back(
          std::clamp<std::int64_t>((*labels)[i].get<std::int64_t>() - base, 0, std::max<std::int64_t>(num_groups - 1, 0)));
      for (std::size_t j : kept) flat.push_back(std::lround(1000.0 * (*values)[i].at(j).get<double>()));
    }
    json["coclustering"] = {{"labels", own}, {"values", flat}};
  }
  return json;
}

}  // namespace caucus::report
