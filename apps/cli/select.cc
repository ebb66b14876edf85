
#include "caucus/service/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/service/compare.h"
#include "caucus/service/families.h"
#include "caucus/service/reading.h"
#include "commands.h"
#include "report.h"

namespace caucus::cli {

namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

OptionMap parse_settings(const std::vector<std::string>& settings) {
  OptionMap options;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos)
      throw UsageError(fmt::format("--set {}: expected NAME=VALUE, as in --set method=em-lsr", setting));
    options[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return options;
}

// A curve in text: one bar per row, longest for the best value.
std::string bar(double value, double worst, double best) {
  const double share = best == worst ? 1.0 : (value - worst) / (best - worst);
  std::string text;
  for (int i = 0; i < static_cast<int>(std::lround(share * 24.0)); ++i) text += "█";
  return text;
}

std::string show_selection(const Selection& selection, const Context& context) {
  const Style style(context.color_stdout());
  const bool heldout = selection.criterion == Criterion::cv || selection.criterion == Criterion::holdout;
  const auto value = [&](const SelectRow& row) {
    switch (selection.criterion) {
      case Criterion::ebic:
        return -row.ebic;
      case Criterion::bic:
        return -row.bic;
      case Criterion::aic:
        return -row.aic;
      case Criterion::icl:
        return -row.icl;
      default:
        return *row.heldout_mean;
    }
  };
  double best = -infinity, worst = infinity;
  for (const SelectRow& row : selection.table) best = std::max(best, value(row)), worst = std::min(worst, value(row));
  std::string text = fmt::format("{}   K  log-likelihood        EBIC         BIC         AIC         ICL{}   seconds{}\n",
                                 style.bold, heldout ? "   held out per ballot     behind the best" : "", style.reset);
  for (const SelectRow& row : selection.table) {
    const bool chosen = row.k == selection.chosen_k;
    text += fmt::format("{}{:>4}  {:>14.2f}  {:>10.1f}  {:>10.1f}  {:>10.1f}  {:>10.1f}", chosen ? style.bold : "", row.k,
                        row.loglik, row.ebic, row.bic, row.aic, row.icl);
    if (heldout)
      text += fmt::format("   {:>9.5f} ± {:<7.5f}  {:>8.5f} ± {:<7.5f}", *row.heldout_mean, *row.heldout_se, *row.behind_best,
                          *row.behind_se);
    text += fmt::format("  {:>8.3f}  {}{}{}{}\n", row.seconds, style.bar, bar(value(row), worst, best), style.reset,
                        chosen ? " <- chosen" : "");
  }
  return text +
         fmt::format("\n{} group{} by {}\n", selection.chosen_k, selection.chosen_k == 1 ? "" : "s", name_of(selection.criterion));
}

struct SelectFlags {
  DataFlags data;
  SelectRequest request;
  std::string candidates = "1..6", criterion, out;
  ReportFlags report;
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  double time_limit = 0.0;
};

Run make_run(const Context& context, std::uint64_t seed, double time_limit, Observer& observer) {
  Run run;
  run.seed = seed;
  run.threads = context.threads;
  run.observer = &observer;
  if (time_limit > 0.0) run.time_limit = time_limit;
  return run;
}

void run_select(SelectFlags& flags, Context& context) {
  flags.request.candidates = parse_candidates(flags.candidates);
  if (!flags.criterion.empty()) flags.request.criterion = *enum_from_name<Criterion>(flags.criterion);
  flags.request.options = parse_settings(flags.settings);
  const Dataset data = read_data(context, flags.data);
  Selection selection;
  {
    InterruptGuard guard;
    ProgressObserver observer(context);
    const Run run = make_run(context, flags.seed, flags.time_limit, observer);
    selection = select(data, flags.request, run);
  }
  Json table = Json::array();
  for (const SelectRow& row : selection.table)
    table.push_back({{"k", row.k},
                     {"loglik", row.loglik},
                     {"ebic", row.ebic},
                     {"bic", row.bic},
                     {"aic", row.aic},
                     {"icl", row.icl},
                     {"heldout_mean", number_or_null(row.heldout_mean)},
                     {"heldout_se", number_or_null(row.heldout_se)},
                     {"behind_best", number_or_null(row.behind_best)},
                     {"behind_se", number_or_null(row.behind_se)},
                     {"seconds", row.seconds}});
  Json selected = {{"criterion", name_of(selection.criterion)}, {"chosen_k", selection.chosen_k}, {"table", table}};
  if (!selection.unfinished.empty()) selected["unfinished"] = selection.unfinished;

  Json model = Json::parse(model_text(*selection.chosen.model, &selection.chosen.summary, facts_of(data),
                                      {CAUCUS_VERSION, context.command_line},
                                      Record().set("reading", reading_record(read_options(flags.data), data.unranked))));
  model["selection"] = selected;
  if (!flags.out.empty()) write_file(flags.out, model.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  for (const std::string& text : selection.chosen.summary.warnings) warning(context, text);
  if (flags.report.wanted()) {
    ReportRequest request;
    request.models.push_back(read_report_model(model.dump(-1, ' ', false, Json::error_handler_t::replace),
                                               flags.out.empty() ? flags.request.family : flags.out));
    request.data = &data;
    write_report(context, std::move(request), flags.report);
  }
  if (context.json) {
    selected["model"] = flags.out.empty() ? Json(nullptr) : Json(flags.out);
    print_json(selected);
  } else {
    print(show_selection(selection, context));
    if (!flags.out.empty()) note(context, fmt::format("Model written to {}", flags.out));
  }
  if (!selection.interrupted && flags.request.candidates.size() > 1 && selection.chosen_k == flags.request.candidates.back())
    note(context, fmt::format("{} groups are the most that were tried: try more, as in -k 1..{}", selection.chosen_k,
                              2 * selection.chosen_k));
  if (selection.interrupted) {
    note(context, "Interrupted: the table holds the fits that were done.");
    context.exit_code = Exit::interrupted;
  } else if (!selection.unfinished.empty()) {
    warning(context,
            fmt::format("the time limit of {:g} s came before K = {} {} done; the choice is among the others", flags.time_limit,
                        fmt::join(selection.unfinished, ", "), selection.unfinished.size() == 1 ? "was" : "were"));
    context.exit_code = Exit::unfinished;
  }
}

// The peak resident memory of this process, which Linux lets a process reset.
void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }
double peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024.0 * std::strtod(line.c_str() + 6, nullptr);
  return 0.0;
}

