#include "caucus/report/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/evaluate/group_shares.h"
#include "caucus/report/counted.h"
#include "caucus/report/membership.h"
#include "caucus/report/parts.h"
#include "caucus/service/families.h"
#include "caucus/service/model_file.h"

namespace caucus {

namespace {

using report::find;
using report::numbers_at;
using report::percent;
using report::rounded;
using report::whole;
using Json = nlohmann::json;

// Numbers per item and group that a report holds in full; beyond it intervals and average places are left out, and beyond the
// second the smallest groups.
constexpr std::size_t full_budget = 15000, group_budget = 55000;

struct Parts {
  report::ModelView view;
  report::VoterView voters;
  std::shared_ptr<Dataset> data;           // matched to the model; nullptr: none
  std::optional<report::Counted> counted;  // what the data hold
  std::vector<report::GroupFacts> facts;   // of each group
  std::vector<report::Description> words;  // likewise
  std::size_t num_shown = 0;               // groups
};

Json interval(double low, double high) { return {rounded(low, 5), rounded(high, 5)}; }

// Intervals of a list of numbers, moved by -shift, and what they cover; nothing where none is known.
template <class Find>
void add_intervals(Json& json, const char* name, const char* level, std::size_t count, double shift, Find&& find_one) {
  Json list = Json::array();
  std::optional<double> covers;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Interval> one = find_one(i);
    if (one) covers = one->level;
    list.push_back(one ? interval(one->low - shift, one->high - shift) : Json(nullptr));
  }
  if (!covers) return;
  json[name] = std::move(list);
  json[level] = *covers;
}

double bounded_mean(const report::GroupView& group) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < group.utilities.size(); ++i)
    if (std::find(group.unbounded.begin(), group.unbounded.end(), i) == group.unbounded.end()) {
      sum += group.utilities[i];
      ++count;
    }
  return count > 0 && !group.unbounded.empty() ? sum / static_cast<double>(count) : 0.0;
}

// Items that the data compare with each other but not with the rest: utilities from the mean of the block.
Json block_json(const Group& profile, const UtilityBlock& block) {
  Json json = {{"items", block.items}};
  std::vector<double> utilities;
  for (std::size_t place = 0; place < block.items.size(); ++place) utilities.push_back(profile.utility_within(block, place));
  json["utilities"] = rounded(utilities, 5);
  add_intervals(json, "utility_intervals", "utility_level", utilities.size(), 0.0,
                [&](std::size_t place) { return profile.interval_within(block, place); });
  return json;
}

Json group_json(const Parts& parts, std::size_t k, bool full) {
  const report::GroupView& group = parts.view.groups[k];
  const Group& profile = group.profile;
  Json json = {{"label", k + 1}, {"weight", rounded(group.weight)}, {"order", group.order}};
  if (const std::optional<Interval> found = profile.weight_interval()) {
    json["weight_interval"] = interval(std::max(0.0, found->low), std::min(1.0, found->high));
    json["weight_level"] = found->level;
  }
  if (profile.size) json["size"] = rounded(*profile.size);
  json["name"] = parts.facts[k].name;
  if (!profile.size && parts.counted && !parts.counted->groups.empty()) json["size"] = rounded(parts.counted->groups[k].total);
  if (parts.facts[k].sure) json["sure"] = rounded(*parts.facts[k].sure);
  json["likes"] = parts.words[k].likes;
  json["rejects"] = parts.words[k].rejects;
  json["words"] = parts.words[k].words;
  if (!group.utilities.empty()) {
    // Utilities are free up to a common shift. Measured from the mean of the items that have a finite estimate, they do not move
    // with those that have none.
    const double shift = bounded_mean(group);
    std::vector<double> utilities = group.utilities;
    for (double& utility : utilities) utility -= shift;
    json["utilities"] = rounded(utilities, full ? 5 : 3);
    if (!group.unbounded.empty()) json["unbounded"] = group.unbounded;
    if (full)
      for (const UtilityBlock& block : profile.errors.blocks) json["blocks"].push_back(block_json(profile, block));
    if (full)
      add_intervals(json, "utility_intervals", "utility_level", utilities.size(), shift,
                    [&](std::size_t i) { return profile.utility_interval(i); });
  }
  if (full || group.utilities.empty()) json["mean_place"] = rounded(group.mean_place, 4);
  if (!group.first.empty()) {
    Json first = Json::array();
    for (double p : group.first) first.push_back(full ? rounded(p, 4) : rounded(std::round(1e5 * p) / 1e5, 4));
    json["first_place"] = std::move(first);
  }
  if (!profile.theta.empty()) {
    json["theta"] = profile.theta_by_stage ? rounded(profile.theta, 5) : rounded(profile.theta[0], 5);
    if (full || profile.theta.size() == 1)
      add_intervals(json, "theta_intervals", "theta_level", profile.theta.size(), 0.0,
                    [&](std::size_t j) { return profile.theta_interval(j); });
  }
  return json;
}

