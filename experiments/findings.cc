// All families under one likelihood on real data: held-out log-likelihood per ballot on the same five folds, paired differences.
//
// K of pl and mallows is chosen by EBIC on each training part from 1 to 10, of gmallows from 1 to 8. Of large files 3000 ballots
// are drawn, because the kernel estimate compares every held-out ballot with every training ballot. One line of the results is one
// data set.
#include <map>
#include <numeric>

#include "caucus/base/random.h"
#include "caucus/data/folds.h"
#include "caucus/io/io.h"
#include "caucus/io/table.h"
#include "caucus/service/compare.h"
#include "harness.h"
#include "ratings.h"

namespace {

using namespace caucus;
using namespace caucus::experiments;

enum class Form { as_read, ten_jokes, ten_models };

struct Source {
  std::string name, file, what;
  ReadOptions options = {};
  Form form = Form::as_read;
  std::string skip = {};  // a contender that would take hours
};

std::vector<Source> sources() {
  std::vector<Source> all{{"German goals", "classic/german_goals.soc", "political goals, survey"},
                          {"APA 1980", "classic/apa1980_complete.soc", "election of a society, complete ballots"},
                          {"APA 1980, all", "classic/apa1980_all.soi", "the same with the ballots that stop early"},
                          {"sports", "classic/sports_illinois.soc", "sports students like to take part in"},
                          {"occupations", "classic/occupations.soc", "prestige of occupations"},
                          {"Sushi", "preflib/00014-00000001.soc", "tastes"},
                          {"Jester", "", "ten jokes, those who rated them all, equal ratings in random order", {}, Form::ten_jokes},
                          {"Dublin West", "preflib/00001-00000002.soi", "parliamentary election"},
                          {"Meath", "preflib/00001-00000003.soi", "parliamentary election"},
                          {"Baillieston", "elections/glasgow_2007_baillieston.blt", "council election"},
                          {"NASCAR 2002", "classic/nascar2002.soi", "races, each with a part of the drivers"},
                          {"arena", "pairwise/chatbot_arena_20240814_sample50k.csv", "battles of language models, ties among them"},
                          {"arena, decided",
                           "pairwise/chatbot_arena_20240814_sample50k.csv",
                           "battles among the ten models met most often, without ties",
                           {},
                           Form::ten_models}};
  all[10].options.unranked = Unranked::absent;
  all[10].skip = "mallows:1..10;restarts=8";  // 87 drivers: minutes for a start
  return all;
}

constexpr std::size_t most_ballots = 3000;

// Ballots, not distinct rankings: every unit of weight has the same chance.
Dataset draw_ballots(const Dataset& data) {
  if (data.rankings.total_weight() <= static_cast<double>(most_ballots)) return data;
  std::vector<std::size_t> ballots;
  for (std::size_t i = 0; i < data.rankings.size(); ++i)
    ballots.insert(ballots.end(), static_cast<std::size_t>(std::lround(data.rankings.weight(i))), i);
  RandomStream(1, Purpose::fold, 1).shuffle(std::span<std::size_t>(ballots));
  RankingSetBuilder builder;
  for (std::size_t b = 0; b < most_ballots; ++b) builder.add(data.rankings[ballots[b]]);
  return data.with(builder.build());
}

// The rankings without ties among the `count` items listed most often.
Dataset strict_among_most_listed(const Dataset& data, std::size_t count) {
  std::vector<double> listed(data.num_items(), 0.0);
  const auto strict = [](RankingView ranking) {
    std::size_t groups = 0;
    ranking.for_each_group([&](std::span<const ItemId>) { ++groups; });
    return groups == ranking.size();
  };
  for (std::size_t i = 0; i < data.rankings.size(); ++i)
    if (strict(data.rankings[i]))
      for (const ItemId item : data.rankings[i].items()) listed[item] += data.rankings.weight(i);
  std::vector<ItemId> order(data.num_items());
  std::iota(order.begin(), order.end(), ItemId{0});
  std::ranges::stable_sort(order, [&](ItemId a, ItemId b) { return listed[a] > listed[b]; });
  std::map<ItemId, ItemId> number;
  Dataset part = data;
  part.items.clear();
  for (const ItemId item : std::span(order).first(count)) {
    number.emplace(item, static_cast<ItemId>(part.items.size()));
    part.items.push_back(data.items[item]);
  }
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const auto items = data.rankings[i].items();
    if (!strict(data.rankings[i]) || !std::ranges::all_of(items, [&](ItemId item) { return number.contains(item); })) continue;
    std::vector<ItemId> renamed;
    for (const ItemId item : items) renamed.push_back(number.at(item));
    builder.add(renamed, data.rankings.weight(i));
  }
  part.rankings = builder.build();
  return part;
}

