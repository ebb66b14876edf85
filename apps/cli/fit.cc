#include <fmt/format.h>

#include <set>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/base/renamed_options.h"
#include "caucus/service/families.h"
#include "commands.h"
#include "report.h"

namespace caucus::cli {

namespace {

struct FitFlags {
  DataFlags data;
  std::string family = "pl";
  std::uint64_t seed = 1;
  double time_limit = 0.0;
  std::string out, report;
  // Values of the families' own options, by name; only those given on the command line are passed on.
  std::map<std::string, std::string> values;
};

// Every option of every family, once, with the families that have it.
struct SharedOption {
  OptionInfo info;
  std::vector<std::string> families;
};

std::vector<SharedOption> collect_options() {
  std::vector<SharedOption> collected;
  for (const auto& family : families()) {
    const FamilyInfo info = family->info();
    for (const OptionInfo& option : info.options) {
      const auto found =
          std::find_if(collected.begin(), collected.end(), [&](const SharedOption& o) { return o.info.name == option.name; });
      if (found == collected.end())
        collected.push_back({option, {info.name}});
      else
        found->families.push_back(info.name);
    }
  }
  return collected;
}

void run_fit(const FitFlags& flags, const CLI::App& command, Context& context) {
  const Family& family = find_family(flags.family);
  const FamilyInfo info = family.info();

  OptionMap options;
  for (const auto& [name, value] : flags.values) {
    if (command.count("--" + name) == 0) continue;
    const bool known = std::any_of(info.options.begin(), info.options.end(), [&](const OptionInfo& o) { return o.name == name; });
    if (!known) {
      std::vector<std::string> own;
      for (const OptionInfo& option : info.options) own.push_back(option.name);
      if (const std::string_view now = renamed_option(name, own); !now.empty())
        throw UsageError(fmt::format("family {}: --{} is now called --{}", flags.family, name, now));
      std::string having;
      for (const SharedOption& option : collect_options())
        if (option.info.name == name) having = fmt::format("{}", fmt::join(option.families, ", "));
      throw UsageError(fmt::format("family {} has no option --{}; it belongs to {}", flags.family, name, having));
    }
    options[name] = value.empty() ? "on" : value;
  }

  Dataset data;
  FitOutcome outcome;
  nlohmann::ordered_json model;
  const auto fit = [&](auto&& how) {
    ProgressObserver observer(context);
    Run run;
    run.seed = flags.seed;
    run.threads = context.threads;
    run.observer = &observer;
    if (flags.time_limit > 0.0) run.time_limit = flags.time_limit;
    outcome = how(run);
    outcome.summary.seconds = run.seconds();
    outcome.summary.seed = run.seed;
    outcome.summary.threads = resolve_threads(run.threads);
  };
  // A report shows the rankings again.
  if (flags.report.empty() && family.takes_stream(options)) {
    RankingStream rankings = open_stream(flags.data);
    fit([&](const Run& run) { return family.fit_stream(rankings, options, run); });
    print_warnings(context, rankings.head());
    model = model_to_json(outcome, rankings.digest(), rankings.head().source, {CAUCUS_VERSION, context.command_line});
  } else {
    data = read_data(context, flags.data);
    InterruptGuard guard;
    fit([&](const Run& run) { return family.fit(data, options, run); });
    model = model_to_json(outcome, data, {CAUCUS_VERSION, context.command_line});
  }
  if (!flags.out.empty()) write_file(flags.out, model.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  for (const std::string& text : outcome.summary.warnings) warning(context, text);
  const auto write = [&] {
    ReportRequest request;
    request.models.push_back({flags.out.empty() ? flags.family : flags.out, nlohmann::json(model), std::move(outcome.model)});
    request.data = &data;
    write_report(context, std::move(request), flags.report);
    note(context, fmt::format("Report written to {}", flags.report));
  };
  if (!flags.report.empty()) write();
  if (context.json) {
    model.erase("components");
    if (!flags.out.empty()) model["model"] = flags.out;
    print_json(model);
  } else {
    print(show_fit(model, context));
    if (!flags.out.empty()) note(context, fmt::format("Model written to {}", flags.out));
  }
  if (outcome.summary.stop_reason == StopReason::interrupted) {
    note(context, "Interrupted: this is the best result so far.");
    context.exit_code = Exit::interrupted;
  }
}

}  // namespace

void add_fit(CLI::App& app, Context& context) {
  auto flags = std::make_shared<FitFlags>();
  CLI::App* command = app.add_subcommand("fit", "Fit a model to rankings");
  command->add_option("data", flags->data.path, "ranking file, or - for standard input")->required()->type_name("DATA");
  add_data_flags(*command, flags->data);
  std::vector<std::string> names;
  for (const auto& family : families()) names.push_back(family->info().name);
  command->add_option("--family", flags->family, "family of models: see 'caucus families'")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "seed of all random numbers; same seed, same result")->capture_default_str();
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores; the result does not depend on it")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("--time-limit", flags->time_limit, "stop after this many seconds with the best result so far")
      ->check(CLI::NonNegativeNumber);
  command->add_option("-o,--out", flags->out, "write the model to this file")->type_name("FILE");
  add_report_flag(*command, flags->report);
  command->add_flag("--json", context.json, "print the result as one JSON object");
  for (const SharedOption& option : collect_options()) {
    const bool everywhere = option.families.size() == families().size();
    const std::string flag = option.info.name == "components" ? "-k,--components" : "--" + option.info.name;
    const std::string group = everywhere ? "Model" : fmt::format("Model ({})", fmt::join(option.families, ", "));
    std::string help = option.info.help;
    if (!option.info.choices.empty()) help += fmt::format(": {}", fmt::join(option.info.choices, "|"));
    help += fmt::format(" [{}]", option.info.default_value);
    CLI::Option* added = command->add_option(flag, flags->values[option.info.name], help)->group(group)->type_name("");
    const bool is_switch = option.info.choices == std::vector<std::string>{"on", "off"};
    if (is_switch) added->expected(0, 1);
  }
  command->footer(examples({"caucus fit votes.soi                            one Plackett-Luce model: what all prefer",
                            "caucus fit votes.soi -k 3 --out model.json      three groups",
                            "caucus fit races.soi --unranked absent          unlisted items took no part",
                            "caucus fit arena.csv --json                     pairwise battles, result as JSON"}));
  command->callback([flags, command, &context] { run_fit(*flags, *command, context); });
}

}  // namespace caucus::cli