Json pairs_json(const Parts& parts) {
  const report::ModelView& view = parts.view;
  const auto per_mille = [](const std::vector<double>& values) {
    Json list = Json::array();
    for (double value : values) list.push_back(std::lround(1000.0 * value));
    return list;
  };
  Json json = {{"items", view.pair_items}, {"everyone", per_mille(view.everyone.pairs)}, {"groups", Json::array()}};
  for (std::size_t k = 0; k < parts.num_shown; ++k) json["groups"].push_back(per_mille(view.groups[k].pairs));
  json["how"] = view.num_draws > 0
                    ? fmt::format("By simulation, give or take {}.", percent(1.0 / std::sqrt(static_cast<double>(view.num_draws))))
                    : "";
  return json;
}

Json scores_json(const FitSummary& summary) {
  Json scores = Json::object();
  if (!std::isfinite(summary.loglik)) return scores;
  scores = {{"loglik", rounded(summary.loglik, 10)},    {"num_rankings", rounded(summary.num_rankings, 10)},
            {"num_parameters", summary.num_parameters}, {"aic", rounded(summary.aic(), 10)},
            {"bic", rounded(summary.bic(), 10)},        {"icl", rounded(summary.icl(), 10)},
            {"seconds", rounded(summary.seconds, 10)}};
  return scores;
}

// Pairs are battles unless the user calls them otherwise.
report::Nouns nouns_of(const ReportRequest& request) {
  report::Nouns nouns = request.nouns;
  if (nouns.rankings == report::Nouns().rankings && request.data != nullptr && traits(*request.data).kind == DataKind::pairwise)
    nouns.rankings = "battles";
  return nouns;
}

// The group of each distinct ranking as they are counted; none where there is one group.
std::span<const std::uint32_t> group_labels(const Parts& parts) {
  return parts.view.groups.size() > 1 ? std::span<const std::uint32_t>(parts.voters.ballot_label)
                                      : std::span<const std::uint32_t>();
}

const Dataset& counted_data(const Parts& parts) { return group_labels(parts).empty() ? *parts.data : *parts.voters.ballots; }

// Of all members, those that belong to their group with probability 0.9 or more.
std::optional<double> share_sure(const Parts& parts) {
  if (group_labels(parts).empty()) return std::nullopt;
  return parts.voters.sure() / std::max(1e-300, parts.voters.total());
}

// Counts what the data hold and puts the groups into words.
void describe(const ReportRequest& request, const ReportModel& one, Parts& parts) {
  const std::size_t k_all = parts.view.groups.size();
  if (parts.data != nullptr) parts.counted = report::count_rankings(counted_data(parts), group_labels(parts), k_all);
  for (std::size_t k = 0; k < k_all; ++k) {
    report::GroupFacts facts{group_name(one.facts.group_names, k), {}};
    if (&one == &request.models.front() && k < request.names.size() && !request.names[k].empty()) facts.name = request.names[k];
    if (!group_labels(parts).empty()) {
      double all = 0.0;
      for (std::size_t i = 0; i < parts.voters.label.size(); ++i) all += parts.voters.label[i] == k ? parts.voters.weight[i] : 0.0;
      if (all > 0.0) facts.sure = parts.voters.sure(k) / all;
    }
    parts.facts.push_back(std::move(facts));
  }
  parts.words = report::describe_groups(parts.view, parts.counted ? &*parts.counted : nullptr, parts.facts, nouns_of(request));
}

