#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "caucus/evaluate/group_shares.h"
#include "caucus/evaluate/membership_agreement.h"
#include "caucus/io/csv.h"
#include "caucus/io/order_text.h"
#include "caucus/io/row_table.h"
#include "caucus/io/table.h"
#include "caucus/result/monte_carlo_scores.h"
#include "commands.h"

namespace caucus::cli {

namespace {

struct ScoreFlags {
  std::string model;
  DataFlags data;
  std::string out;
  std::string truth;                 // assign: a file of known groups
  std::vector<std::string> ballots;  // in place of a file
  std::string by;                    // assign: a column to show by group
};

void add_common(CLI::App& command, ScoreFlags& flags, Context& context) {
  command.add_option("model", flags.model, "model file written by 'caucus fit --out', or by hand")->required()->type_name("MODEL");
  add_data_argument(command, flags.data);
  command.add_option("--ballot", flags.ballots, "one ballot instead of a file, best first: \"A > B = C\"; may be given again")
      ->allow_extra_args(false)
      ->type_name("BALLOT");
  add_data_flags(command, flags.data);
  command.add_option("--threads", context.threads, "number of threads, 0 for all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_flag("--json", context.json, "print the result as one JSON object");
}

Dataset read_ballots(const ScoreFlags& flags, const LoadedModel& loaded, const Context& context) {
  if (flags.ballots.empty() == flags.data.path.empty())
    throw UsageError(flags.ballots.empty() ? "the rankings are missing: name a file, or give --ballot \"A > B > C\""
                                           : "a file and --ballot exclude each other");
  if (flags.ballots.empty()) return read_data_for(context, flags.data, loaded, flags.model);
  const FittedModel& model = *loaded.model;
  const auto unranked = flags.data.unranked.empty() ? std::nullopt : enum_from_name<Unranked>(flags.data.unranked);
  Dataset data = ballots_of(flags.ballots, model.items(), unranked.value_or(model.unranked()));
  model.check(data);
  return data;
}

nlohmann::ordered_json shares_json(const GroupShares& shares, std::size_t num_groups) {
  const auto one = [](const Share& share) {
    return nlohmann::ordered_json{{"count", share.count}, {"share", share.share}, {"low", share.low}, {"high", share.high}};
  };
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  for (std::size_t v = 0; v < shares.values.size(); ++v) {
    nlohmann::ordered_json groups = nlohmann::ordered_json::array(), within = nlohmann::ordered_json::array();
    for (std::size_t k = 0; k < num_groups; ++k) {
      groups.push_back(one(shares.of_group[k * shares.values.size() + v]));
      within.push_back(one(shares.of_value[v * num_groups + k]));
    }
    values.push_back({{"value", shares.values[v]}, {"all", one(shares.overall[v])}, {"of_group", groups}, {"of_value", within}});
  }
  return {{"column", shares.column}, {"values", values}};
}

// One line per value, as many groups at a time as fit a terminal of 80 columns.
std::string show_shares(const GroupShares& shares, std::span<const std::string> names, std::size_t num_groups,
                        const Context& context) {
  const Style style(context.color_stdout());
  constexpr std::size_t most = 40, widest = 16, cell_width = 20;
  std::vector<std::size_t> order(shares.values.size());
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
  if (order.size() > most)  // the most frequent ones
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return shares.overall[a].count > shares.overall[b].count; });
  std::size_t width = std::min(widest, display_width(printable(shares.column)));
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    width = std::max(width, std::min(widest, display_width(printable(shares.values[order[i]]))));
  const std::size_t at_once = (80 - (width + 10)) / cell_width;
  std::string text = fmt::format("{}Who is in each group, by {}{} (share of its members, 95 % interval)\n", style.bold,
                                 printable(shares.column), style.reset);
  for (std::size_t begin = 0; begin < num_groups; begin += at_once) {
    const std::size_t end = std::min(num_groups, begin + at_once);
    text += fmt::format("  {}  {:>6}", fit_width(printable(shares.column), width), "all");
    for (std::size_t k = begin; k < end; ++k) {
      const std::string name = printable(group_name(names, k));
      const std::size_t wide = std::min(display_width(name), cell_width - 2);
      text += std::string(cell_width - wide, ' ') + fit_width(name, wide);
    }
    text += '\n';
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
      const std::size_t v = order[i];
      text += fmt::format("  {}  {:>5.1f}%", fit_width(printable(shares.values[v]), width), 100.0 * shares.overall[v].share);
      for (std::size_t k = begin; k < end; ++k) {
        const Share& one = shares.of_group[k * shares.values.size() + v];
        text +=
            fmt::format(" {:>5.1f}% {:>12}", 100.0 * one.share, fmt::format("({:.1f}-{:.1f})", 100.0 * one.low, 100.0 * one.high));
      }
      text += '\n';
    }
  }
  if (order.size() > most) text += fmt::format("  ... and {} more values\n", order.size() - most);
  return text;
}