Dataset read_source(const Source& source, const std::string& folder) {
  if (source.form == Form::ten_jokes) return orders_of(jester(folder, 10), 1);
  Dataset data = read_dataset(folder + "/" + source.file, source.options);
  return source.form == Form::ten_models ? strict_among_most_listed(data, 10) : data;
}

struct Race {
  std::string prefix;                         // of its lines' keys
  std::vector<std::string> contenders, data;  // no data: all
  bool all_ballots = false;                   // of large files too
};
const Race families{"",
                    {"pl:1", "pl:1..10", "mallows:1", "mallows:1..10;restarts=8", "gmallows:1..8;restarts=4", "m4:2",
                     "dpm:sweeps=200;burnin=80", "kde", "ebms"},
                    {}};
// Where ten groups were the most offered and were chosen in every fold; and the same without drawing ballots.
const Race many_groups{
    "many/", {"pl:1..25", "mallows:6,8,10,12,15,18,21,25..25;restarts=4", "dpm:sweeps=200;burnin=80"}, {"Sushi", "Baillieston"}};
const Race whole_files{"all/", {"pl:1..25", "dpm:sweeps=200;burnin=80"}, {"APA 1980", "Sushi", "Baillieston"}, true};

bool runs_on(const Race& race, const std::string& data) {
  return race.data.empty() || std::ranges::find(race.data, data) != race.data.end();
}

// Without the number of starts or sweeps; where K is not fixed it is chosen.
std::string short_name(const std::string& label) {
  const std::string family = label.substr(0, label.find(':'));
  if (family == "dpm" || family == "kde" || family == "ebms") return family;
  return label.find("..") != std::string::npos ? family + ", K chosen" : label;
}

void run(const Race& race, const Settings& settings, Results& results) {
  for (const Source& source : sources()) {
    const std::string key = race.prefix + source.name;
    if (!runs_on(race, source.name) || results.has(key) || (settings.quick && source.name != "sports")) continue;
    const Dataset whole = read_source(source, settings.data), data = race.all_ballots ? whole : draw_ballots(whole);
    CompareRequest request;
    for (const std::string& text : race.contenders)
      if (text != source.skip) request.contenders.push_back(parse_contender(text));
    if (settings.quick)
      for (Contender& one : request.contenders)
        if (!one.candidates.empty()) one.candidates = {1, 2};
    request.folds = settings.quick ? 2 : 5;
    Run run;
    run.threads = settings.threads;
    const Comparison comparison = compare(data, request, run);
    Json line{{"data", source.name},
              {"what", source.what},
              {"items", data.num_items()},
              {"ballots", whole.rankings.total_weight()},
              {"used", data.rankings.total_weight()},
              {"note", comparison.note}};
    for (const CompareRow& row : comparison.table) {
      Json one{{"label", row.label}, {"seconds", row.seconds}};
      if (row.refused) {
        std::string why = row.refused->substr(0, row.refused->find('\n'));
        if (const std::size_t at = why.find(settings.data + "/"); at != std::string::npos) why.erase(at, settings.data.size() + 1);
        one["refused"] = why;
      } else {
        one.update({{"mean", row.heldout_mean},
                    {"se", row.heldout_se},
                    {"behind", row.behind_best.mean},
                    {"behind_se", row.behind_best.standard_error},
                    {"groups", row.groups}});
      }
      line["table"].push_back(one);
    }
    results.add(key, run.seed, line);
    fmt::print(stderr, "{}: best {}\n", source.name, line["table"][0]["label"].get<std::string>());
  }
}