// The columns beside the rankings that tell something, by group: not those with one value, nor those with nearly as many as rows (a
// name, a ballot's id). Of many values the most frequent are kept.
Json composition_json(const Parts& parts) {
  constexpr std::size_t most_values = 24;
  Json columns = Json::array();
  if (group_labels(parts).empty()) return columns;
  const std::size_t k_all = parts.view.groups.size();
  const bool by_voter = parts.voters.by_voter;
  const std::size_t num_members = by_voter ? parts.data->voters.size() : parts.data->rankings.num_rows();
  for (const Column& column : by_voter ? voter_columns(*parts.data) : parts.data->covariates) {
    const GroupShares found = by_voter ? voter_shares(*parts.data, parts.voters.probabilities, k_all, column.name)
                                       : group_shares(*parts.data, parts.voters.probabilities, k_all, column.name);
    const std::size_t num_values = found.values.size();
    if (num_values < 2 || num_values > num_members / 2) continue;
    std::vector<std::size_t> kept(num_values);
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    std::stable_sort(kept.begin(), kept.end(),
                     [&](std::size_t a, std::size_t b) { return found.overall[a].count > found.overall[b].count; });
    kept.resize(std::min(num_values, most_values));
    std::sort(kept.begin(), kept.end());  // as the values follow each other
    Json values = Json::array(), everyone = Json::array(), groups = Json::array();
    double shown = 0.0;
    for (std::size_t v : kept) {
      values.push_back(found.values[v]);
      everyone.push_back(rounded(found.overall[v].count, 12));
      shown += found.overall[v].count;
    }
    for (std::size_t k = 0; k < parts.num_shown; ++k) {
      Json group = {{"count", Json::array()}, {"share", Json::array()}, {"low", Json::array()}, {"high", Json::array()}};
      for (std::size_t v : kept) {
        const Share& one = found.of_group[k * num_values + v];
        group["count"].push_back(rounded(one.count));
        group["share"].push_back(rounded(one.share));
        group["low"].push_back(rounded(one.low));
        group["high"].push_back(rounded(one.high));
      }
      groups.push_back(std::move(group));
    }
    columns.push_back({{"column", found.column},
                       {"values", std::move(values)},
                       {"everyone", std::move(everyone)},
                       {"groups", std::move(groups)},
                       {"left_out", rounded(found.total - shown, 12)}});
  }
  return columns;
}

Json leaderboard(const Json& groups) {
  std::vector<report::Strengths> strengths;
  for (const Json& group : groups) {
    report::Strengths one{numbers_at(group, {"utilities"}), {}, group.value("unbounded", std::vector<ItemId>())};
    if (const Json* intervals = find(group, {"utility_intervals"}))
      for (const Json& interval : *intervals)
        one.intervals.push_back(interval.is_array() ? std::optional(interval.get<std::pair<double, double>>()) : std::nullopt);
    strengths.push_back(std::move(one));
  }
  return report::leaderboard_json(strengths);
}

void add_warning(Json& warnings, const ReportModel& one, const std::string& text) {
  warnings.push_back({{"text", report::without_paths(text)}, {"source", one.name}});
}

void add_regression(const ReportRequest& request, const ReportModel& one, Json& json) {
  const ClassScores* scores = &one == &request.models.front() && request.class_scores ? &*request.class_scores : nullptr;
  Json regression = report::regression_json(*one.regression, one.path, scores);
  json["diagnostics"] = report::diagnostics_json(one.summary, nullptr, nullptr);
  json["sentences"] = report::regression_sentences(regression);
  const char* where =
      regression.contains("scored_on_fitted_data") ? "on the data it was fitted to." : "on the data given with this report.";
  for (const Json& score : regression["scores"])
    json["diagnostics"].push_back({{"name", score[0]}, {"value", score[1]}, {"words", where}});
  json["regression"] = std::move(regression);
}

