#include <fmt/format.h>

#include "commands.h"

namespace caucus::cli {

namespace {

struct ScoreFlags {
  std::string model;
  DataFlags data;
  std::string out;
};

void add_common(CLI::App& command, ScoreFlags& flags, Context& context) {
  command.add_option("model", flags.model, "model file written by 'caucus fit --out', or by hand")->required()->type_name("MODEL");
  command.add_option("data", flags.data.path, "ranking file, or - for standard input")->required()->type_name("DATA");
  add_data_flags(command, flags.data);
  command.add_option("--threads", context.threads, "number of threads, 0 for all cores")->check(CLI::Range(0, 4096))->capture_default_str();
  command.add_flag("--json", context.json, "print the result as one JSON object");
}

void run_score(const ScoreFlags& flags, Context& context) {
  const LoadedModel loaded = load_model(flags.model);
  const Dataset data = read_data_for(context, flags.data, loaded, flags.model);
  const std::vector<double> log_prob = log_probs(*loaded.model, data, context.threads);
  const RankingSet& rankings = data.rankings;
  double loglik = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i) loglik += rankings.weight(i) * log_prob[i];
  const double total = rankings.total_weight();
  const double mean = total > 0.0 ? loglik / total : 0.0;

  if (!flags.out.empty()) {
    fmt::memory_buffer csv;
    fmt::format_to(std::back_inserter(csv), "row,weight,loglik\n");
    for (std::size_t row = 0; row < rankings.num_rows(); ++row)
      fmt::format_to(std::back_inserter(csv), "{},{},{}\n", row + 1, rankings.row_weight(row), log_prob[rankings.row_ranking(row)]);
    write_file(flags.out, {csv.data(), csv.size()});
  }
  if (context.json) {
    print_json({{"loglik", loglik}, {"mean_loglik", mean}, {"num_rankings", json_count(total)}});
  } else {
    print(fmt::format("log-likelihood {:.6f}, mean {:.6f} over {} rankings\n", loglik, mean, total));
    if (!flags.out.empty()) note(context, fmt::format("Scores written to {}", flags.out));
  }
}

void run_assign(const ScoreFlags& flags, Context& context) {
  const LoadedModel loaded = load_model(flags.model);
  const Dataset data = read_data_for(context, flags.data, loaded, flags.model);
  const std::size_t k = loaded.model->num_components();
  const std::vector<double> posterior = memberships(*loaded.model, data, context.threads);
  const RankingSet& rankings = data.rankings;

  std::vector<double> sizes(k, 0.0);
  double sure = 0.0;  // weight of the rankings with a membership above 0.9
  fmt::memory_buffer csv;
  const auto out = std::back_inserter(csv);
  fmt::format_to(out, "row,weight,label");
  for (std::size_t c = 0; c < k; ++c) fmt::format_to(out, ",p{}", c + 1);
  fmt::format_to(out, "\n");
  for (std::size_t row = 0; row < rankings.num_rows(); ++row) {
    const auto p = std::span(posterior).subspan(rankings.row_ranking(row) * k, k);
    const std::size_t label = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    sizes[label] += rankings.row_weight(row);
    if (p[label] > 0.9) sure += rankings.row_weight(row);
    fmt::format_to(out, "{},{},{}", row + 1, rankings.row_weight(row), label + 1);
    for (double value : p) fmt::format_to(out, ",{}", value);
    fmt::format_to(out, "\n");
  }
  if (!flags.out.empty()) write_file(flags.out, {csv.data(), csv.size()});

  const double total = rankings.total_weight();
  if (context.json) {
    print_json({{"num_rankings", json_count(total)}, {"sizes", sizes}, {"share_sure", total > 0.0 ? sure / total : 0.0}, {"out", flags.out}});
  } else if (flags.out.empty()) {
    print({csv.data(), csv.size()});
  } else {
    for (std::size_t c = 0; c < k; ++c) print(fmt::format("group {}: {} rankings ({:.1f} %)\n", c + 1, sizes[c], 100.0 * sizes[c] / total));
    print(fmt::format("{:.0f} % of them belong to their group with probability above 0.9\n", 100.0 * sure / total));
    note(context, fmt::format("Memberships written to {}", flags.out));
  }
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
  command->add_option("-o,--out", flags->out, "write row,weight,label,p1..pK for every ranking, in file order")->type_name("FILE");
  command->footer(examples({"caucus assign model.json votes.soi --out members.csv"}));
  command->callback([flags, &context] { run_assign(*flags, context); });
}

}  // namespace caucus::cli
