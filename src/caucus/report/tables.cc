#include "caucus/report/tables.h"

#include <fmt/format.h>

#include <map>

#include "caucus/io/csv.h"

namespace caucus {

namespace {

using Json = nlohmann::json;

const Json nothing;

const Json& at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() ? *found : nothing;
}
const Json& at(const Json& list, std::size_t index) { return list.is_array() && index < list.size() ? list[index] : nothing; }

class Tables {
 public:
  // A row of the named table; the header is written with the first one. Texts that a spreadsheet would run as a formula get an
  // apostrophe before them.
  void row(const std::string& table, std::initializer_list<const char*> columns, std::initializer_list<Json> cells) {
    std::string& text = texts_[table];
    if (text.empty()) {
      names_.push_back(table);
      for (const char* column : columns) append(text, Json(column), column == *columns.begin());
      text += "\r\n";
    }
    bool first = true;
    for (const Json& cell : cells) append(text, cell, std::exchange(first, false));
    text += "\r\n";
  }

  std::vector<ReportTable> finish() {
    std::vector<ReportTable> tables;
    for (const std::string& name : names_) tables.push_back({name + ".csv", std::move(texts_[name])});
    return tables;
  }

 private:
  static void append(std::string& out, const Json& cell, bool first) {
    if (!first) out += ',';
    if (cell.is_null()) return;
    if (!cell.is_string()) {
      out += cell.dump();
      return;
    }
    std::string text = cell.get<std::string>();
    if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos) text.insert(0, 1, '\'');
    append_csv_cell(out, text, ',');
  }

  std::map<std::string, std::string> texts_;
  std::vector<std::string> names_;
};

struct Model {
  Tables& tables;
  const Json& json;
  Json name;

  Json item(const Json& index) const { return index.is_number() ? json["items"][index.get<std::size_t>()] : Json(); }
  Json group(std::size_t k) const { return json["groups"][k]["name"]; }
  std::size_t num_groups() const { return json["groups"].size(); }
  // What was counted among the group's rankings; of the only group, among all.
  const Json& tally(std::size_t k) const {
    const Json& counted = at(json, "counted");
    return num_groups() == 1 ? at(counted, "everyone") : at(at(counted, "groups"), k);
  }
};

void add_groups(const Model& model) {
  for (std::size_t k = 0; k < model.num_groups(); ++k) {
    const Json& group = model.json["groups"][k];
    const Json& interval = at(group, "weight_interval");
    model.tables.row("groups", {"model", "group", "share", "low", "high", "rankings", "clear_members", "words"},
                     {model.name, model.group(k), at(group, "weight"), at(interval, std::size_t{0}), at(interval, std::size_t{1}),
                      at(group, "size"), at(group, "sure"), at(group, "words")});
  }
}

void add_item_row(const Model& model, const Json& who, std::size_t i, const Json& place, const Json& group, const Json& tally) {
  const Json& interval = at(at(group, "utility_intervals"), i);
  const Json &first = at(at(tally, "first"), i), &total = at(tally, "num_rankings");
  const Json share = first.is_number() && total.is_number() && total.get<double>() > 0.0
                         ? Json(first.get<double>() / total.get<double>())
                         : Json();
  model.tables.row(
      "items",
      {"model", "group", "item", "place_by_model", "utility_by_model", "low", "high", "mean_place_by_model", "mean_place_counted",
       "first_share_by_model", "first_share_counted", "first_counted", "listed_counted", "battles_counted", "win_rate_counted"},
      {model.name, who, model.item(i), place, at(at(group, "utilities"), i), at(interval, std::size_t{0}),
       at(interval, std::size_t{1}), at(at(group, "mean_place"), i), at(at(tally, "mean_place"), i),
       at(at(group, "first_place"), i), share, first, at(at(tally, "listed"), i), at(at(tally, "battles"), i),
       at(at(tally, "win_rate"), i)});
}

void add_items(const Model& model) {
  const std::size_t n = model.json["items"].size();
  const auto places = [&](const Json& order) {
    std::vector<Json> place(n);
    for (std::size_t p = 0; p < order.size(); ++p) place[order[p].get<std::size_t>()] = p + 1;
    return place;
  };
  for (std::size_t k = 0; k < model.num_groups(); ++k) {
    const Json& group = model.json["groups"][k];
    const std::vector<Json> place = places(group["order"]);
    for (std::size_t i = 0; i < n; ++i) add_item_row(model, model.group(k), i, place[i], group, model.tally(k));
  }
  if (model.num_groups() > 1)
    for (std::size_t i = 0; i < n; ++i)
      add_item_row(model, "everyone", i, Json(), model.json, at(at(model.json, "counted"), "everyone"));
}