// A row of `columns` as an object of its own.
void add_columns(nlohmann::ordered_json& row, const std::vector<Column>& columns, std::size_t at) {
  if (!columns.empty()) row["data"] = nlohmann::ordered_json::object();
  for (const Column& column : columns) {
    nlohmann::ordered_json& value = row["data"][column.name];
    if (!column.is_missing(at))
      value = column.is_numeric() ? json_count(column.numbers[at]) : nlohmann::ordered_json(column.texts[at]);
  }
}

// One object per ranking of the file, blank ones with nulls: what write_row_table writes, for a program.
template <class Cells>
nlohmann::ordered_json rows_json(const Dataset& data, const std::vector<std::string>& heads, Cells&& cells) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto add = [&](std::size_t file_row, double weight, const std::vector<Column>& columns, std::size_t at) {
    nlohmann::ordered_json& row = rows.emplace_back(nlohmann::ordered_json{{"row", file_row + 1}, {"weight", json_count(weight)}});
    for (const std::string& head : heads) row[head] = nullptr;
    add_columns(row, columns, at);
    return &row;
  };
  for_each_file_row(
      data,
      [&](std::size_t file_row, std::size_t row) {
        cells(*add(file_row, data.rankings.row_weight(row), data.covariates, row), row);
      },
      [&](std::size_t file_row, std::size_t blank) { add(file_row, data.blanks[blank].weight, data.blank_covariates, blank); });
  return rows;
}

// What belongs to a group and has one probability: a voter with all their rankings, or a distinct ranking.
struct Units {
  Units(const FittedModel& model, const Dataset& ballots)
      : data(ballots),
        voters(counts_voters(model, ballots)),
        named(ballots.voters.given() && !ballots.voters.by_row()),
        weights(voters ? std::span<const double>(ballots.voters.weights) : ballots.rankings.weights()),
        total(voters ? ballots.voters.total_weight() : ballots.rankings.total_weight()) {}

  const Dataset& data;
  bool voters;  // units are voters
  bool named;   // tables have one line per voter
  std::span<const double> weights;
  double total;

  const char* noun() const { return voters ? "voters" : "rankings"; }
  std::size_t of_row(std::size_t row) const { return voters ? data.voters.of_row[row] : data.rankings.row_ranking(row); }
  std::size_t of_voter(std::size_t voter) const {
    return voters ? voter : data.voters.rankings.other[data.voters.rankings.begin[voter]];  // who has one ranking only
  }
  void write_table(const std::vector<std::string>& heads, const std::function<void(std::string&, std::size_t)>& append,
                   TextSink& sink) const {
    if (named)
      write_voter_table(
          data, heads, [&](std::string& out, std::size_t voter) { append(out, of_voter(voter)); }, sink);
    else
      write_row_table(
          data, heads, [&](std::string& out, std::size_t row) { append(out, of_row(row)); }, sink);
  }
  // The same under "voters" or "rows".
  template <class Cells>
  void add_json(nlohmann::ordered_json& json, const std::vector<std::string>& heads, Cells&& cells) const {
    if (!named) {
      json["rows"] = rows_json(data, heads, [&](nlohmann::ordered_json& row, std::size_t at) { cells(row, of_row(at)); });
      return;
    }
    const std::vector<Column> columns = voter_columns(data);
    nlohmann::ordered_json& list = json["voters"] = nlohmann::ordered_json::array();
    for (std::size_t v = 0; v < data.voters.size(); ++v) {
      nlohmann::ordered_json& one = list.emplace_back(
          nlohmann::ordered_json{{"voter", data.voters.names[v]}, {"weight", json_count(data.voters.weights[v])}});
      cells(one, of_voter(v));
      add_columns(one, columns, v);
    }
  }
};

