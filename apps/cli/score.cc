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

// One object per ranking of the file, blank ones with nulls: what write_row_table writes, for a program.
template <class Cells>
nlohmann::ordered_json rows_json(const Dataset& data, const std::vector<std::string>& heads, Cells&& cells) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto add = [&](std::size_t file_row, double weight, const std::vector<Column>& columns, std::size_t at) {
    nlohmann::ordered_json& row = rows.emplace_back(nlohmann::ordered_json{{"row", file_row + 1}, {"weight", json_count(weight)}});
    for (const std::string& head : heads) row[head] = nullptr;
    if (!columns.empty()) row["data"] = nlohmann::ordered_json::object();
    for (const Column& column : columns) {
      const bool missing = column.is_numeric() ? std::isnan(column.numbers[at]) : column.texts[at].empty();
      nlohmann::ordered_json& value = row["data"][column.name];
      if (!missing) value = column.is_numeric() ? json_count(column.numbers[at]) : nlohmann::ordered_json(column.texts[at]);
    }
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

void run_score(const ScoreFlags& flags, Context& context) {
  const bool text = wants_text(context, {flags.out});
  const LoadedModel loaded = load_model(flags.model);
  const Dataset data = read_ballots(flags, loaded, context);
  const std::vector<double> log_prob = log_probs(*loaded.model, data, context.threads);
  const RankingSet& rankings = data.rankings;
  double loglik = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i) loglik += rankings.weight(i) * log_prob[i];
  const double total = rankings.total_weight();
  const double mean = total > 0.0 ? loglik / total : 0.0;

  if (!flags.out.empty()) {
    FileWriter file(flags.out);
    write_row_table(
        data, {"loglik"},
        [&](std::string& out, std::size_t row) {
          fmt::format_to(std::back_inserter(out), ",{}", log_prob[rankings.row_ranking(row)]);
        },
        file);
    file.commit();
  }
  const auto* by_draws = dynamic_cast<const MonteCarloScores*>(loaded.model.get());
  const double error = by_draws != nullptr ? by_draws->loglik_error(data, context.threads) : 0.0;
  if (context.json) {
    nlohmann::ordered_json result{{"loglik", loglik},
                                  {"mean_loglik", mean},
                                  {"num_rankings", json_count(total)},
                                  {"num_blank", json_count(data.blank_weight())}};
    if (error > 0.0) result["loglik_error"] = error;
    if (flags.out.empty())
      result["rows"] = rows_json(data, {"loglik"}, [&](nlohmann::ordered_json& cells, std::size_t row) {
        const double value = log_prob[rankings.row_ranking(row)];
        if (std::isfinite(value)) cells["loglik"] = value;
      });
    else
      result["out"] = flags.out;
    print_json(result);
  }
  if (text) {
    print(fmt::format("log-likelihood {:.6f}, mean {:.6f} over {} rankings\n", loglik, mean, count_text(total)));
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

void run_assign(const ScoreFlags& flags, Context& context) {
  const bool text = wants_text(context, {flags.out});
  const LoadedModel loaded = load_model(flags.model);
  const Dataset data = read_ballots(flags, loaded, context);
  const std::size_t k = loaded.model->num_components();
  const std::vector<double> posterior = memberships(*loaded.model, data, context.threads);
  const RankingSet& rankings = data.rankings;

  const auto of_row = [&](std::size_t row) { return std::span(posterior).subspan(rankings.row_ranking(row) * k, k); };
  const auto label_of = [](std::span<const double> p) {
    return static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  };
  std::vector<double> sizes(k, 0.0);
  double sure = 0.0;  // weight of the rankings with a membership above 0.9
  for (std::size_t row = 0; row < rankings.num_rows(); ++row) {
    const std::size_t label = label_of(of_row(row));
    sizes[label] += rankings.row_weight(row);
    if (of_row(row)[label] > 0.9) sure += rankings.row_weight(row);
  }
  const auto write_members = [&](TextSink& sink) {
    std::vector<std::string> heads{"label"};
    const std::vector<std::string>& names = loaded.facts.group_names;
    if (!names.empty()) heads.push_back("group_name");  // where 'caucus name' gave some
    for (std::size_t c = 0; c < k; ++c) heads.push_back(fmt::format("p{}", c + 1));
    write_row_table(
        data, heads,
        [&](std::string& out, std::size_t row) {
          fmt::format_to(std::back_inserter(out), ",{}", label_of(of_row(row)) + 1);
          if (!names.empty()) fmt::format_to(std::back_inserter(out), ",{}", csv_cell(group_name(names, label_of(of_row(row)))));
          for (const double value : of_row(row)) fmt::format_to(std::back_inserter(out), ",{}", value);
        },
        sink);
  };
  const double total = rankings.total_weight();
  std::optional<MembershipAgreement> agreement;
  if (!flags.truth.empty()) {
    std::vector<double> by_row;
    for (std::size_t row = 0; row < rankings.num_rows(); ++row) by_row.insert(by_row.end(), of_row(row).begin(), of_row(row).end());
    agreement = membership_agreement(by_row, k, read_truth(flags.truth, data));
  }
  std::optional<GroupShares> shares;
  if (!flags.by.empty()) shares = group_shares(data, posterior, k, flags.by);
  if (!flags.out.empty()) {
    FileWriter file(flags.out);
    write_members(file);
    file.commit();
  }
  if (context.json) {
    nlohmann::ordered_json json{{"num_rankings", json_count(total)},
                                {"num_blank", json_count(data.blank_weight())},
                                {"sizes", sizes},
                                {"share_sure", total > 0.0 ? sure / total : 0.0}};
    if (!loaded.facts.group_names.empty()) json["group_names"] = loaded.facts.group_names;
    if (flags.out.empty())
      json["rows"] = rows_json(data, {"label", "p"}, [&](nlohmann::ordered_json& cells, std::size_t row) {
        cells["label"] = label_of(of_row(row)) + 1;
        cells["p"] = std::vector<double>(of_row(row).begin(), of_row(row).end());
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
      print(fmt::format("{}: {} rankings ({:.1f} %)\n", printable(group_name(loaded.facts.group_names, c)), count_text(sizes[c]),
                        100.0 * sizes[c] / total));
    print(fmt::format("{:.0f} % of them belong to their group with probability above 0.9\n", 100.0 * sure / total));
    if (shares) print(show_shares(*shares, loaded.facts.group_names, k, context));
  }
  note_written(context, "Memberships", flags.out);
  if (agreement && !context.json)
    note(context, fmt::format("Against the known groups: {:.2f} % of the rows in another group, adjusted Rand index {:.4f}, "
                              "variation of information {:.4f} nats; "
                              "memberships are off by {:.3f} on average",
                              100.0 * agreement->misclassification, agreement->adjusted_rand, agreement->variation_of_information,
                              agreement->calibration_error));
}

}  // namespace

void add_score(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* command = app.add_subcommand("score", "How likely are these rankings under a model");
  add_common(*command, *flags, context);
  command->add_option("-o,--out", flags->out, "write row,weight,loglik for every ranking, in file order")->type_name("FILE");
  command->footer(examples({"caucus score model.json heldout.soi", "caucus score model.json votes.soi --out scores.csv --json"}));
  command->callback([flags, &context] { run_score(*flags, context); });
}

void add_assign(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* command = app.add_subcommand("assign", "Which group does each ranking belong to");
  add_common(*command, *flags, context);
  command
      ->add_option(
          "-o,--out", flags->out,
          "write row,weight,label,p1..pK for every ranking, in file order; names of groups after label, where there are some")
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