// What the model says, and what it says of the rankings where there are some.
void look_at(const ReportRequest& request, const ReportModel& one, Parts& parts, Json& warnings) {
  parts.view = report::view_model(*one.model, request.seed, request.threads);
  const std::size_t n = parts.view.items.size(), k_all = parts.view.groups.size();
  if (request.data != nullptr) {
    parts.data = std::make_shared<Dataset>(match_items(*request.data, one.model->items()));
    one.model->check(*parts.data);
    parts.voters = report::view_voters(*one.model, parts.data, request.threads);
    // Orders that voters blend have no weights of their own: they take them from the memberships.
    if (one.model->blends_groups() && k_all > 1 && one.model->num_components() == k_all) {
      for (report::GroupView& group : parts.view.groups) group.weight = 0.0;
      for (std::size_t i = 0; i < parts.voters.label.size(); ++i)
        for (std::size_t k = 0; k < k_all; ++k)
          parts.view.groups[k].weight += parts.voters.weight[i] * parts.voters.probabilities[i * k_all + k] / parts.voters.total();
    }
    // Groups that the file does not describe one by one (a kernel on every ballot) are no groups to speak of.
    if (one.model->num_components() != k_all) parts.voters = {};
  }
  parts.num_shown = std::min(k_all, std::max<std::size_t>(8, group_budget / std::max<std::size_t>(n, 1)));
  if (parts.num_shown < k_all) {
    double rest = 0.0;
    for (std::size_t k = parts.num_shown; k < k_all; ++k) rest += parts.view.groups[k].weight;
    add_warning(warnings, one,
                fmt::format("Only the {} largest of {} groups are shown; the others hold {} of the voters.", parts.num_shown, k_all,
                            percent(rest)));
  }
  describe(request, one, parts);
}

void add_groups(const ReportRequest& request, const ReportModel& one, const Parts& parts, Json& json) {
  const std::size_t n = parts.view.items.size();
  const bool full = n * parts.num_shown <= full_budget;
  json["items"] = parts.view.items;
  json["order"] = parts.counted ? parts.counted->order : parts.view.everyone.order;
  if (full) json["mean_place"] = rounded(parts.view.everyone.mean_place, 5);
  json["first_place"] = rounded(parts.view.everyone.first, 4);
  for (std::size_t k = 0; k < parts.num_shown; ++k) json["groups"].push_back(group_json(parts, k, full));
  if (!parts.view.pair_items.empty() && n > 1) json["pairs"] = pairs_json(parts);
  if (one.facts.models_ties) json["probabilities_how"] = "Probabilities are among rankings without ties.";
  double num_members = request.data != nullptr ? request.data->rankings.total_weight() : one.summary.num_rankings;
  report::Nouns nouns = nouns_of(request);
  if (parts.voters.by_voter) num_members = parts.voters.total(), nouns.rankings = nouns.voters;
  json["sentences"] =
      report::model_sentences(parts.view, parts.counted ? &*parts.counted : nullptr, parts.facts, num_members, nouns);
  if (const Membership* known = one.model->membership()) {
    json["membership"] = report::membership_json(*known, parts.data.get(), parts.num_shown);
    for (std::string& sentence : report::membership_sentences(json["membership"])) json["sentences"].push_back(std::move(sentence));
  }
  if (const ItemUtilities* known = item_utilities_of(*one.model))
    json["item_values"] = report::item_values_json(*known, parts.num_shown);
  if (!parts.counted) return;
  json["counted"] = report::counted_json(*parts.counted, parts.view.pair_items);
  if (parts.counted->battles && !parts.view.groups[0].utilities.empty()) json["leaderboard"] = leaderboard(json["groups"]);
  if (Json columns = composition_json(parts); !columns.empty()) json["composition"] = std::move(columns);
  if (Json election = report::election_json(counted_data(parts), group_labels(parts), parts.num_shown, request.election);
      !election.is_null())
    json["election"] = std::move(election);
}