void run_score(const ScoreFlags& flags, Context& context) {
  const bool text = wants_text(context, {flags.out});
  const LoadedModel loaded = load_model(flags.model);
  const Dataset data = read_ballots(flags, loaded, context);
  const Units units(*loaded.model, data);
  const std::vector<double> log_prob =
      units.voters ? voter_log_probs(*loaded.model, data, context.threads) : log_probs(*loaded.model, data, context.threads);
  double loglik = 0.0;
  for (std::size_t i = 0; i < log_prob.size(); ++i) loglik += units.weights[i] * log_prob[i];
  const double total = units.total;
  const double mean = total > 0.0 ? loglik / total : 0.0;

  if (!flags.out.empty()) {
    FileWriter file(flags.out);
    units.write_table(
        {"loglik"}, [&](std::string& out, std::size_t unit) { fmt::format_to(std::back_inserter(out), ",{}", log_prob[unit]); },
        file);
    file.commit();
  }
  const auto* by_draws = dynamic_cast<const MonteCarloScores*>(loaded.model.get());
  const double error = by_draws != nullptr ? by_draws->loglik_error(data, context.threads) : 0.0;
  if (context.json) {
    nlohmann::ordered_json result{{"loglik", loglik},
                                  {"mean_loglik", mean},
                                  {"num_rankings", json_count(data.rankings.total_weight())},
                                  {"num_blank", json_count(data.blank_weight())}};
    if (units.voters) result["num_voters"] = json_count(total);
    if (error > 0.0) result["loglik_error"] = error;
    if (flags.out.empty())
      units.add_json(result, {"loglik"}, [&](nlohmann::ordered_json& cells, std::size_t unit) {
        if (std::isfinite(log_prob[unit])) cells["loglik"] = log_prob[unit];
      });
    else
      result["out"] = flags.out;
    print_json(result);
  }
  if (text) {
    print(fmt::format("log-likelihood {:.6f}, mean {:.6f} over {} {}\n", loglik, mean, count_text(total), units.noun()));
    if (error > 0.0)
      print(fmt::format("Monte Carlo error of the log-likelihood {:.3g}, of the mean {:.3g}\n", error, error / total));
  }
  note_written(context, "Scores", flags.out);
}

// Known groups, one per ranking of the file: a CSV with a column "label" (as sample --labels and assign write it) or of one column.
// What stands beside blank ballots does not matter.
std::vector<std::uint32_t> read_truth(const std::string& path, const Dataset& data) {
  const Table table = read_table(path);
  const auto found = std::ranges::find_if(table.columns, [](const Column& column) { return column.name == "label"; });
  if (found == table.columns.end() && table.columns.size() != 1)
    throw DataError(path + ": found no column label; expected one, or a single column");
  const Column& column = found == table.columns.end() ? table.columns[0] : *found;
  if (table.num_rows != data.num_listed())
    throw DataError(fmt::format("{}: found {} rows; expected one for each of the {} rows of the rankings", path, table.num_rows,
                                data.num_listed()));
  std::map<std::string, std::uint32_t> names;
  std::vector<std::uint32_t> labels;
  for_each_file_row(
      data,
      [&](std::size_t row, std::size_t) {
        labels.push_back(names.try_emplace(covariate_text(column, row), static_cast<std::uint32_t>(names.size())).first->second);
      },
      [](std::size_t, std::size_t) {});
  return labels;
}

