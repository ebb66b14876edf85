// How many groups: rules tried on simulations whose number of groups is known, and on real files.
//
// One line of the results is one data set: for every K the criteria of the fit to all ballots, and of fits to two halves how well
// each predicts the other half and whether both find the same groups. The rules are applied to these lines, so a rule can be added
// without a fit.
#include <functional>

#include "caucus/base/random.h"
#include "caucus/io/io.h"
#include "caucus/service/model_file.h"
#include "caucus/service/selection_rule.h"
#include "harness.h"
#include "theorem1.h"

namespace {

using namespace caucus;
using namespace caucus::experiments;

constexpr std::size_t num_items = 10;
constexpr int most_simulated = 8, most_real = 12;

struct Design {
  std::string name, what;
  std::size_t length = 0;  // 0: complete
  double common = 0.0;     // standard deviation of the utilities all groups share
  double own = 1.5;        // and of those that set a group apart
  double ratio = 1.0;      // size of a group over that of the one before it
};

const std::vector<Design> designs{
    {"complete", "complete ballots, equal groups"},
    {"top 3", "the best three of ten, equal groups", 3},
    {"unequal", "complete ballots, each group half as large as the one before", 0, 0.0, 1.5, 0.5},
    {"close", "complete ballots, groups that agree on most (a common taste and small differences)", 0, 1.0, 0.7}};

nlohmann::json mixture(const Design& design, int groups, std::uint64_t seed) {
  RandomStream random(seed, Purpose::generate, 0);
  nlohmann::json model{{"schema", "caucus.model/1"}, {"family", "pl"}};
  std::vector<double> common(num_items), weights(static_cast<std::size_t>(groups));
  double total = 0.0;
  for (std::size_t i = 0; i < num_items; ++i) {
    model["items"].push_back(fmt::format("item {}", i + 1));
    common[i] = design.common * random.normal();
  }
  for (std::size_t k = 0; k < weights.size(); ++k) total += weights[k] = std::pow(design.ratio, static_cast<double>(k));
  for (const double weight : weights) {
    std::vector<double> utilities(common);
    for (double& utility : utilities) utility += design.own * random.normal();
    model["components"].push_back({{"weight", weight / total}, {"utilities", utilities}});
  }
  return model;
}

double rounded(double value) { return std::stod(fmt::format("{:.5g}", value)); }

Json rows_of(const std::vector<SelectRow>& table) {
  Json rows = Json::array();
  for (const SelectRow& row : table) {
    Json one{{"k", row.k},
             {"ebic", std::round(10.0 * row.ebic) / 10.0},
             {"aic", std::round(10.0 * row.aic) / 10.0},
             {"icl", std::round(10.0 * row.icl) / 10.0},
             {"loglik", std::round(100.0 * row.loglik) / 100.0},
             {"heldout", *row.heldout_mean},
             {"weakest", rounded(row.replication->weakest)},
             {"strength", rounded(row.replication->prediction_strength)},
             {"rand", rounded(row.replication->adjusted_rand)},
             {"smallest", rounded(row.shares.back())},
             {"seconds", rounded(row.seconds)},
             {"ahead", Json::array()}};
    for (const PairedDifference& ahead : row.ahead) one["ahead"].push_back({rounded(ahead.mean), rounded(ahead.standard_error)});
    rows.push_back(std::move(one));
  }
  return rows;
}

std::vector<SelectRow> rows_from(const Json& line) {
  std::vector<SelectRow> table;
  for (const Json& one : line["rows"]) {
    SelectRow row;
    row.k = one["k"].get<int>();
    row.ebic = one["ebic"].get<double>();
    row.aic = one["aic"].get<double>();
    row.icl = one["icl"].get<double>();
    row.loglik = one["loglik"].get<double>();
    row.heldout_mean = one["heldout"].get<double>();
    row.replication = Replication{{}, one["weakest"].get<double>(), one["strength"].get<double>(), one["rand"].get<double>()};
    row.shares = {one["smallest"].get<double>()};
    for (const Json& ahead : one["ahead"]) row.ahead.push_back({ahead[0].get<double>(), ahead[1].get<double>()});
    table.push_back(std::move(row));
  }
  return table;
}

Selection try_all(const Dataset& data, int most, int threads) {
  SelectRequest request;
  for (int k = 1; k <= most; ++k) request.candidates.push_back(k);
  Run run;
  run.threads = threads;
  return select(data, request, run);
}

void simulate(const Settings& settings, Results& results) {
  const int trials = settings.trials > 0 ? settings.trials : settings.quick ? 1 : 5;
  // The rule's thresholds were set on the first trial, so that one is not among those that judge it. All cells once before any
  // twice.
  for (int trial = 2; trial <= trials + 1; ++trial)
    for (const std::size_t ballots : settings.quick ? std::vector<std::size_t>{500} : std::vector<std::size_t>{500, 2000, 5000})
      for (const Design& design : designs)
        for (int groups = 1; groups <= (settings.quick ? 2 : 5); ++groups) {
          const std::string key = fmt::format("{}, {} groups, {} ballots, trial {}", design.name, groups, ballots, trial);
          if (results.has(key)) continue;
          const auto seed = static_cast<std::uint64_t>(trial * 100 + groups);
          SampleRequest sample;
          sample.count = ballots;
          sample.seed = seed + 7;
          sample.length = design.length;
          const LoadedModel truth = parse_model(mixture(design, groups, seed).dump(), design.name);
          const Dataset data = drawn_one_by_one(dynamic_cast<const pl_mixture::FittedMixture&>(*truth.model), sample);
          const Selection selection = try_all(data, settings.quick ? 3 : most_simulated, settings.threads);
          results.add(key, seed,
                      {{"design", design.name}, {"groups", groups}, {"ballots", ballots}, {"rows", rows_of(selection.table)}});
          fmt::print(stderr, "{}: {}\n", key, selection.chosen_k);
        }
}

struct File {
  std::string name, path;
  ReadOptions options = {};
  int most = most_real;
};

std::vector<File> files() {
  return {{"German goals", "classic/german_goals.soc"},
          {"APA 1980", "classic/apa1980_complete.soc"},
          {"sports", "classic/sports_illinois.soc"},
          {"occupations", "classic/occupations.soc"},
          {"Sushi", "preflib/00014-00000001.soc"},
          {"Irish poll 1997", "classic/irish_president1997_poll.csv"},
          {"Anderston 2007", "preflib/00008-00000001.soi"},
          {"Edinburgh 2017, ward 12", "elections/edinburgh_2017_ward12.blt"},
          {"Dublin West 2002", "preflib/00001-00000002.soi"},
          {"Meath 2002", "preflib/00001-00000003.soi"},
          {"Portland 2024, district 1", "elections/portland_2024_district1_cvr.csv"}};
}

std::vector<std::string> real_keys() {
  std::vector<std::string> keys;
  for (const File& file : files()) keys.push_back(file.name);
  return keys;
}

void read_and_try(const Settings& settings, Results& results) {
  for (const File& file : files()) {
    if (results.has(file.name) || (settings.quick && file.name != "sports")) continue;
    const Dataset data = read_dataset(settings.data + "/" + file.path, file.options);
    const Selection selection = try_all(data, settings.quick ? 3 : file.most, settings.threads);
    results.add(file.name, Run{}.seed,
                {{"file", file.name},
                 {"items", data.num_items()},
                 {"ballots", data.rankings.total_weight()},
                 {"rows", rows_of(selection.table)}});
    fmt::print(stderr, "{}: {}\n", file.name, selection.chosen_k);
  }
}

struct Rule {
  std::string name;
  std::function<std::size_t(const std::vector<SelectRow>&, const Json& line)> row;
};

Rule by(const char* name, Criterion criterion, bool one_se = false) {
  return {name, [=](const auto& table, const Json&) { return choose_row(table, criterion, one_se); }};
}

// A penalty that grows with the sample faster than BIC's half a logarithm: N^0.35 a parameter is what the halves' choices on the
// largest files amount to.
std::size_t by_power(const std::vector<SelectRow>& table, const Json& line) {
  const double each = std::pow(line["ballots"].get<double>(), 0.35);
  const auto items = line.contains("items") ? line["items"].get<double>() : static_cast<double>(num_items);
  const auto score = [&](const SelectRow& row) { return row.loglik - each * (row.k * items - 1.0); };
  std::size_t best = 0;
  for (std::size_t i = 1; i < table.size(); ++i)
    if (score(table[i]) > score(table[best])) best = i;
  return best;
}

const std::vector<Rule> rules{by("halves", Criterion::halves), by("EBIC", Criterion::ebic),
                              by("ICL", Criterion::icl),       by("AIC", Criterion::aic),
                              by("held out", Criterion::cv),   by("held out, one error", Criterion::cv, true),
                              {"N^0.35 a parameter", by_power}};

Report report_simulated(const Settings&, const Results& results) {
  std::map<std::pair<std::string, int>, std::vector<const Json*>> cells;
  for (const auto& [key, line] : results.lines())
    if (line.contains("design")) cells[{line["design"].get<std::string>(), line["ballots"].get<int>()}].push_back(&line);
  Report result;
  if (cells.empty()) return result;
  result.table = "| ballots | design | data sets |";
  for (const Rule& rule : rules) result.table += " " + rule.name + " |";
  result.table += "\n|---|---|---|" + [] {
    std::string bars;
    for (std::size_t i = 0; i < rules.size(); ++i) bars += "---|";
    return bars;
  }() + "\n";
  for (const Design& design : designs)
    for (const auto& [cell, lines] : cells) {
      if (cell.first != design.name) continue;
      result.table += fmt::format("| {} | {} | {} |", cell.second, design.what, lines.size());
      for (const Rule& rule : rules) {
        int right = 0, below = 0, above = 0;
        for (const Json* line : lines) {
          const std::vector<SelectRow> table = rows_from(*line);
          const int off = table[rule.row(table, *line)].k - (*line)["groups"].get<int>();
          right += off == 0, below += off<0, above += off> 0;
        }
        result.table += fmt::format(" {:.0f} % (-{}, +{}) |", 100.0 * right / static_cast<double>(lines.size()), below, above);
      }
      result.table += "\n";
    }
  return result;
}

Report report_real(const Settings&, const Results& results) {
  Report result;
  for (const File& file : files()) {
    const auto found = results.lines().find(file.name);
    if (found == results.lines().end()) continue;
    if (result.table.empty()) {
      result.table = "| file | items | ballots | K tried |";
      for (const Rule& rule : rules) result.table += " " + rule.name + " |";
      result.table += "\n|---|---|---|---|";
      for (std::size_t i = 0; i < rules.size(); ++i) result.table += "---|";
      result.table += "\n";
    }
    const Json& line = found->second;
    const std::vector<SelectRow> table = rows_from(line);
    result.table +=
        fmt::format("| {} | {} | {:.0f} | {} |", file.name, line["items"].get<int>(), line["ballots"].get<double>(), table.size());
    for (const Rule& rule : rules) result.table += fmt::format(" {} |", table[rule.row(table, line)].k);
    result.table += "\n";
  }
  return result;
}

}  // namespace

std::vector<Target> caucus::experiments::choosing_targets() {
  return {{"choosing-simulated",
           "how many groups: rules on simulations with a known number",
           simulate,
           report_simulated,
           {"complete, ", "top 3, ", "unequal, ", "close, "}},
          {"choosing-real", "how many groups: rules on real files", read_and_try, report_real, real_keys()}};
}