Report report(const Race& race, const Results& results) {
  Report result;
  std::vector<std::pair<std::string, std::vector<Series>>> dots;
  result.table =
      "How far behind the best family, in nats per held-out ballot (standard error of the paired difference). Best in bold, with "
      "its mean; - : does not take the data.\n\n| data | items | ballots |";
  for (const std::string& text : race.contenders) result.table += " " + short_name(text) + " |";
  result.table += "\n|---|---|---|";
  for (std::size_t i = 0; i < race.contenders.size(); ++i) result.table += "---|";
  result.table += "\n";
  for (const Source& source : sources()) {
    const auto found = results.lines().find(race.prefix + source.name);
    if (found == results.lines().end()) continue;
    const Json& line = found->second;
    result.table += fmt::format("| {} | {} | {:.0f}{} |", source.name, line["items"].get<int>(), line["used"].get<double>(),
                                line["used"] == line["ballots"] ? "" : fmt::format(" of {:.0f}", line["ballots"].get<double>()));
    std::vector<Series> row;
    for (const std::string& text : race.contenders) {
      if (std::ranges::none_of(line["table"], [&](const Json& one) { return one["label"] == text; })) result.table += " not run |";
      for (const Json& one : line["table"]) {
        if (one["label"] != text) continue;
        if (one.contains("refused")) {
          result.table += " - |";
          continue;
        }
        const double behind = one["behind"].get<double>();
        const double groups = one["groups"].get<double>();
        const std::size_t dots_at = text.find("..");
        const bool most = dots_at != std::string::npos && groups > std::stod(text.substr(dots_at + 2)) - 0.5;
        const std::string size =
            text == "kde" || text.ends_with(":1")
                ? ""
                : fmt::format(", {} group{}{}", groups < 100.0 ? fmt::format("{:.3g}", groups) : fmt::format("{:.0f}", groups),
                              groups == 1.0 ? "" : "s", most ? " (the most offered)" : "");
        result.table += one == line["table"][0] ? fmt::format(" **{:.4f}**{} |", one["mean"].get<double>(), size)
                                                : fmt::format(" {:.4f} ({:.4f}){} |", behind, one["behind_se"].get<double>(), size);
        row.push_back({short_name(text), {{std::min(behind, 1.0), 0.0}}});
      }
    }
    result.table += "\n";
    dots.emplace_back(source.name, row);
  }
  if (dots.empty()) return {};
  result.svg = dot_chart("Behind the best family (cut at 1)", "nats per held-out ballot", dots);
  return result;
}

}  // namespace

std::vector<Target> caucus::experiments::findings_targets() {
  std::vector<std::string> names;
  for (const Source& source : sources()) names.push_back(source.name);
  return {{"findings-families", "all families on real data: held-out log-likelihood per ballot",
           [](const Settings& settings, Results& results) { run(families, settings, results); },
           [](const Settings&, const Results& results) { return report(families, results); }, names},
          {"findings-groups",
           "the same with up to 25 groups, where ten were too few",
           [](const Settings& settings, Results& results) { run(many_groups, settings, results); },
           [](const Settings&, const Results& results) { return report(many_groups, results); },
           {"many/"}},
          {"findings-whole",
           "pl with up to 25 groups and dpm on whole files",
           [](const Settings& settings, Results& results) { run(whole_files, settings, results); },
           [](const Settings&, const Results& results) { return report(whole_files, results); },
           {"all/"}}};
}
