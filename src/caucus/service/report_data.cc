#include "caucus/service/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/result/regression_schema.h"
#include "caucus/service/families.h"
#include "caucus/service/model_file.h"
#include "caucus/service/report_parts.h"

namespace caucus {

namespace {

using report::find;
using report::number_at;
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
  std::shared_ptr<Dataset> data;  // matched to the model; nullptr: none
  std::size_t num_shown = 0;      // groups
};

Json interval(double low, double high) { return {rounded(low, 5), rounded(high, 5)}; }

// A component with the intervals that its family keeps in "fit" instead: standard errors and bootstrap intervals by group.
Json with_errors(const Json& model, std::size_t k) {
  const Json* components = find(model, {"components"});
  Json component = components != nullptr && k < components->size() ? (*components)[k] : Json::object();
  const auto entry = [&](std::initializer_list<const char*> path) -> const Json* {
    const Json* list = find(model, path);
    return list != nullptr && list->is_array() && k < list->size() ? &(*list)[k] : nullptr;
  };
  if (const Json* error = entry({"fit", "standard_errors", "weight"}); error != nullptr && error->is_number())
    component["weight_standard_error"] = *error;
  if (const Json* error = entry({"fit", "standard_errors", "theta"}); error != nullptr)
    component[error->is_array() ? "theta_standard_errors" : "theta_standard_error"] = *error;
  if (const Json* stable = entry({"fit", "stability", "components"}); stable != nullptr && stable->is_object())
    for (const char* name : {"weight", "theta"})
      if (const std::vector<double> ends = numbers_at(*stable, {fmt::format("{}_95", name).c_str()}, 2);
          !ends.empty() && std::isfinite(ends[0]) && std::isfinite(ends[1])) {
        component[fmt::format("{}_low", name)] = ends[0];
        component[fmt::format("{}_high", name)] = ends[1];
      }
  return component;
}

// Intervals as the file has them: posterior draws, bootstrap, else estimate +- 1.96 standard errors.
Json weight_interval(const Json& component, double weight) {
  for (const char* home : {"posterior", "bootstrap"})
    if (const auto low = number_at(component, {home, "weight_low"}), high = number_at(component, {home, "weight_high"});
        low && high)
      return interval(*low, *high);
  if (const auto low = number_at(component, {"weight_low"}), high = number_at(component, {"weight_high"}); low && high)
    return interval(*low, *high);
  const auto error = number_at(component, {"weight_standard_error"});
  return error && *error > 0.0 ? interval(std::max(0.0, weight - 1.96 * *error), std::min(1.0, weight + 1.96 * *error))
                               : Json(nullptr);
}

Json list_intervals(const Json& component, const char* name, const std::vector<double>& centre) {
  const std::size_t n = centre.size();
  const std::string low_key = fmt::format("{}_low", name), high_key = fmt::format("{}_high", name);
  std::vector<double> low, high;
  for (const char* home : {"posterior", "bootstrap"}) {
    low = numbers_at(component, {home, low_key.c_str()}, n);
    high = numbers_at(component, {home, high_key.c_str()}, n);
    if (!low.empty() && !high.empty()) break;
  }
  if (low.empty() || high.empty()) {
    low = numbers_at(component, {low_key.c_str()}, n);
    high = numbers_at(component, {high_key.c_str()}, n);
  }
  if (low.empty() || high.empty()) {
    const bool utilities = std::string_view(name) == "utilities";
    std::vector<double> errors = numbers_at(component, {utilities ? "quasi_standard_errors" : "theta_standard_errors"}, n);
    if (errors.empty()) errors = numbers_at(component, {utilities ? "standard_errors" : "theta_standard_error"}, n);
    if (errors.empty()) return nullptr;
    low = high = centre;
    for (std::size_t i = 0; i < n; ++i) {
      low[i] -= 1.96 * errors[i];
      high[i] += 1.96 * errors[i];
    }
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < n; ++i)
    list.push_back(std::isfinite(low[i]) && std::isfinite(high[i]) ? interval(low[i], high[i]) : Json(nullptr));
  return list;
}

Json theta_json(const Json& component, Json& intervals) {
  const Json* theta = find(component, {"theta"});
  if (theta == nullptr) return nullptr;
  if (theta->is_array()) {
    const std::vector<double> values = numbers_at(component, {"theta"});
    intervals = list_intervals(component, "theta", values);
    if (const Json* given = find(component, {"theta_intervals"});
        intervals.is_null() && given != nullptr && given->is_array() && given->size() == values.size())
      intervals = *given;
    return rounded(values, 5);
  }
  if (!theta->is_number()) return nullptr;
  const double value = theta->get<double>();
  std::optional<double> low = number_at(component, {"theta_low"}), high = number_at(component, {"theta_high"});
  if (!low) low = number_at(component, {"bootstrap", "theta_low"}), high = number_at(component, {"bootstrap", "theta_high"});
  if (const auto error = number_at(component, {"theta_standard_error"}); !low && error)
    low = std::max(0.0, value - 1.96 * *error), high = value + 1.96 * *error;
  if (low && high) intervals = Json::array({interval(*low, *high)});
  return rounded(value, 5);
}

Json group_json(const Parts& parts, const Json& component, std::size_t k, bool full) {
  const report::GroupView& group = parts.view.groups[k];
  const std::size_t n = parts.view.items.size();
  Json json = {{"label", k + 1}, {"weight", rounded(group.weight)}, {"order", group.order}};
  if (Json found = weight_interval(component, group.weight); !found.is_null()) json["weight_interval"] = std::move(found);
  if (const auto size = number_at(component, {"size"})) json["size"] = rounded(*size);
  std::optional<double> sure;
  if (!parts.voters.label.empty() && parts.view.groups.size() > 1) {
    double very = 0.0, all = 0.0;
    for (std::size_t i = 0; i < parts.voters.label.size(); ++i) {
      if (parts.voters.label[i] != k) continue;
      const double w = parts.data->rankings.weight(i);
      all += w;
      if (parts.voters.certainty[i] >= 0.9) very += w;
    }
    if (all > 0.0) sure = very / all;
    if (!json.contains("size")) json["size"] = rounded(all);
  }
  if (sure) json["sure"] = rounded(*sure);
  const report::Taste found = report::taste(parts.view, k);
  json["likes"] = found.likes;
  json["rejects"] = found.rejects;
  json["words"] = report::group_words(parts.view, k, sure);
  if (!group.utilities.empty()) {
    json["utilities"] = rounded(group.utilities, full ? 5 : 3);
    std::vector<std::size_t> unbounded;
    for (const char* key : {"infinite", "infinite_items"})
      if (const Json* list = find(component, {key}); list != nullptr && list->is_array())
        for (const Json& item : *list)
          if (item.is_number_unsigned() && item.get<std::size_t>() < n) unbounded.push_back(item.get<std::size_t>());
    if (!unbounded.empty()) json["unbounded"] = unbounded;
    if (full)
      if (Json intervals = list_intervals(component, "utilities", group.utilities); !intervals.is_null())
        json["utility_intervals"] = std::move(intervals);
  }
  if (full || group.utilities.empty()) json["mean_place"] = rounded(group.mean_place, 4);
  if (!group.first.empty()) {
    Json first = Json::array();
    for (double p : group.first) first.push_back(full ? rounded(p, 4) : rounded(std::round(1e5 * p) / 1e5, 4));
    json["first_place"] = std::move(first);
  }
  Json intervals;
  if (Json theta = theta_json(component, intervals); !theta.is_null()) {
    json["theta"] = std::move(theta);
    if (!intervals.is_null() && (full || intervals.size() == 1)) json["theta_intervals"] = std::move(intervals);
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
  json["how"] = view.simulated
                    ? fmt::format("By simulation, give or take {}.",
                                  percent(1.0 / std::sqrt(static_cast<double>(std::max<std::size_t>(view.num_draws, 1)))))
                    : "";
  return json;
}

Json scores_json(const Json& model) {
  Json scores = Json::object();
  for (const char* key : {"loglik", "num_rankings", "num_parameters", "aic", "bic", "icl", "seconds"})
    if (const auto value = number_at(model, {"fit", key})) scores[key] = rounded(*value, 10);
  return scores;
}

std::string name_text(const Json& model, const char* key) {
  const Json* found = find(model, {key});
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

Json one_model_json(const ReportRequest& request, const ReportModel& one, Parts& parts, std::size_t max_points, Json& warnings) {
  const Json& model = one.json;
  const std::string family = name_text(model, "family");
  const report::FamilyWords words = report::family_words(family);
  const auto warn = [&](const std::string& text) { warnings.push_back({{"text", text}, {"source", one.name}}); };
  Json json = {{"name", one.name},
               {"family", family},
               {"family_title", words.title},
               {"family_words", words.words},
               {"method", name_text(model, "method")},
               {"scores", scores_json(model)},
               {"traces", report::traces_json(model)},
               {"items", Json::array()},
               {"order", Json::array()},
               {"groups", Json::array()}};
  if (const Json* list = find(model, {"fit", "warnings"}); list != nullptr && list->is_array())
    for (const Json& text : *list)
      if (text.is_string()) warn(text.get<std::string>());

  if (one.model == nullptr) {
    const ClassScores* scores = &one == &request.models.front() && request.class_scores ? &*request.class_scores : nullptr;
    Json regression = report::regression_json(model, scores);
    json["diagnostics"] = report::diagnostics_json(model, nullptr, nullptr);
    json["sentences"] = Json::array();
    if (regression.is_null()) return json;
    json["sentences"] = report::regression_sentences(regression);
    const char* where =
        regression.contains("scored_on_fitted_data") ? "on the data it was fitted to." : "on the data given with this report.";
    for (const Json& score : regression["scores"])
      json["diagnostics"].push_back({{"name", score[0]}, {"value", score[1]}, {"words", where}});
    json["regression"] = std::move(regression);
    return json;
  }

  parts.view = report::view_model(model, one.model.get(), request.seed, request.threads);
  const std::size_t n = parts.view.items.size(), k_all = parts.view.groups.size();
  if (request.data != nullptr) {
    parts.data = std::make_shared<Dataset>(match_items(*request.data, one.model->items()));
    one.model->check(*parts.data);
    parts.voters = report::view_voters(*one.model, *parts.data, request.threads);
    // A model that gives no weights (orders that voters blend) takes them from the memberships.
    const Json* components = find(model, {"components"});
    if (components != nullptr && k_all > 1 && !components->empty() && !(*components)[0].contains("weight") &&
        one.model->num_components() == k_all) {
      for (report::GroupView& group : parts.view.groups) group.weight = 0.0;
      for (std::size_t i = 0; i < parts.voters.label.size(); ++i)
        for (std::size_t k = 0; k < k_all; ++k)
          parts.view.groups[k].weight +=
              parts.data->rankings.weight(i) * parts.voters.probabilities[i * k_all + k] / parts.data->rankings.total_weight();
    }
    // Groups that the file does not describe one by one (a kernel on every ballot) are no groups to speak of.
    if (one.model->num_components() != k_all) parts.voters = {};
  }
  parts.num_shown = std::min(k_all, std::max<std::size_t>(8, group_budget / std::max<std::size_t>(n, 1)));
  if (parts.num_shown < k_all) {
    double rest = 0.0;
    for (std::size_t k = parts.num_shown; k < k_all; ++k) rest += parts.view.groups[k].weight;
    warn(fmt::format("Only the {} largest of {} groups are shown; the others hold {} of the voters.", parts.num_shown, k_all,
                     percent(rest)));
  }
  const bool full = n * parts.num_shown <= full_budget;
  json["items"] = parts.view.items;
  json["order"] = parts.view.everyone.order;
  if (full) json["mean_place"] = rounded(parts.view.everyone.mean_place, 5);
  json["first_place"] = rounded(parts.view.everyone.first, 4);
  for (std::size_t k = 0; k < parts.num_shown; ++k) {
    Json component = with_errors(model, k);
    if (family == "kde") component.erase("theta");  // the kernel's width, not a group's
    json["groups"].push_back(group_json(parts, component, k, full));
  }
  if (!parts.view.pair_items.empty() && n > 1) json["pairs"] = pairs_json(parts);
  if (model.contains("ties")) json["probabilities_how"] = "Probabilities are among rankings without ties.";
  json["sentences"] = report::model_sentences(
      parts.view,
      number_at(model, {"fit", "num_rankings"}).value_or(request.data != nullptr ? request.data->rankings.total_weight() : 0.0));

  const bool voters = !parts.voters.label.empty();
  json["diagnostics"] = report::diagnostics_json(model, voters ? &parts.voters : nullptr, parts.data.get());
  if (voters) {
    if (k_all > 1) json["memberships"] = report::memberships_json(parts.voters, *parts.data, parts.num_shown);
    if (n > 2) {
      report::VoterView shown = parts.voters;
      for (std::uint32_t& label : shown.label) label = std::min(label, static_cast<std::uint32_t>(parts.num_shown - 1));
      const report::BallotMap map = report::map_ballots(*parts.data, max_points, request.seed);
      if (map.rankings.size() > 1) json["map"] = report::map_json(map, shown, *parts.data);
    }
  }
  if (parts.data != nullptr) {
    std::string why_not;
    Json goodness = report::goodness_json(*one.model, *parts.data, request.seed, request.threads, why_not);
    if (!goodness.is_null())
      json["goodness"] = std::move(goodness);
    else
      warn(fmt::format("The fit was not checked against the data: {}.", why_not));
  }
  if (Json clusters = report::clusters_json(model); !clusters.is_null()) json["clusters"] = std::move(clusters);
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
  // Both were made from the same data set, so distinct rankings stand in the same order.
  const bool shared = !a.voters.label.empty() && a.voters.label.size() == b.voters.label.size();
  std::vector<double> cross(ka * kb, 0.0), size(kb, 0.0);
  if (shared) {
    double kept = 0.0;
    for (std::size_t i = 0; i < a.voters.label.size(); ++i) {
      if (a.voters.label[i] >= ka || b.voters.label[i] >= kb) continue;
      const double w = a.data->rankings.weight(i);
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
      say(same ? fmt::format("Group {} of {} is mostly group {} of {} ({} of its rankings).", c + 1, name_b, best + 1, name_a,
                             percent(share))
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

Json comparison_json(const Json& source) {
  Json json = {{"sentences", report::comparison_sentences(source)}, {"table", Json::array()}, {"left_out", Json::array()}};
  if (const auto folds = number_at(source, {"folds"})) json["folds"] = rounded(*folds);
  for (const Json& row : source.value("table", Json::array())) {
    const std::string name = row.value("label", row.value("family", std::string("?")));
    const auto mean = number_at(row, {"heldout_mean"});
    if (row.contains("refused") || !mean) {
      json["left_out"].push_back(
          {{"name", name},
           {"why", row.contains("refused") && row["refused"].is_string() ? row["refused"].get<std::string>() : "no result"}});
      continue;
    }
    Json one = {
        {"name", name}, {"heldout_mean", rounded(*mean, 8)}, {"heldout_se", rounded(number_at(row, {"heldout_se"}).value_or(0.0))}};
    const auto copy = [&](const char* to, const char* from, double sign = 1.0) {
      if (const auto value = number_at(row, {from})) one[to] = rounded(sign * *value);
    };
    copy("difference", "behind_best", -1.0);
    copy("difference_se", "behind_se");
    copy("groups", "groups");
    copy("seconds", "seconds");
    copy("memory_mb", "memory_mb");
    json["table"].push_back(std::move(one));
  }
  return json;
}

Json selection_json(const Json& source, const std::string& family) {
  Json json = {{"family", family},
               {"criterion", source.value("criterion", std::string("bic"))},
               {"chosen_k", source.value("chosen_k", Json(0))},
               {"sentences", report::selection_sentences(source)},
               {"table", Json::array()}};
  for (const Json& row : source.value("table", Json::array())) {
    Json one = Json::object();
    for (const char* key : {"k", "loglik", "ebic", "bic", "aic", "icl", "heldout_mean", "heldout_se", "seconds"})
      if (const auto value = number_at(row, {key})) one[key] = rounded(*value, 10);
    if (one.contains("k")) json["table"].push_back(std::move(one));
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
    const auto text = [&](std::initializer_list<const char*> path) {
      const Json* found = find(one.json, path);
      return found == nullptr || found->is_null() ? std::string() : found->is_string() ? found->get<std::string>() : found->dump();
    };
    add(prefix + "Model", one.name);
    add(prefix + "Fitted by", text({"provenance", "command"}));
    add(prefix + "Family and method", text({"family"}) + (text({"method"}).empty() ? "" : ", " + text({"method"})));
    add(prefix + "Seed", text({"fit", "seed"}).empty() ? text({"seed"}) : text({"fit", "seed"}));
    add(prefix + "Threads", text({"fit", "threads"}));
    add(prefix + "caucus version", text({"provenance", "version"}).empty() ? text({"version"}) : text({"provenance", "version"}));
    add(prefix + "Data", text({"data", "source"}));
    add(prefix + "Data digest", text({"data", "digest"}));
  }
  if (request.data != nullptr) {
    add("Rankings in this report", request.data->source);
    add("Their digest", digest(*request.data));
  }
  return {{"command", request.command}, {"version", request.version}, {"facts", facts}};
}

}  // namespace

nlohmann::json report_data(const ReportRequest& request) {
  Json warnings = Json::array();
  Json json = {{"schema", report_schema}, {"sentences", Json::array()}, {"models", Json::array()}};
  std::vector<Parts> parts(request.models.size());
  const std::size_t max_points = request.max_points / std::max<std::size_t>(request.models.size(), 1);
  for (std::size_t m = 0; m < request.models.size(); ++m) {
    json["models"].push_back(one_model_json(request, request.models[m], parts[m], max_points, warnings));
    const Json& model = request.models[m].json;
    if (const Json* selection = find(model, {"selection"});
        selection != nullptr && selection->is_object() && !json.contains("selection"))
      json["selection"] = selection_json(*selection, name_text(model, "family"));
    const std::string made_of = find(model, {"data", "digest"}) != nullptr && (*find(model, {"data", "digest"})).is_string()
                                    ? model["data"]["digest"].get<std::string>()
                                    : "";
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
  if (request.comparison.is_object()) {
    json["comparison"] = comparison_json(request.comparison);
    if (request.models.empty()) json["sentences"] = json["comparison"]["sentences"];
  }
  if (json.contains("selection")) json["sentences"] = json["selection"]["sentences"];
  if (request.data != nullptr) {
    json["data"] = report::data_json(*request.data);
    for (const std::string& text : request.data->warnings) warnings.push_back({{"text", text}, {"source", request.data->source}});
  }
  std::string title = request.title;
  if (title.empty() && request.data != nullptr) title = request.data->source;
  if (title.empty() && !request.models.empty()) {
    const Json* source = find(request.models[0].json, {"data", "source"});
    title = source != nullptr && source->is_string() && !source->get<std::string>().empty() ? source->get<std::string>()
                                                                                            : request.models[0].name;
  }
  if (const std::size_t slash = title.find_last_of('/');
      request.title.empty() && slash != std::string::npos && slash + 1 < title.size())
    title.erase(0, slash + 1);
  json["title"] = title.empty() ? "Rankings" : title;
  json["warnings"] = std::move(warnings);
  json["provenance"] = provenance_json(request);
  return json;
}

ReportModel read_report_model(std::string_view text, const std::string& name) {
  ReportModel one;
  one.name = name;
  if (const std::size_t slash = name.find_last_of('/'); slash != std::string::npos) one.name.erase(0, slash + 1);
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.value("schema", Json()) == regression_schema) {
    one.json = std::move(json);
    return one;
  }
  LoadedModel loaded = parse_model(text, name);
  one.json = std::move(loaded.json);
  one.model = std::move(loaded.model);
  return one;
}

}  // namespace caucus
