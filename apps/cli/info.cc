#include <fmt/format.h>

#include <cmath>

#include "caucus/data/connectivity.h"
#include "caucus/data/per_voter.h"
#include "caucus/data/weights.h"
#include "commands.h"

namespace caucus::cli {

namespace {

// How often each item stands first (a tie for it counts in parts) and how often it is listed, in ballots.
struct ItemCounts {
  std::vector<double> first, listed;
};
ItemCounts count_items(const Dataset& data) {
  const RankingSet& rankings = data.rankings;
  ItemCounts counts{std::vector<double>(data.num_items(), 0.0), std::vector<double>(data.num_items(), 0.0)};
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    bool first_group = true;
    rankings[i].for_each_group([&](std::span<const ItemId> group) {
      for (const ItemId item : group) {
        counts.listed[item] += rankings.weight(i);
        if (first_group) counts.first[item] += rankings.weight(i) / static_cast<double>(group.size());
      }
      first_group = false;
    });
  }
  return counts;
}

// The ranking's items, tied ones in a list of their own.
nlohmann::ordered_json ranking_json(RankingView ranking, const std::vector<std::string>& names) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  ranking.for_each_group([&](std::span<const ItemId> group) {
    if (group.size() == 1) return groups.push_back(names[group[0]]);
    groups.push_back(nlohmann::ordered_json::array());
    for (const ItemId item : group) groups.back().push_back(names[item]);
  });
  return groups;
}

nlohmann::ordered_json info_json(const Dataset& data, const DataTraits& found, const Connectivity& graph,
                                 const ItemCounts& counts) {
  const RankingSet& rankings = data.rankings;
  nlohmann::ordered_json json;
  json["num_items"] = data.num_items();
  json["num_rankings"] = json_count(rankings.total_weight());
  if (one_ballot(rankings) != 1.0) json["effective_size"] = effective_size(rankings);
  json["num_blank"] = json_count(data.blank_weight());
  json["num_overvoted"] = json_count(data.facts.overvoted);
  json["num_skipped"] = json_count(data.facts.skipped);
  if (data.facts.seats > 0) json["num_seats"] = data.facts.seats;
  json["num_rows"] = data.num_listed();
  json["num_unique"] = rankings.size();
  if (data.voters.given()) {
    const PerVoter per_voter = rankings_per_voter(data.voters);
    json["num_voters"] = json_count(data.voters.total_weight());
    json["rankings_per_voter"] = {{"min", per_voter.least}, {"mean", per_voter.mean}, {"max", per_voter.most}};
  }
  json["kind"] = name_of(found.kind);
  json["min_length"] = found.min_length;
  json["max_length"] = found.max_length;
  json["has_ties"] = found.has_ties;
  json["unranked"] = name_of(data.unranked);
  json["strongly_connected"] = graph.strongly_connected;
  if (!graph.strongly_connected) json["connectivity"] = describe(graph, data);
  json["items"] = data.items;
  json["first"] = nlohmann::ordered_json::array();
  for (const double count : counts.first) json["first"].push_back(nlohmann::ordered_json(json_count(count)));
  json["listed"] = nlohmann::ordered_json::array();
  for (const double count : counts.listed) json["listed"].push_back(nlohmann::ordered_json(json_count(count)));
  if (!rankings.empty()) json["first_ranking"] = ranking_json(rankings[0], data.items);
  json["source"] = data.source;
  json["covariates"] = nlohmann::ordered_json::array();
  for (const Column& column : data.covariates) json["covariates"].push_back(column.name);
  for (const Column& column : data.voters.table) json["voter_covariates"].push_back(column.name);
  json["digest"] = digest(data);
  json["warnings"] = data.warnings;
  return json;
}

std::string names_of(const char* what, const std::vector<Column>& columns) {
  if (columns.empty()) return "";
  std::string line = what;
  for (const Column& column : columns) line += " " + printable(column.name);
  return wrapped(line, 4) + "\n";
}

// The first ranking back, so that a wrong reading is seen at once.
std::string first_ranking_text(const Dataset& data) {
  if (data.rankings.empty()) return "";
  std::string line = "  the first ranking reads:";
  std::size_t shown = 0;
  data.rankings[0].for_each_group([&](std::span<const ItemId> group) {
    if (shown > 8) return;
    line += shown > 0 ? " > " : " ";
    if (shown == 8) {
      line += "...";
    } else {
      for (std::size_t i = 0; i < group.size(); ++i) line += (i > 0 ? " = " : "") + printable(data.items[group[i]]);
    }
    ++shown;
  });
  return wrapped(line, 4) + "\n";
}