void add_pairs(const Model& model) {
  const Json &pairs = at(model.json, "pairs"), &counted = at(model.json, "counted");
  const Json& items = pairs.is_object() ? pairs["items"] : at(counted, "pair_items");
  const std::size_t m = items.size(), groups = model.num_groups();
  for (std::size_t who = 0; who <= groups; ++who) {  // all groups, then everyone
    const bool all = who == groups;
    if (all && groups == 1) break;
    const Json& tally = all ? at(counted, "everyone") : model.tally(who);
    const Json& own = all ? at(pairs, "everyone") : at(at(pairs, "groups"), who);
    const bool same = at(counted, "pair_items") == items;
    for (std::size_t a = 0; a < m; ++a)
      for (std::size_t b = 0; b < m; ++b) {
        if (a == b) continue;
        const Json& probability = at(own, a * m + b);
        model.tables.row("pairs",
                         {"model", "group", "item", "other", "above_counted", "below_counted", "tied_counted", "above_by_model"},
                         {model.name, all ? Json("everyone") : model.group(who), model.item(items[a]), model.item(items[b]),
                          same ? at(at(tally, "above"), a * m + b) : Json(), same ? at(at(tally, "above"), b * m + a) : Json(),
                          same ? at(at(tally, "tied"), a * m + b) : Json(),
                          probability.is_number() ? Json(probability.get<double>() / 1000.0) : Json()});
      }
  }
}

void add_second_choices(const Model& model) {
  const Json& second = at(at(model.json, "counted"), "second");
  if (!second.is_object()) return;
  const std::size_t n = model.json["items"].size();
  const auto add = [&](const Json& who, const Json& rows) {
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t b = 0; b <= n; ++b)
        if (a != b)
          model.tables.row("second_choices", {"model", "group", "first", "second", "counted"},
                           {model.name, who, model.item(a), b == n ? Json("nobody") : model.item(b), at(rows[a], b)});
  };
  add("everyone", second["everyone"]);
  for (std::size_t k = 0; k < at(second, "groups").size(); ++k) add(model.group(k), second["groups"][k]);
}

void add_election(const Model& model) {
  const Json& election = at(model.json, "election");
  if (!election.is_object()) return;
  const auto names = [&](const Json& list) {
    std::string text;
    for (const Json& index : list.is_array() ? list : Json::array({list}))
      if (index.is_number()) text += (text.empty() ? "" : "; ") + model.item(index).get<std::string>();
    return text;
  };
  const auto add = [&](const Json& who, const Json& winners) {
    for (const char* rule : {"first_past_the_post", "runoff", "transferable", "condorcet", "borda"})
      model.tables.row("winners", {"model", "group", "ballots", "seats", "rule", "winners"},
                       {model.name, who, winners["num_rankings"], election["seats"], rule, names(winners[rule])});
  };
  add("everyone", election["everyone"]);
  for (std::size_t k = 0; k < election["groups"].size(); ++k) add(model.group(k), election["groups"][k]);
  for (std::size_t r = 0; r < election["stages"].size(); ++r) {
    const Json& stage = election["stages"][r];
    const auto line = [&](const Json& who, const Json& votes, const Json& moved) {
      model.tables.row("count", {"model", "stage", "what", "of", "candidate", "votes", "moved"},
                       {model.name, r + 1, stage["what"], model.item(at(stage, "from")), who, votes, moved});
    };
    for (std::size_t i = 0; i < stage["votes"].size(); ++i) line(model.item(i), stage["votes"][i], stage["moved"][i]);
    line("exhausted", stage["exhausted"], Json());
  }
}

void add_leaderboard(const Model& model) {
  const Json& groups = at(at(model.json, "leaderboard"), "groups");
  for (std::size_t k = 0; k < groups.size(); ++k)
    for (const Json& row : groups[k]) {
      const auto item = row["item"].get<std::size_t>();
      model.tables.row(
          "leaderboard",
          {"model", "group", "item", "elo", "low", "high", "rank_low", "rank_high", "battles_counted", "win_rate_counted"},
          {model.name, model.group(k), model.item(item), row["elo"], at(row, "low"), at(row, "high"), at(row, "rank_low"),
           at(row, "rank_high"), at(at(model.tally(k), "battles"), item), at(at(model.tally(k), "win_rate"), item)});
    }
}