void add_voters(const ReportRequest& request, const Parts& parts, std::size_t max_points, Json& json) {
  if (parts.view.groups.size() > 1) json["memberships"] = report::memberships_json(parts.voters, parts.num_shown);
  // A battle says one thing: all there is to map are pairs.
  if (parts.view.items.size() <= 2 || traits(*parts.data).kind == DataKind::pairwise) return;
  report::VoterView shown = parts.voters;
  for (std::uint32_t& label : shown.ballot_label) label = std::min(label, static_cast<std::uint32_t>(parts.num_shown - 1));
  const report::BallotMap map = report::map_ballots(*shown.ballots, max_points, request.seed);
  if (map.rankings.size() > 1) json["map"] = report::map_json(map, shown);
}

Json one_model_json(const ReportRequest& request, const ReportModel& one, Parts& parts, std::size_t max_points, Json& warnings) {
  const report::FamilyWords words = report::family_words(one.facts.family);
  Json json = {{"name", one.name},
               {"family", one.facts.family},
               {"family_title", words.title},
               {"family_words", words.words},
               {"method", one.facts.method},
               {"scores", scores_json(one.summary)},
               {"traces", report::traces_json(one.summary)},
               {"items", Json::array()},
               {"order", Json::array()},
               {"groups", Json::array()}};
  for (const std::string& text : one.summary.warnings) add_warning(warnings, one, text);
  if (one.regression != nullptr) {
    add_regression(request, one, json);
    return json;
  }
  look_at(request, one, parts, warnings);
  add_groups(request, one, parts, json);
  const bool voters = !parts.voters.label.empty();
  json["diagnostics"] = report::diagnostics_json(one.summary, one.model.get(), voters ? &parts.voters : nullptr);
  if (voters) add_voters(request, parts, max_points, json);
  std::vector<std::string> misfits;
  if (parts.data != nullptr) {
    std::string why_not;
    Json goodness = report::goodness_json(*one.model, *parts.data, request.seed, request.threads, why_not, misfits);
    if (!goodness.is_null())
      json["goodness"] = std::move(goodness);
    else
      add_warning(warnings, one, fmt::format("The fit was not checked against the data: {}.", why_not));
  }
  const std::size_t k_all = parts.view.groups.size();
  if (Json clusters = report::clusters_json(one.summary, k_all); !clusters.is_null()) json["clusters"] = std::move(clusters);
  const bool given = k_all > 1 && !one.selection && (!one.summary.posterior || one.summary.posterior->num_groups.empty());
  json["caveats"] = report::caveats(one.summary, k_all, given, misfits, share_sure(parts), parts.voters.members());
  return json;
}

