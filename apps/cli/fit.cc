#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "caucus/base/error.h"
#include "caucus/base/renamed_options.h"
#include "caucus/service/choose.h"
#include "caucus/service/families.h"
#include "caucus/service/reading.h"
#include "commands.h"
#include "report.h"
#include "run_flags.h"
#include "show.h"

namespace caucus::cli {

namespace {

struct FitFlags {
  DataFlags data;
  std::string family = families().front()->info().name;
  std::uint64_t seed = 1;
  double time_limit = 0.0;
  std::string out;
  ReportFlags report;
  JournalPlan checkpoint;
  // Values of the families' own options, by name; only those given on the command line are passed on.
  std::map<std::string, std::string> values;
};

bool is_switch(const OptionInfo& option) { return option.choices == std::vector<std::string>{"on", "off"}; }

// Every option of every family, once, with the families that have it and what each of them means by it.
struct SharedOption {
  std::vector<OptionInfo> infos;
  std::vector<std::string> families;

  bool same_everywhere() const {
    return std::ranges::all_of(infos, [&](const OptionInfo& info) {
      return info.default_value == infos[0].default_value && info.choices == infos[0].choices;
    });
  }
};

// Of one family alone where it is named.
std::vector<SharedOption> collect_options(std::string_view only = {}) {
  std::vector<SharedOption> collected;
  for (const auto& family : families()) {
    const FamilyInfo info = family->info();
    if (!only.empty() && info.name != only) continue;
    for (const OptionInfo& option : info.options) {
      auto found = std::ranges::find_if(collected, [&](const SharedOption& o) { return o.infos[0].name == option.name; });
      if (found == collected.end()) found = collected.insert(found, SharedOption{});
      found->infos.push_back(option);
      found->families.push_back(info.name);
    }
  }
  return collected;
}

std::string help_of(const SharedOption& option) {
  const OptionInfo& info = option.infos[0];
  if (!option.same_everywhere())
    return fmt::format("{} [each family has its own choices and default: 'caucus fit --family NAME --help']", info.help);
  std::string help = info.help;
  if (!info.choices.empty()) help += fmt::format(": {}", fmt::join(info.choices, "|"));
  return help + fmt::format(" [{}]", info.name == "components" ? "auto: chosen" : info.default_value);
}

// The family whose help is asked for: 'caucus fit --family dpm --help' shows its options alone. Nothing else.
std::string family_of_help(const std::vector<std::string>& arguments) {
  const auto has = [&](std::string_view word) { return std::ranges::find(arguments, word) != arguments.end(); };
  if (!has("--help") && !has("-h")) return {};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string name;
    if (arguments[i] == "--family" && i + 1 < arguments.size()) name = arguments[i + 1];
    if (arguments[i].starts_with("--family=")) name = arguments[i].substr(9);
    for (const auto& family : families())
      if (family->info().name == name) return name;
  }
  return {};
}

// The options of the family that stand on the command line. A switch without a value is on; an empty text is an empty text.
OptionMap given_options(const FitFlags& flags, const CLI::App& command) {
  const FamilyInfo info = find_family(flags.family).info();
  OptionMap options;
  for (const auto& [name, value] : flags.values) {
    if (command.count("--" + name) == 0) continue;
    const auto known = std::ranges::find_if(info.options, [&](const OptionInfo& option) { return option.name == name; });
    if (known == info.options.end()) {
      std::vector<std::string> own;
      for (const OptionInfo& option : info.options) own.push_back(option.name);
      if (const std::string_view now = renamed_option(name, own); !now.empty())
        throw UsageError(fmt::format("family {}: --{} is now called --{}", info.name, name, now));
      std::string having;
      for (const SharedOption& option : collect_options())
        if (option.infos[0].name == name) having = fmt::format("{}", fmt::join(option.families, ", "));
      throw UsageError(fmt::format("family {} has no option --{}; it belongs to {}", flags.family, name, having));
    }
    options[name] = value.empty() && is_switch(*known) ? "on" : value;
  }
  return options;
}

// Hands the file on to a family that has checkpoints of its own; it goes on from the file where there is one.
bool request_own_checkpoint(const FitFlags& flags, OptionMap& options) {
  if (!find_family(flags.family).info().has_option("checkpoint")) return false;
  options["checkpoint"] = flags.checkpoint.path;
  if (!flags.checkpoint.path.empty()) options["checkpoint-every"] = fmt::format("{:g}", flags.checkpoint.every);
  return true;
}

void run_fit(const FitFlags& flags, const CLI::App& command, Context& context) {
  const bool words = wants_text(context, {flags.out, flags.report.path});
  service::FitRequest request;
  request.family = flags.family;
  request.options = given_options(flags, command);
  request.paths = data_paths(flags.data);
  request.reading = read_options(flags.data);
  request.reading.rows_are_voters = request.options.contains("membership");
  check_checkpoint_flags(flags.checkpoint);
  // A family may keep the state of its chains itself.
  if (flags.checkpoint.path.empty() || !request_own_checkpoint(flags, request.options)) request.checkpoint = flags.checkpoint;
  request.keep_data = flags.report.wanted();  // a report shows the rankings again
  request.spool_folder = temporary_folder();
  const bool choose = service::settle_components(request);
  const bool several = request.options.contains("components") && request.options["components"] != "1";
  std::optional<std::string> no_groups;
  std::optional<InterruptGuard> guard;  // while rankings are read, Ctrl-C just ends the program
  request.on_data = [&](const Dataset& data) {
    print_warnings(context, data);
    if (several) no_groups = warn_no_groups(context, data);
    if (!guard) guard.emplace();
  };
  service::FitResult fitted;
  Selection selection;
  if (!choose && service::goes_by(request)) guard.emplace();
  {
    ProgressObserver observer(context);
    const Run run = make_run(context, flags.seed, flags.time_limit, observer);
    if (choose) {
      service::ChosenFit chosen = service::choose_and_fit(request, run);
      fitted = std::move(chosen.fit);
      selection = std::move(chosen.selection);
    } else {
      fitted = service::fit(request, run);
    }
  }
  guard.reset();
  if (!context.is_root()) return;
  if (no_groups) fitted.summary.warnings.insert(fitted.summary.warnings.begin(), *no_groups);
  const std::shared_ptr<const FittedModel> model = std::move(fitted.model);
  const auto text = [&](Record extra) {
    extra.set("reading", reading_record(request.reading, model->unranked()));
    if (choose) extra.set("selection", record_of(selection));
    if (!flags.report.names.empty()) extra.set("group_names", flags.report.names);
    return model_text(*model, &fitted.summary, fitted.data, {CAUCUS_VERSION, context.command_line}, extra);
  };
  if (!flags.out.empty()) write_file(flags.out, text({}));
  for (const std::string& message : fitted.summary.warnings) warning(context, message);
  if (flags.report.wanted()) {
    ReportRequest report;
    report.models.push_back(read_report_model(text({}), flags.out.empty() ? flags.family : flags.out));
    report.data = &*fitted.kept;
    write_report(context, std::move(report), flags.report);
  }
  if (context.json) {
    Record extra;
    if (!flags.out.empty()) extra.set("model", flags.out);
    print(text(extra));
  }
  if (words) {
    for (const std::string& sentence : selection.why) print(wrapped(sentence, 2) + "\n");
    print((selection.why.empty() ? "" : "\n") + show_fit(*model, fitted.summary, context, flags.report.names));
  }
  note_written(context, "Model", flags.out);
  if (fitted.summary.stop_reason == StopReason::interrupted) {
    note(context, "Interrupted: this is the best result so far.");
    context.exit_code = Exit::interrupted;
  }
}

}  // namespace