void add_members(const Model& model) {
  for (const Json& one : at(model.json, "composition"))
    for (std::size_t v = 0; v < one["values"].size(); ++v)
      for (std::size_t k = 0; k < one["groups"].size(); ++k) {
        const Json& group = one["groups"][k];
        model.tables.row("composition", {"model", "column", "value", "group", "count", "share", "low", "high", "everyone"},
                         {model.name, one["column"], one["values"][v], model.group(k), group["count"][v], group["share"][v],
                          group["low"][v], group["high"][v], one["everyone"][v]});
      }
  for (const Json& term : at(at(model.json, "membership"), "terms"))
    for (const Json& value : term["values"])
      for (std::size_t k = 0; k < value["groups"].size(); ++k)
        model.tables.row("shares_by_value", {"model", "term", "value", "group", "share", "low", "high"},
                         {model.name, term["name"], value["value"], model.group(k), value["groups"][k]["share"],
                          value["groups"][k]["low"], value["groups"][k]["high"]});
  for (const char* what : {"membership", "item_values"})
    for (const Json& column : at(at(model.json, what), "coefficients"))
      for (std::size_t k = 0; k < column["groups"].size(); ++k)
        model.tables.row("coefficients", {"model", "of", "column", "group", "value", "low", "high"},
                         {model.name, what, column["column"], model.group(k), column["groups"][k]["value"],
                          at(column["groups"][k], "low"), at(column["groups"][k], "high")});
  const Json& memberships = at(model.json, "memberships");
  for (std::size_t k = 0; k < at(memberships, "groups").size(); ++k) {
    const Json& group = memberships["groups"][k];
    const char* members = memberships["of"] == "voters" ? "voters" : "rankings";
    model.tables.row("memberships", {"model", "group", members, "very_sure", "fairly_sure", "unsure"},
                     {model.name, model.group(k), group["count"], group["very_sure"], group["fairly_sure"], group["unsure"]});
  }
}

void add_trust(const Model& model) {
  for (const Json& check : at(at(model.json, "goodness"), "checks"))
    for (const Json& row : check["rows"])
      model.tables.row("checks", {"model", "check", "p_value", "what", "observed", "expected", "low", "high"},
                       {model.name, check["name"], at(check, "p_value"), row["label"], row["observed"], row["expected"], row["low"],
                        row["high"]});
  for (const Json& row : at(model.json, "diagnostics"))
    model.tables.row("diagnostics", {"model", "name", "value", "words"}, {model.name, row["name"], row["value"], row["words"]});
  for (const Json& text : at(model.json, "caveats")) model.tables.row("caveats", {"model", "caveat"}, {model.name, text});
}

}  // namespace

std::vector<ReportTable> report_tables(const Json& data) {
  Tables tables;
  for (const Json& one : at(data, "models")) {
    const Model model{tables, one, one["name"]};
    for (const auto add :
         {add_groups, add_items, add_pairs, add_second_choices, add_election, add_leaderboard, add_members, add_trust})
      add(model);
  }
  const Json& summary = at(data, "data");
  for (const auto& [what, key] :
       std::initializer_list<std::pair<const char*, const char*>>{{"counted", "num_rankings"},
                                                                  {"blank", "num_blank"},
                                                                  {"with an overvote", "num_overvoted"},
                                                                  {"with a skipped place", "num_skipped"}})
    if (!at(summary, key).is_null()) tables.row("ballots", {"what", "ballots"}, {what, at(summary, key)});
  for (const Json& length : at(summary, "lengths")) tables.row("lengths", {"items_listed", "rankings"}, {length[0], length[1]});
  for (const Json& row : at(at(data, "selection"), "table"))
    tables.row("selection", {"groups", "loglik", "ebic", "bic", "aic", "icl", "heldout_mean", "heldout_se", "replication"},
               {row["k"], at(row, "loglik"), at(row, "ebic"), at(row, "bic"), at(row, "aic"), at(row, "icl"),
                at(row, "heldout_mean"), at(row, "heldout_se"), at(row, "replication")});
  for (const Json& row : at(at(data, "comparison"), "table"))
    tables.row("comparison", {"family", "heldout_mean", "heldout_se", "difference", "difference_se", "groups", "seconds"},
               {row["name"], row["heldout_mean"], row["heldout_se"], at(row, "difference"), at(row, "difference_se"),
                at(row, "groups"), at(row, "seconds")});
  return tables.finish();
}

}  // namespace caucus