// The same by voter: columns voter and label, as sample --per-voter --labels writes them.
std::vector<std::uint32_t> read_voter_truth(const std::string& path, const Dataset& data) {
  const Table table = read_table(path);
  const Column *who = table.find("voter"), *label = table.find("label");
  if (who == nullptr || label == nullptr) throw DataError(path + ": expected the columns voter and label");
  std::map<std::string, std::size_t> line_of;
  for (std::size_t row = 0; row < table.num_rows; ++row) line_of.try_emplace(covariate_text(*who, row), row);
  std::map<std::string, std::uint32_t> names;
  std::vector<std::uint32_t> labels;
  for (const std::string& name : data.voters.names) {
    const auto found = line_of.find(name);
    if (found == line_of.end()) throw DataError(fmt::format("{}: voter '{}' of the rankings is not there", path, name));
    labels.push_back(
        names.try_emplace(covariate_text(*label, found->second), static_cast<std::uint32_t>(names.size())).first->second);
  }
  return labels;
}

nlohmann::ordered_json agreement_json(const MembershipAgreement& agreement) {
  nlohmann::ordered_json curve = nlohmann::ordered_json::array();
  for (const CalibrationBin& bin : agreement.calibration)
    curve.push_back({{"predicted", bin.mean_predicted}, {"observed", bin.observed}, {"count", bin.count}});
  return {{"variation_of_information", agreement.variation_of_information},
          {"adjusted_rand", agreement.adjusted_rand},
          {"misclassification", agreement.misclassification},
          {"calibration_error", agreement.calibration_error},
          {"calibration", curve}};
}

std::string agreement_text(const MembershipAgreement& agreement) {
  return fmt::format(
      "Against the known groups: {:.2f} % of the rows in another group, adjusted Rand index {:.4f}, variation of information "
      "{:.4f} nats; memberships are off by {:.3f} on average",
      100.0 * agreement.misclassification, agreement.adjusted_rand, agreement.variation_of_information,
      agreement.calibration_error);
}

// Memberships against the groups that a file tells, by voter where both know voters by name, else by row.
MembershipAgreement agreement_with(const std::string& truth, const Dataset& data, const Units& units,
                                   const std::vector<double>& posterior, std::size_t num_groups) {
  if (units.named && units.voters) return membership_agreement(posterior, num_groups, read_voter_truth(truth, data));
  std::vector<double> by_row;
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row) {
    const auto own = std::span(posterior).subspan(units.of_row(row) * num_groups, num_groups);
    by_row.insert(by_row.end(), own.begin(), own.end());
  }
  return membership_agreement(by_row, num_groups, read_truth(truth, data));
}

