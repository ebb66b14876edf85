#include <fmt/format.h>

#include <cmath>

#include "caucus/data/weights.h"
#include "caucus/evaluate/goodness.h"
#include "caucus/service/refit.h"
#include "commands.h"

namespace caucus::cli {

namespace {

// How many ballots were compared, and why not all.
std::string ballots_used(const Goodness& goodness, const Dataset& data) {
  const double all = std::round(effective_size(data.rankings));
  if (static_cast<double>(goodness.num_ballots) >= all) return fmt::format("All {} ballots", goodness.num_ballots);
  return fmt::format("{} of {} ballots, drawn at random to save time (--max-ballots {:.0f} takes all),", goodness.num_ballots, all,
                     std::ceil(all));
}

// Which kind of p-values these are, and how to take them.
std::string kind_of_p(const Goodness& goodness) {
  return goodness.refitted
             ? "The model was fitted anew to these ballots and to each simulated data set, so p can be taken at its word: where a "
               "model of this kind is true, p is at most 0.05 in one case of 20. It judges the family and the number of groups, "
               "not "
               "the numbers in the model file."
             : "The simulated data sets were not fitted again. If the model was fitted to these ballots it has adapted to them, "
               "and p "
               "errs towards \"no sign of misfit\": a small p counts, a large one says little. Ballots that the fit has not seen "
               "give p-values to be taken at their word, and so does --refit.";
}

nlohmann::ordered_json json_of(const Goodness& goodness, const Dataset& data) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const GoodnessCheck& check : goodness.checks) {
    nlohmann::ordered_json worst = nlohmann::ordered_json::array();
    for (const Discrepancy& one : check.worst)
      worst.push_back({{"what", one.what}, {"observed", one.observed}, {"expected", one.expected}, {"z", one.z}});
    checks.push_back({{"name", check.name}, {"statistic", check.statistic}, {"p_value", check.p_value}, {"worst", worst}});
  }
  return {{"num_ballots", goodness.num_ballots}, {"num_rankings", json_count(data.rankings.total_weight())},
          {"replicates", goodness.replicates},   {"refitted", goodness.refitted},
          {"note", kind_of_p(goodness)},         {"checks", checks}};
}

std::string text_of(const Goodness& goodness, const Dataset& data, const Style& style) {
  std::string text = wrapped(fmt::format("{} against {} data sets simulated from the model{}", ballots_used(goodness, data),
                                         goodness.replicates, goodness.refitted ? ", the model fitted anew to each" : "")) +
                     "\n";
  for (const GoodnessCheck& check : goodness.checks) {
    const bool fits = check.p_value > 0.05;
    text += fmt::format("\n{}{}{}: p = {:.3f}, {}{}{}\n", style.bold, check.name, style.reset, check.p_value,
                        fits ? "" : style.warn, fits ? "no sign of misfit" : "the model does not account for them", style.reset);
    if (fits) continue;
    for (const Discrepancy& one : check.worst)
      text += wrapped(fmt::format("  {}: {:.0f}, expected {:.0f} ({:+.1f} standard deviations)", printable(one.what), one.observed,
                                  one.expected, one.z),
                      4) +
              "\n";
  }
  return text + "\n" + wrapped(kind_of_p(goodness)) + "\n";
}

struct CheckFlags {
  std::string model;
  DataFlags data;
  GoodnessOptions options;
  bool refit = false;
  double time_limit = 0.0;
};

void run_check(const CheckFlags& flags, Context& context) {
  const LoadedModel loaded = load_model(flags.model);
  const Dataset data = read_data_for(context, flags.data, loaded, flags.model);
  Goodness goodness;
  {
    const InterruptGuard guard;
    ProgressObserver observer(context);
    Run run;
    run.observer = &observer;
    if (flags.time_limit > 0.0) run.time_limit = flags.time_limit;
    GoodnessOptions options = flags.options;
    options.threads = context.threads;
    options.run = &run;
    goodness = flags.refit ? goodness_of_fit_refitted(*loaded.model, service::refitter(loaded, run), data, options)
                           : goodness_of_fit(*loaded.model, data, options);
  }
  if (goodness.checks.empty()) {
    const char* done = goodness.stop_reason == StopReason::interrupted ? "interrupted" : "the time limit ended it";
    error(context,
          fmt::format(
              "{} after {} simulated data sets, and with fewer than {} no p-value can be as small as 0.05: allow more time{}", done,
              goodness.replicates, fewest_replicates, flags.refit ? ", or compare fewer ballots (--max-ballots 1000)" : ""));
    context.exit_code = goodness.stop_reason == StopReason::interrupted ? Exit::interrupted : Exit::unfinished;
    return;
  }
  if (goodness.replicates < flags.options.replicates)
    warning(context, fmt::format("{} of the {} simulated data sets were done in the time there was", goodness.replicates,
                                 flags.options.replicates));
  if (context.json)
    print_json(json_of(goodness, data));
  else
    print(text_of(goodness, data, Style(context.color_stdout())));
  if (goodness.stop_reason == StopReason::interrupted) context.exit_code = Exit::interrupted;
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app.add_subcommand("check", "Does a model fit the data: first places, pairs, ballot lengths");
  command->add_option("model", flags->model, "model file")->required()->type_name("MODEL");
  add_data_argument(*command, flags->data)->required();
  add_data_flags(*command, flags->data);
  command->add_flag("--refit", flags->refit,
                    "fit the model anew to each simulated data set: p-values that can be taken at their word, for the time of so "
                    "many fits");
  command->add_option("--replicates", flags->options.replicates, "simulated data sets")
      ->check(CLI::Range(fewest_replicates, 100000))
      ->capture_default_str();
  command->add_option("--max-ballots", flags->options.max_ballots, "compare at most this many ballots, drawn at random")
      ->capture_default_str();
  command->add_option("--seed", flags->options.seed, "seed of the simulations")->capture_default_str();
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("--time-limit", flags->time_limit, "stop after this many seconds with the simulated data sets done by then")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", context.json, "print the result as one JSON object");
  command->footer(examples({"caucus check model.json votes.soi",
                            "caucus check model.json votes.soi --refit       where the model was fitted to these ballots"}));
  command->callback([flags, &context] { run_check(*flags, context); });
}

}  // namespace caucus::cli