// The groups of one model against those of the next: by shared voters where there are data, else by alike average places.
Json change_json(const ReportRequest& request, const std::vector<Parts>& parts, std::size_t from, std::size_t to) {
  const Parts &a = parts[from], &b = parts[to];
  const std::string &name_a = request.models[from].name, &name_b = request.models[to].name;
  const std::size_t ka = a.num_shown, kb = b.num_shown;
  if (ka == 0 || kb == 0 || a.view.items.size() != b.view.items.size()) return nullptr;
  std::vector<ItemId> in_a(b.view.items.size());  // item of b -> item of a
  for (std::size_t i = 0; i < in_a.size(); ++i) {
    const auto found = std::find(a.view.items.begin(), a.view.items.end(), b.view.items[i]);
    if (found == a.view.items.end()) return nullptr;
    in_a[i] = static_cast<ItemId>(found - a.view.items.begin());
  }
  Json json = {{"from", from}, {"to", to}, {"sentences", Json::array()}, {"match", Json::array()}};
  const auto say = [&](const std::string& text) { json["sentences"].push_back(text); };
  if (ka != kb) say(fmt::format("{} has {} groups, {} has {}.", name_a, ka, name_b, kb));
  // Both were made from the same data set, so voters and distinct rankings stand in the same order.
  const bool shared =
      !a.voters.label.empty() && a.voters.label.size() == b.voters.label.size() && a.voters.by_voter == b.voters.by_voter;
  std::vector<double> cross(ka * kb, 0.0), size(kb, 0.0);
  if (shared) {
    double kept = 0.0;
    for (std::size_t i = 0; i < a.voters.label.size(); ++i) {
      if (a.voters.label[i] >= ka || b.voters.label[i] >= kb) continue;
      const double w = a.voters.weight[i];
      cross[a.voters.label[i] * kb + b.voters.label[i]] += w;
      size[b.voters.label[i]] += w;
    }
    json["cross"] = Json::array();
    for (std::size_t r = 0; r < ka; ++r) json["cross"].push_back(rounded(std::span(cross).subspan(r * kb, kb)));
    for (std::size_t c = 0; c < kb; ++c) {
      std::size_t best = 0;
      for (std::size_t r = 1; r < ka; ++r)
        if (cross[r * kb + c] > cross[best * kb + c]) best = r;
      kept += cross[best * kb + c];
      const double share = size[c] > 0.0 ? cross[best * kb + c] / size[c] : 0.0;
      const bool same = share >= 0.5;
      json["match"].push_back(same ? static_cast<int>(best) : -1);
      if (c >= 8) continue;
      say(same ? fmt::format("Group {} of {} is mostly group {} of {} ({} of its {}).", c + 1, name_b, best + 1, name_a,
                             percent(share), a.voters.members())
               : fmt::format("Group {} of {} is drawn from several groups of {}; the largest part, {}, comes from group {}.", c + 1,
                             name_b, name_a, percent(share), best + 1));
    }
    const double total = a.data->rankings.total_weight();
    if (total > 0.0)
      json["sentences"].insert(json["sentences"].begin(),
                               fmt::format("{} of the rankings stay with the group they were with.", percent(kept / total)));
  } else {
    for (std::size_t c = 0; c < kb; ++c) {
      int best = -1;
      double closest = 0.5;  // correlation of average places below which groups are not alike
      for (std::size_t r = 0; r < ka; ++r) {
        const auto &x = a.view.groups[r].mean_place, &y = b.view.groups[c].mean_place;
        const double middle = static_cast<double>(x.size() + 1) / 2.0;
        double xy = 0.0, xx = 0.0, yy = 0.0;
        for (std::size_t i = 0; i < y.size(); ++i) {
          const double u = x[in_a[i]] - middle, v = y[i] - middle;
          xy += u * v, xx += u * u, yy += v * v;
        }
        const double alike = xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : 0.0;
        if (alike > closest) closest = alike, best = static_cast<int>(r);
      }
      json["match"].push_back(best);
      if (c < 8)
        say(best >= 0 ? fmt::format("Group {} of {} likes what group {} of {} likes (correlation {:.2f}).", c + 1, name_b, best + 1,
                                    name_a, closest)
                      : fmt::format("Group {} of {} is like no group of {}.", c + 1, name_b, name_a));
    }
  }
  return json;
}

Json provenance_json(const ReportRequest& request) {
  Json facts = Json::array();
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) facts.push_back({name, value});
  };
  for (const ReportModel& one : request.models) {
    const std::string prefix = request.models.size() > 1 ? one.name + ": " : "";
    const ModelFacts& known = one.facts;
    add(prefix + "Model", one.name);
    add(prefix + "Fitted by", report::without_paths(known.provenance.command));
    add(prefix + "Family and method", known.family + (known.method.empty() ? "" : ", " + known.method));
    if (known.fitted) add(prefix + "Seed", std::to_string(one.summary.seed));
    if (known.fitted) add(prefix + "Threads", std::to_string(one.summary.threads));
    add(prefix + "caucus version", known.provenance.version);
    add(prefix + "Data", report::file_name(known.data.source));
    add(prefix + "Data digest", known.data.digest);
  }
  if (request.data != nullptr) {
    add("Rankings in this report", report::file_name(request.data->source));
    add("Their digest", digest(*request.data));
  }
  return {{"command", report::without_paths(request.command)}, {"version", request.version}, {"facts", facts}};
}

}  // namespace