std::vector<std::string> default_contenders() {
  std::vector<std::string> names;
  for (const auto& family : families())
    if (const FamilyInfo info = family->info(); info.compared_by_default) names.push_back(info.name);
  return names;
}

struct CompareFlags {
  DataFlags data;
  std::vector<std::string> contenders = default_contenders();
  std::string candidates = "1..4", out;
  ReportFlags report;
  CompareRequest request;
  std::uint64_t seed = 1;
  double time_limit = 0.0;
};

std::string show_comparison(const Comparison& comparison, const Context& context) {
  const Style style(context.color_stdout());
  std::size_t width = 8;
  for (const CompareRow& row : comparison.table) width = std::max(width, display_width(row.label));
  std::string text = fmt::format("{}{}   held out per ballot       behind the best         groups   seconds   memory{}\n",
                                 style.bold, fit_width("family", width), style.reset);
  for (const CompareRow& row : comparison.table) {
    if (row.refused)
      text += fmt::format("{}   {}left out: {}{}\n", fit_width(row.label, width), style.dim, printable(*row.refused), style.reset);
    else
      text += fmt::format("{}   {:>10.5f} ± {:<8.5f}  {:>9.5f} ± {:<8.5f}  {:>8.1f}  {:>8.2f}  {:>4.0f} MB\n",
                          fit_width(row.label, width), row.heldout_mean, row.heldout_se, row.behind_best.mean,
                          row.behind_best.standard_error, row.groups, row.seconds, row.peak_bytes.value_or(0.0) / 1e6);
  }
  if (!comparison.note.empty()) text += "\n" + comparison.note + "\n";
  return text + fmt::format("\n{}Mean log-probability of a ballot the model has not seen, ± standard error; higher is better.{}\n",
                            style.dim, style.reset);
}