void run_assign(const ScoreFlags& flags, Context& context) {
  const bool text = wants_text(context, {flags.out});
  const LoadedModel loaded = load_model(flags.model);
  const Dataset data = read_ballots(flags, loaded, context);
  const std::size_t k = loaded.model->num_components();
  const Units units(*loaded.model, data);
  const std::vector<double> posterior =
      units.voters ? voter_memberships(*loaded.model, data, context.threads) : memberships(*loaded.model, data, context.threads);
  const auto of_unit = [&](std::size_t unit) { return std::span(posterior).subspan(unit * k, k); };
  const auto label_of = [](std::span<const double> p) {
    return static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  };
  std::vector<double> sizes(k, 0.0);
  double sure = 0.0;  // weight of those with a membership above 0.9
  for (std::size_t unit = 0; unit < units.weights.size(); ++unit) {
    const std::size_t label = label_of(of_unit(unit));
    sizes[label] += units.weights[unit];
    if (of_unit(unit)[label] > 0.9) sure += units.weights[unit];
  }
  const auto write_members = [&](TextSink& sink) {
    std::vector<std::string> heads{"label"};
    const std::vector<std::string>& names = loaded.facts.group_names;
    if (!names.empty()) heads.push_back("group_name");  // where 'caucus name' gave some
    for (std::size_t c = 0; c < k; ++c) heads.push_back(fmt::format("p{}", c + 1));
    units.write_table(
        heads,
        [&](std::string& out, std::size_t unit) {
          fmt::format_to(std::back_inserter(out), ",{}", label_of(of_unit(unit)) + 1);
          if (!names.empty()) fmt::format_to(std::back_inserter(out), ",{}", csv_cell(group_name(names, label_of(of_unit(unit)))));
          for (const double value : of_unit(unit)) fmt::format_to(std::back_inserter(out), ",{}", value);
        },
        sink);
  };
  const double total = units.total;
  std::optional<MembershipAgreement> agreement;
  if (!flags.truth.empty()) agreement = agreement_with(flags.truth, data, units, posterior, k);
  std::optional<GroupShares> shares;
  if (!flags.by.empty())
    shares = units.voters ? voter_shares(data, posterior, k, flags.by) : group_shares(data, posterior, k, flags.by);
  if (!flags.out.empty()) {
    FileWriter file(flags.out);
    write_members(file);
    file.commit();
  }
  if (context.json) {
    nlohmann::ordered_json json{{"num_rankings", json_count(data.rankings.total_weight())},
                                {"num_blank", json_count(data.blank_weight())},
                                {"sizes", sizes},
                                {"share_sure", total > 0.0 ? sure / total : 0.0}};
    if (units.voters) json["num_voters"] = json_count(total);
    if (!loaded.facts.group_names.empty()) json["group_names"] = loaded.facts.group_names;
    if (flags.out.empty())
      units.add_json(json, {"label", "p"}, [&](nlohmann::ordered_json& cells, std::size_t unit) {
        cells["label"] = label_of(of_unit(unit)) + 1;
        cells["p"] = std::vector<double>(of_unit(unit).begin(), of_unit(unit).end());
      });
    else
      json["out"] = flags.out;
    if (agreement) json["truth"] = agreement_json(*agreement);
    if (shares) json["by"] = shares_json(*shares, k);
    print_json(json);
  } else if (flags.out.empty() && !shares) {
    TextSink table;
    write_members(table);
    print(table.buffer());
  } else if (text) {
    for (std::size_t c = 0; c < k; ++c)
      print(fmt::format("{}: {} {} ({:.1f} %)\n", printable(group_name(loaded.facts.group_names, c)), count_text(sizes[c]),
                        units.noun(), 100.0 * sizes[c] / total));
    print(fmt::format("{:.0f} % of them belong to their group with probability above 0.9\n", 100.0 * sure / total));
    if (shares) print(show_shares(*shares, loaded.facts.group_names, k, context));
  }
  note_written(context, "Memberships", flags.out);
  if (agreement && !context.json) note(context, agreement_text(*agreement));
}

}  // namespace

void add_score(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* command = app.add_subcommand("score", "How likely are these rankings under a model");
  add_common(*command, *flags, context);
  command
      ->add_option("-o,--out", flags->out,
                   "write row,weight,loglik for every ranking, in file order; with --voter one line per voter")
      ->type_name("FILE");
  command->footer(examples({"caucus score model.json heldout.soi", "caucus score model.json votes.soi --out scores.csv --json"}));
  command->callback([flags, &context] { run_score(*flags, context); });
}

void add_assign(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* command = app.add_subcommand("assign", "Which group does each ranking belong to");
  add_common(*command, *flags, context);
  command
      ->add_option("-o,--out", flags->out,
                   "write row,weight,label,p1..pK for every ranking, in file order; with --voter one line per voter")
      ->type_name("FILE");
  command
      ->add_option(
          "--truth", flags->truth,
          "CSV of known groups, one per row (column label): misclassification, Rand index, variation of information, calibration")
      ->type_name("FILE");
  command->add_option("--by", flags->by, "show who is in each group by a column that stood beside the ballots")
      ->type_name("COLUMN");
  command->footer(
      examples({"caucus assign model.json votes.soi --out members.csv", "caucus assign model.json --ballot \"A > B > C\"",
                "caucus assign model.json cvr.csv --by precinct --out members.csv",
                "caucus assign model.json drawn.soc --truth labels.csv --out members.csv"}));
  command->callback([flags, &context] { run_assign(*flags, context); });
}

}  // namespace caucus::cli