nlohmann::json report_data(const ReportRequest& request) {
  Json warnings = Json::array();
  const report::Nouns nouns = nouns_of(request);
  Json json = {{"schema", report_schema},
               {"sentences", Json::array()},
               {"models", Json::array()},
               {"nouns", {{"voters", nouns.voters}, {"items", nouns.items}, {"rankings", nouns.rankings}}}};
  std::vector<Parts> parts(request.models.size());
  const std::size_t max_points = request.max_points / std::max<std::size_t>(request.models.size(), 1);
  for (std::size_t m = 0; m < request.models.size(); ++m) {
    json["models"].push_back(one_model_json(request, request.models[m], parts[m], max_points, warnings));
    const ReportModel& one = request.models[m];
    if (one.selection && !json.contains("selection")) json["selection"] = report::selection_json(*one.selection, one.facts.family);
    const std::string& made_of = one.facts.data.digest;
    if (request.data != nullptr && !made_of.empty() && !has_digest(*request.data, made_of))
      warnings.push_back({{"text", "The rankings shown here are not those the model was fitted to, or are read in another way."},
                          {"source", request.models[m].name}});
  }
  if (request.models.size() > 1) {
    Json changes = Json::array();
    for (std::size_t m = 0; m + 1 < request.models.size(); ++m)
      if (Json change = change_json(request, parts, m, m + 1); !change.is_null()) changes.push_back(std::move(change));
    if (!changes.empty()) json["changes"] = std::move(changes);
  }
  if (request.comparison) {
    json["comparison"] = report::comparison_json(*request.comparison);
    if (request.models.empty()) json["sentences"] = json["comparison"]["sentences"];
  }
  if (json.contains("selection")) json["sentences"] = json["selection"]["words"];
  if (request.data != nullptr) {
    json["data"] = report::data_json(*request.data);
    for (const std::string& text : request.data->warnings)
      warnings.push_back({{"text", report::without_paths(text)}, {"source", report::file_name(request.data->source)}});
  }
  std::string title = request.title;
  if (title.empty() && request.data != nullptr) title = request.data->source;
  if (title.empty() && !request.models.empty()) {
    const std::string& source = request.models[0].facts.data.source;
    title = source.empty() ? request.models[0].name : source;
  }
  if (request.title.empty()) title = report::file_name(title);
  json["title"] = title.empty() ? "Rankings" : title;
  json["warnings"] = std::move(warnings);
  json["provenance"] = provenance_json(request);
  return json;
}

namespace {

// A regression's chains give two numbers, the worst of all coefficients.
FitSummary summary_of(const pl_regression::Loaded& loaded) {
  const pl_regression::Summary& own = loaded.summary;
  FitSummary summary;
  summary.method = name_of(loaded.model.method);
  summary.loglik = own.loglik;
  summary.iterations = own.iterations;
  summary.stop_reason = own.stop_reason;
  summary.seconds = own.seconds;
  summary.seed = own.seed;
  summary.threads = own.threads;
  summary.options = own.options;
  summary.warnings = own.warnings;
  if (own.sampling && (own.sampling->rhat_max || own.sampling->ess_min)) {
    ChainQuantity worst;
    worst.name = "worst coefficient";
    worst.rhat = own.sampling->rhat_max;
    worst.effective_sample_size = own.sampling->ess_min;
    summary.posterior.emplace().quantities.push_back(std::move(worst));
  }
  return summary;
}

}  // namespace

ReportModel read_report_model(std::string_view text, const std::string& name) {
  ReportModel one;
  one.name = report::file_name(name);
  // A regression has classes, not items: it is no model of rankings that `score` could load.
  if (pl_regression::is_regression(text)) {
    pl_regression::Loaded loaded = pl_regression::parse_regression(text, name);
    one.summary = summary_of(loaded);
    one.facts.family = loaded.model.family();
    one.facts.method = name_of(loaded.model.method);
    one.facts.fitted = true;
    one.facts.data = std::move(loaded.data);
    one.facts.provenance = std::move(loaded.provenance);
    one.regression = std::make_shared<pl_regression::Fitted>(std::move(loaded.model));
    return one;
  }
  LoadedModel loaded = parse_model(text, name);
  one.summary = std::move(loaded.summary);
  one.model = std::move(loaded.model);
  one.facts = std::move(loaded.facts);
  one.reading = std::move(loaded.reading);
  one.selection = std::move(loaded.selection);
  return one;
}

}  // namespace caucus