void run_compare(CompareFlags& flags, Context& context) {
  for (const std::string& text : flags.contenders) flags.request.contenders.push_back(parse_contender(text));
  flags.request.candidates = parse_candidates(flags.candidates);
  flags.request.reset_peak_memory = reset_peak_memory;
  flags.request.peak_memory_bytes = peak_memory_bytes;
  const Dataset data = read_data(context, flags.data);
  Comparison comparison;
  {
    InterruptGuard guard;
    ProgressObserver observer(context);
    comparison = compare(data, flags.request, make_run(context, flags.seed, flags.time_limit, observer));
  }
  Json table = Json::array();
  for (const CompareRow& row : comparison.table) {
    Json one = {{"label", row.label}, {"family", row.family}};
    if (row.refused) {
      one["refused"] = *row.refused;
    } else {
      one["heldout_mean"] = row.heldout_mean;
      one["heldout_se"] = row.heldout_se;
      one["behind_best"] = row.behind_best.mean;
      one["behind_se"] = row.behind_best.standard_error;
      one["groups"] = row.groups;
    }
    one["seconds"] = row.seconds;
    one["peak_bytes"] = number_or_null(row.peak_bytes);
    table.push_back(one);
  }
  Json json = {{"schema", "caucus.compare/1"},
               {"folds", flags.request.folds},
               {"seed", flags.seed},
               {"num_rankings", json_count(data.rankings.total_weight())},
               {"table", table},
               {"note", comparison.note},
               {"data", {{"digest", digest(data)}, {"source", data.source}}}};
  if (!flags.out.empty()) write_file(flags.out, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (flags.report.wanted()) {
    ReportRequest request;
    request.comparison = nlohmann::json(json);
    request.data = &data;
    write_report(context, std::move(request), flags.report);
  }
  if (context.json)
    print_json(json);
  else
    print(show_comparison(comparison, context));
  if (comparison.interrupted)
    context.exit_code = Exit::interrupted;
  else if (std::ranges::any_of(comparison.table, &CompareRow::unfinished))
    context.exit_code = Exit::unfinished;
}

}  // namespace

void add_select(CLI::App& app, Context& context) {
  auto flags = std::make_shared<SelectFlags>();
  CLI::App* command = app.add_subcommand("select", "How many groups: fit over K and choose");
  add_data_argument(*command, flags->data)->required();
  add_data_flags(*command, flags->data);
  command->add_option("--family", flags->request.family, "family of models")->capture_default_str();
  command->add_option("-k,--components", flags->candidates, "numbers of groups to try: 1..8 or 1,2,4")->capture_default_str();
  command
      ->add_option(
          "--criterion", flags->criterion,
          "ebic (BIC that also counts consensus rankings; the default where a family does not name another), bic, aic, icl, cv "
          "(cross-validation) or holdout")
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<Criterion>.begin(), enum_names<Criterion>.end())));
  command->add_option("--folds", flags->request.folds, "folds of cv")->check(CLI::Range(2, 100))->capture_default_str();
  command->add_option("--holdout", flags->request.holdout, "share of the ballots held out")
      ->check(CLI::Range(0.01, 0.9))
      ->capture_default_str();
  command->add_flag("--one-se", flags->request.one_standard_error,
                    "cv, holdout: the smallest K within one standard error of the best");
  command->add_option("--set", flags->settings, "an option of the family, as in --set method=em-lsr")->type_name("NAME=VALUE");
  command->add_option("--seed", flags->seed, "seed of folds and starts")->capture_default_str();
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("--time-limit", flags->time_limit, "stop after this many seconds with what is done")
      ->check(CLI::NonNegativeNumber);
  command->add_option("-o,--out", flags->out, "write the chosen model to this file")->type_name("FILE");
  add_report_flag(*command, flags->report);
  command->add_flag("--json", context.json, "print the result as one JSON object");
  command->footer(
      examples({"caucus select votes.soi -k 1..6 --out model.json", "caucus select votes.soi --criterion cv --one-se"}));
  command->callback([flags, &context] { run_select(*flags, context); });
}

void add_compare(CLI::App& app, Context& context) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* command = app.add_subcommand("compare", "Which family of models: held-out likelihood on the same folds");
  add_data_argument(*command, flags->data)->required();
  add_data_flags(*command, flags->data);
  command
      ->add_option(
          "--families", flags->contenders,
          "families, each with a number or range of groups and options if you like: pl:1..8,mallows:3,\"pl:k=2;method=emm\"")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("-k,--components", flags->candidates,
                   "numbers of groups to choose from on each training part, by EBIC (m4: cross-validation); pl:1..8 for one family")
      ->capture_default_str();
  command->add_option("--folds", flags->request.folds, "folds of the cross-validation")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "seed of folds and starts")->capture_default_str();
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("--time-limit", flags->time_limit, "stop after this many seconds with what is done")
      ->check(CLI::NonNegativeNumber);
  command->add_option("-o,--out", flags->out, "write the table as JSON to this file")->type_name("FILE");
  add_report_flag(*command, flags->report);
  command->add_flag("--json", context.json, "print the result as one JSON object");
  command->footer(examples({"caucus compare votes.soi", "caucus compare votes.soi --families pl:2,pl:3,mallows:3 --folds 10"}));
  command->callback([flags, &context] { run_compare(*flags, context); });
}

}  // namespace caucus::cli