void add_fit(CLI::App& app, Context& context) {
  auto flags = std::make_shared<FitFlags>();
  CLI::App* command = app.add_subcommand("fit", "Fit a model to rankings");
  add_data_argument(*command, flags->data)->required();
  add_data_flags(*command, flags->data);
  std::vector<std::string> names;
  for (const auto& family : families()) names.push_back(family->info().name);
  command->add_option("--family", flags->family, "family of models: see 'caucus families'")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  add_run_flags(*command, *flags, context,
                {.time_limit = "stop after this many seconds with the best result so far", .out = "write the model to this file"});
  add_checkpoint_flags(*command, flags->checkpoint);
  const std::string only = family_of_help(context.arguments);
  for (const SharedOption& option : collect_options(only)) {
    const OptionInfo& info = option.infos[0];
    if (info.name.starts_with("checkpoint")) continue;  // above
    const bool everywhere = !only.empty() || option.families.size() == families().size();
    const std::string flag = info.name == "components" ? "-k,--components" : "--" + info.name;
    const std::string group = everywhere ? "Model" : fmt::format("Model ({})", fmt::join(option.families, ", "));
    CLI::Option* added = command->add_option(flag, flags->values[info.name], help_of(option))->group(group)->type_name("");
    if (is_switch(info)) added->expected(0, 1);
  }
  command->footer(examples({"caucus fit votes.soi                            as many groups as the ballots show",
                            "caucus fit votes.soi -k 3 --out model.json      three groups",
                            "caucus fit votes.soi -k 1                       one Plackett-Luce model: what all prefer",
                            "caucus fit races.soi --unranked absent          unlisted items took no part",
                            "caucus fit arena.csv --json                     pairwise battles, result as JSON"}));
  command->callback([flags, command, &context] { run_fit(*flags, *command, context); });
}

}  // namespace caucus::cli
