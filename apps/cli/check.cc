#include <fmt/format.h>

#include <cmath>

#include "caucus/evaluate/goodness.h"
#include "commands.h"

namespace caucus::cli {

namespace {

// How many ballots were compared, and why not all.
std::string ballots_used(const Goodness& goodness, const Dataset& data) {
  const double all = data.rankings.total_weight();
  if (static_cast<double>(goodness.num_ballots) >= all) return fmt::format("All {} ballots", goodness.num_ballots);
  return fmt::format("{} of {} ballots, drawn at random to save time (--max-ballots {:.0f} takes all),", goodness.num_ballots, all,
                     std::ceil(all));
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  struct Flags {
    std::string model;
    DataFlags data;
    GoodnessOptions options;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("check", "Does a model fit the data: first places, pairs, ballot lengths");
  command->add_option("model", flags->model, "model file")->required()->type_name("MODEL");
  add_data_argument(*command, flags->data)->required();
  add_data_flags(*command, flags->data);
  command->add_option("--replicates", flags->options.replicates, "simulated data sets")
      ->check(CLI::Range(19, 100000))
      ->capture_default_str();
  command->add_option("--max-ballots", flags->options.max_ballots, "compare at most this many ballots, drawn at random")
      ->capture_default_str();
  command->add_option("--seed", flags->options.seed, "seed of the simulations")->capture_default_str();
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_flag("--json", context.json, "print the result as one JSON object");
  command->footer(examples({"caucus check model.json votes.soi"}));
  command->callback([flags, &context] {
    const LoadedModel loaded = load_model(flags->model);
    const Dataset data = read_data_for(context, flags->data, loaded, flags->model);
    flags->options.threads = context.threads;
    const Goodness goodness = goodness_of_fit(*loaded.model, data, flags->options);
    if (context.json) {
      nlohmann::ordered_json checks = nlohmann::ordered_json::array();
      for (const GoodnessCheck& check : goodness.checks) {
        nlohmann::ordered_json worst = nlohmann::ordered_json::array();
        for (const Discrepancy& one : check.worst)
          worst.push_back({{"what", one.what}, {"observed", one.observed}, {"expected", one.expected}, {"z", one.z}});
        checks.push_back({{"name", check.name}, {"statistic", check.statistic}, {"p_value", check.p_value}, {"worst", worst}});
      }
      print_json({{"num_ballots", goodness.num_ballots},
                  {"num_rankings", json_count(data.rankings.total_weight())},
                  {"replicates", goodness.replicates},
                  {"checks", checks}});
      return;
    }
    const Style style(context.color_stdout());
    std::string text = wrapped(fmt::format("{} against {} data sets simulated from the model", ballots_used(goodness, data),
                                           goodness.replicates)) +
                       "\n";
    for (const GoodnessCheck& check : goodness.checks) {
      const bool fits = check.p_value > 0.05;
      text += fmt::format("\n{}{}{}: p = {:.3f}, {}{}{}\n", style.bold, check.name, style.reset, check.p_value,
                          fits ? "" : style.warn, fits ? "no sign of misfit" : "the model does not account for them", style.reset);
      if (!fits)
        for (const Discrepancy& one : check.worst)
          text += wrapped(fmt::format("  {}: {:.0f}, expected {:.0f} ({:+.1f} standard deviations)", printable(one.what),
                                      one.observed, one.expected, one.z),
                          4) +
                  "\n";
    }
    text +=
        "\n" +
        wrapped(
            "If the model was fitted to these ballots it has adapted to them, and p errs towards \"no sign of misfit\": a small p "
            "counts, a large one says little. Ballots that the fit has not seen give p-values to be taken at their word.") +
        "\n";
    print(text);
  });
}

}  // namespace caucus::cli
