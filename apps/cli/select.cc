
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
#include "run_flags.h"

namespace caucus::cli {

namespace {

using Json = nlohmann::ordered_json;

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

// What the table has beside K: by the criterion, so that it fits a terminal.
std::string table_head(Criterion criterion) {
  if (criterion == Criterion::halves) return "   K  unseen ballot      gain ± error      same groups  smallest";
  if (is_heldout(criterion)) return "   K  log-likelihood       unseen ballot       behind the best";
  return "   K  log-likelihood       EBIC        BIC        AIC        ICL";
}

std::string table_cells(const SelectRow& row, Criterion criterion) {
  if (criterion == Criterion::halves)
    return fmt::format(
        "{:>4}  {:>13.4f}  {:>18}  {:>11.2f}  {:>7.1f}%", row.k, *row.heldout_mean,
        row.ahead.empty() ? "" : fmt::format("{:+.4f} ± {:.4f}", row.ahead.back().mean, row.ahead.back().standard_error),
        row.replication->weakest, 100.0 * row.shares.back());
  if (is_heldout(criterion))
    return fmt::format("{:>4}  {:>14.2f}  {:>9.4f} ± {:<6.4f}  {:>9.4f} ± {:<6.4f}", row.k, row.loglik, *row.heldout_mean,
                       *row.heldout_se, *row.behind_best, *row.behind_se);
  return fmt::format("{:>4}  {:>14.2f}  {:>9.1f}  {:>9.1f}  {:>9.1f}  {:>9.1f}", row.k, row.loglik, row.ebic, row.bic, row.aic,
                     row.icl);
}

// By the halves, where there was something to choose: one group fitted for want of ballots has no halves.
Criterion shown_by(const Selection& selection) {
  const bool judged = std::ranges::all_of(selection.table, [](const SelectRow& row) { return row.heldout_mean.has_value(); });
  return judged ? selection.criterion : Criterion::ebic;
}

std::string show_selection(const Selection& selection, const Context& context) {
  const Style style(context.color_stdout());
  const Criterion criterion = shown_by(selection);
  std::string text = fmt::format("{}{}{}\n", style.bold, table_head(criterion), style.reset);
  for (const SelectRow& row : selection.table) {
    const bool chosen = row.k == selection.chosen_k;
    text += fmt::format("{}{}{}{}\n", chosen ? style.bold : "", table_cells(row, criterion), chosen ? "  <- chosen" : "",
                        chosen ? style.reset : "");
  }
  text += "\n";
  for (const std::string& sentence : selection.why) text += wrapped(sentence, 2) + "\n";
  if (criterion == Criterion::halves)
    text += fmt::format(
        "\n{}{}{}\n", style.dim,
        wrapped("Columns: mean log-probability of a ballot of the half the model has not seen; gain over the row before; "
                "agreement of the halves on their groups, 1 is the same; share of the smallest group."),
        style.reset);
  return text;
}

struct SelectFlags {
  DataFlags data;
  SelectRequest request;
  std::string candidates = "auto", criterion = "halves", out;
  ReportFlags report;
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  double time_limit = 0.0;
};

void run_select(SelectFlags& flags, Context& context) {
  const bool text = wants_text(context, {flags.out, flags.report.path});
  check_checkpoint_flags(flags.request.checkpoint);
  flags.request.candidates = parse_candidates(flags.candidates);
  flags.request.criterion = *enum_from_name<Criterion>(flags.criterion);
  flags.request.options = parse_settings(flags.settings);
  flags.data.options.rows_are_voters = flags.request.options.contains("membership");
  const Dataset data = read_data(context, flags.data);
  const std::optional<std::string> no_groups = warn_no_groups(context, data);
  Selection selection;
  {
    InterruptGuard guard;
    ProgressObserver observer(context);
    const Run run = make_run(context, flags.seed, flags.time_limit, observer);
    selection = select(data, flags.request, run);
    if (no_groups && selection.chosen_k > 1)
      selection.chosen.summary.warnings.insert(selection.chosen.summary.warnings.begin(), *no_groups);
  }
  if (!context.is_root()) return;
  const Record selected_record = record_of(selection);
  const std::string model = model_text(
      *selection.chosen.model, &selection.chosen.summary, facts_of(data), {CAUCUS_VERSION, context.command_line},
      Record().set("selection", selected_record).set("reading", reading_record(read_options(flags.data), data.unranked)));
  if (!flags.out.empty()) write_file(flags.out, model);
  for (const std::string& one : selection.chosen.summary.warnings) warning(context, one);
  if (flags.report.wanted()) {
    ReportRequest request;
    request.models.push_back(read_report_model(model, flags.out.empty() ? flags.request.family : flags.out));
    request.data = &data;
    write_report(context, std::move(request), flags.report);
  }
  if (context.json) {
    Json selected = Json::parse(selected_record.text());
    selected["model"] = flags.out.empty() ? Json(nullptr) : Json(flags.out);
    selected["fitted"] = Json::parse(model);
    selected["fitted"].erase("selection");
    print_json(selected);
  }
  if (text) print(show_selection(selection, context));
  note_written(context, "Model", flags.out);
  if (!selection.interrupted && flags.request.candidates.size() > 1 && selection.chosen_k == flags.request.candidates.back())
    note(context, fmt::format("{} groups are the most that were tried: -k auto goes on as long as it pays", selection.chosen_k));
  if (selection.interrupted) {
    note(context, "Interrupted: the table holds the fits that were done.");
    context.exit_code = Exit::interrupted;
  } else if (selection.out_of_time) {
    const std::string left = fmt::format("{}", fmt::join(selection.unfinished, ", "));
    warning(context, fmt::format("the time limit of {:g} s came before {} was done; the choice is among the others",
                                 flags.time_limit, left.empty() ? "the next number of groups" : "K = " + left));
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
  for (const CompareRow& row : comparison.table) width = std::max(width, std::min<std::size_t>(19, display_width(row.label)));
  std::string text = fmt::format("{}{}  {:>17}  {:>16}  {:>6}  {:>7}  {:>5}{}\n", style.bold, fit_width("family", width),
                                 "unseen ballot", "behind the best", "groups", "seconds", "MB", style.reset);
  for (const CompareRow& row : comparison.table) {
    if (row.refused)
      text += wrapped(fmt::format("{}  left out: {}", fit_width(row.label, width), printable(*row.refused)), width + 2) + "\n";
    else
      text += fmt::format("{}  {:>8.4f} ± {:.4f}  {:>7.4f} ± {:.4f}  {:>6.1f}  {:>7.1f}  {:>5.0f}\n", fit_width(row.label, width),
                          row.heldout_mean, row.heldout_se, row.behind_best.mean, row.behind_best.standard_error, row.groups,
                          row.seconds, row.peak_bytes.value_or(0.0) / 1e6);
  }
  if (!comparison.note.empty()) text += "\n" + wrapped(comparison.note) + "\n";
  return text + fmt::format("\n{}{}{}\n", style.dim,
                            wrapped("Mean log-probability of a ballot the model has not seen, ± standard error; higher is better."),
                            style.reset);
}

void run_compare(CompareFlags& flags, Context& context) {
  const bool text = wants_text(context, {flags.out, flags.report.path});
  for (const std::string& one : flags.contenders) flags.request.contenders.push_back(parse_contender(one));
  check_checkpoint_flags(flags.request.checkpoint);
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
  if (!context.is_root()) return;
  const std::string written = comparison_text(comparison);
  if (!flags.out.empty()) write_file(flags.out, written);
  if (flags.report.wanted()) {
    ReportRequest request;
    request.comparison = comparison;
    request.data = &data;
    write_report(context, std::move(request), flags.report);
  }
  if (context.json) print_json(Json::parse(written));
  if (text) print(show_comparison(comparison, context));
  note_written(context, "Table", flags.out);
  if (comparison.interrupted)
    context.exit_code = Exit::interrupted;
  else if (std::ranges::any_of(comparison.table, &CompareRow::unfinished))
    context.exit_code = Exit::unfinished;
}

}  // namespace

namespace {

RunFlagTexts search_texts(std::string out) {
  return {"seed of folds and starts", "number of threads, 0 for all cores", "stop after this many seconds with what is done",
          std::move(out)};
}

}  // namespace

void add_select(CLI::App& app, Context& context) {
  auto flags = std::make_shared<SelectFlags>();
  flags->request.family = families().front()->info().name;
  CLI::App* command = app.add_subcommand("select", "How many groups: fit over K and choose");
  add_data_argument(*command, flags->data)->required();
  add_data_flags(*command, flags->data);
  command->add_option("--family", flags->request.family, "family of models")->capture_default_str();
  command
      ->add_option("-k,--components", flags->candidates,
                   "numbers of groups to try: 1..8 or 1,2,4; auto: 1, 2, ... as long as the criterion asks for more")
      ->capture_default_str();
  command
      ->add_option(
          "--criterion", flags->criterion,
          "halves (groups that predict the other half of the ballots and come back there), ebic (BIC that also counts consensus "
          "rankings), bic, aic, icl, cv (cross-validation) or holdout")
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<Criterion>.begin(), enum_names<Criterion>.end())))
      ->capture_default_str();
  command->add_option("--folds", flags->request.folds, "folds of cv")->check(CLI::Range(2, 100))->capture_default_str();
  command->add_option("--holdout", flags->request.holdout, "share of the ballots held out")
      ->check(CLI::Range(0.01, 0.9))
      ->capture_default_str();
  command->add_flag("--one-se", flags->request.one_standard_error,
                    "cv, holdout: the smallest K within one standard error of the best");
  command->add_option("--set", flags->settings, "an option of the family, as in --set method=em-lsr")->type_name("NAME=VALUE");
  add_run_flags(*command, *flags, context, search_texts("write the chosen model to this file"));
  add_checkpoint_flags(*command, flags->request.checkpoint);
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
  add_run_flags(*command, *flags, context, search_texts("write the table as JSON to this file"));
  add_checkpoint_flags(*command, flags->request.checkpoint);
  command->footer(examples({"caucus compare votes.soi", "caucus compare votes.soi --families pl:2,pl:3,mallows:3 --folds 10"}));
  command->callback([flags, &context] { run_compare(*flags, context); });
}

}  // namespace caucus::cli