std::string facts_text(const Dataset& data, const DataTraits& found, const Connectivity& graph, const Style& style) {
  const RankingSet& rankings = data.rankings;
  std::string text = fmt::format("{}{}{}\n", style.bold, printable(data.source), style.reset);
  // Weights that are no counts have a sum, and there are rankings.
  const bool weighted = std::abs(one_ballot(rankings) - 1.0) > 1e-9;
  text += fmt::format("  {} rankings ({}{} distinct) of {} items, {}\n",
                      weighted ? fmt::format("{}", rankings.num_rows()) : count_text(rankings.total_weight()),
                      weighted ? fmt::format("weights sum to {}, ", count_text(rankings.total_weight())) : "", rankings.size(),
                      data.num_items(),
                      found.kind == DataKind::complete   ? "all complete"
                      : found.kind == DataKind::pairwise ? "all pairs"
                                                         : fmt::format("{} to {} listed", found.min_length, found.max_length));
  if (data.voters.given()) {
    const PerVoter per_voter = rankings_per_voter(data.voters);
    text +=
        fmt::format("  cast by {} voters ({}), {} to {} rankings each, {:.3g} on average\n", count_text(data.voters.total_weight()),
                    printable(data.voters.column), per_voter.least, per_voter.most, per_voter.mean);
  }
  if (data.blank_weight() > 0.0)
    text += fmt::format("  {} blank ballots besides: they list no item\n", count_text(data.blank_weight()));
  if (data.facts.overvoted > 0.0)
    text += fmt::format("  {} ballots with an overvote: that place is read as empty\n", count_text(data.facts.overvoted));
  if (data.facts.skipped > 0.0)
    text += fmt::format("  {} ballots skip a place: later choices move up\n", count_text(data.facts.skipped));
  if (!found.complete)
    text +=
        wrapped(fmt::format("  unlisted items are read as {}",
                            data.unranked == Unranked::last ? "last: below the listed ones (--unranked absent if they took no part)"
                                                            : "absent: they took no part (--unranked last if they are below)"),
                4) +
        "\n";
  text += fmt::format("  ties: {}\n", found.has_ties ? "yes" : "no");
  text += names_of("  covariates:", data.covariates);
  text += names_of("  of the voters:", data.voters.table);
  text += first_ranking_text(data);
  text +=
      graph.strongly_connected
          ? "  every item can be compared with every other (strongly connected)\n"
          : wrapped(fmt::format("  {}not strongly connected:{} {}", style.warn, style.reset, printable(describe(graph, data))), 4) +
                "\n";
  return text;
}

// The items most often first.
std::string items_text(const Dataset& data, const ItemCounts& counts) {
  const double total = data.rankings.total_weight();
  std::string text;
  std::vector<std::size_t> order(data.num_items());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return counts.first[a] > counts.first[b]; });
  constexpr std::size_t most = 20;
  std::size_t width = 4;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    width = std::max(width, std::min<std::size_t>(40, display_width(printable(data.items[order[i]]))));
  text += fmt::format("\n  {}  {:>10}  {:>10}\n", fit_width("item", width), "first", "listed");
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    text += fmt::format("  {}  {:>9.1f}%  {:>9.1f}%\n", fit_width(printable(data.items[order[i]]), width),
                        100.0 * counts.first[order[i]] / total, 100.0 * counts.listed[order[i]] / total);
  if (order.size() > most) text += fmt::format("  ... and {} more items\n", order.size() - most);
  return text;
}

void run_info(const DataFlags& flags, Context& context) {
  const Dataset data = read_data(context, flags);
  const DataTraits found = traits(data);
  const Connectivity graph = connectivity(data);
  const ItemCounts counts = count_items(data);
  if (context.json)
    print_json(info_json(data, found, graph, counts));
  else
    print(facts_text(data, found, graph, Style(context.color_stdout())) + items_text(data, counts));
}

}  // namespace

void add_info(CLI::App& app, Context& context) {
  auto flags = std::make_shared<DataFlags>();
  CLI::App* command = app.add_subcommand("info", "What is in a ranking file");
  add_data_argument(*command, *flags)->required();
  add_data_flags(*command, *flags);
  command->add_flag("--json", context.json, "print the result as one JSON object");
  command->footer(examples({"caucus info votes.soi", "caucus info ballots.csv --format csv-wide --drop \"Write-in\""}));
  command->callback([flags, &context] { run_info(*flags, context); });
}

void add_convert(CLI::App& app, Context& context) {
  struct Flags {
    DataFlags data;
    std::string out, to = "auto";
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("convert", "Write a ranking file in another format, and say what was lost");
  command->add_option("in", flags->data.path, "file to read, or - for standard input")->required()->type_name("IN");
  command->add_option("out", flags->out, "file to write, or - for standard output")->required()->type_name("OUT");
  add_data_flags(*command, flags->data);
  command->add_option("--to", flags->to, "format to write; auto: by the extension")
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<Format>.begin(), enum_names<Format>.end())))
      ->group("Data");
  command->add_flag("--json", context.json, "print what was written and lost as one JSON object");
  command->footer(examples({"caucus convert votes.soi votes.jsonl", "caucus convert ballots.csv ballots.soi --from csv-wide"}));
  command->callback([flags, &context] {
    if (context.json && flags->out == "-")
      throw UsageError("--json and writing to standard output exclude each other; name a file");
    if (flags->out != "-") flags->data.options.scratch.folder = folder_of(flags->out);
    const Dataset data = read_data(context, flags->data);
    WriteOptions options;
    options.format = *enum_from_name<Format>(flags->to);
    const std::vector<std::string> lost = write_dataset(data, flags->out, options);
    for (const std::string& what : lost) warning(context, "lost: " + what);
    if (context.json)
      print_json({{"out", flags->out}, {"num_rankings", json_count(data.rankings.total_weight())}, {"lost", lost}});
    else if (flags->out != "-")
      note(context, fmt::format("{} rankings written to {}{}", count_text(data.rankings.total_weight()), flags->out,
                                lost.empty() ? ", nothing lost" : ""));
  });
}

}  // namespace caucus::cli
