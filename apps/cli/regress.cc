// 'caucus regress': what the covariates say about classes or ballots.
#include "caucus/service/regress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "caucus/base/error.h"
#include "report.h"
#include "run_flags.h"

namespace caucus::cli {

namespace {

using pl_regression::Fitted;
using pl_regression::is_sampler;
using pl_regression::Method;

struct RegressFlags {
  DataFlags data;
  std::string target, missing = "error", out, path, path_grid;
  ReportFlags report;
  std::vector<std::string> categorical, ignore, features;
  bool ranking = false;
  std::uint64_t seed = 1;
  double time_limit = 0.0;
  std::map<std::string, std::string> values;  // of the options table, by name
};

std::vector<double> parse_grid(const std::string& text) {
  if (text.empty()) return pl_regression::default_path_grid();
  std::vector<double> grid;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    grid.push_back(detail::parse_double("path-grid", std::string_view(text).substr(begin, end - begin)));
    if (!(grid.back() > 0.0)) throw UsageError("path-grid: every a must be above 0");
    begin = end + 1;
  }
  return grid;
}

service::RegressRequest make_request(const RegressFlags& flags, const CLI::App& command) {
  if (flags.ranking == !flags.target.empty())
    throw UsageError(flags.ranking ? "--ranking takes whole ballots as outcome: leave --target out"
                                   : "which column holds the classes? say --target COLUMN, or --ranking for whole ballots");
  service::RegressRequest request;
  for (const auto& [name, value] : flags.values)
    if (command.count("--" + name) > 0) request.options[name] = value;
  const auto method = request.options.find("method");
  if (method != request.options.end() && request.options.contains("iterations") &&
      is_sampler(enum_from_name<Method>(method->second).value_or(Method::em)))
    throw UsageError(fmt::format("--iterations are steps of em and variational; {} counts --sweeps", method->second));
  request.input.features.categorical = flags.categorical;
  request.input.features.formulas = flags.features;
  request.input.features.missing = *enum_from_name<MissingValues>(flags.missing);
  request.input.target = flags.target;
  request.input.ignore = flags.ignore;
  request.path = flags.data.path;
  if (flags.ranking) request.reading = read_options(flags.data);
  if (!flags.path.empty()) request.path_grid = parse_grid(flags.path_grid);
  return request;
}

// The strongest weights of one class, as shares of the class.
std::string strongest_weights(const Fitted& model, Eigen::Index k, const std::vector<std::string>& names) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(model.lambda.cols()));
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = static_cast<Eigen::Index>(j);
  const auto row = model.lambda.row(k);
  std::sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) { return std::abs(row[a]) > std::abs(row[b]); });
  const double total = model.is_logit() ? 1.0 : std::max(row.sum(), 1e-300);
  std::string text;
  for (std::size_t j = 0; j < std::min<std::size_t>(order.size(), 5); ++j) {
    if (std::abs(row[order[j]]) < 0.005 * total && (j > 0 || row[order[j]] == 0.0)) break;  // would show as nothing
    const std::string name = printable(names[static_cast<std::size_t>(order[j])]);
    text += model.is_logit() ? fmt::format("{}{} {:+.2f}", j > 0 ? ", " : "", name, row[order[j]])
                             : fmt::format("{}{} {:.0f} %", j > 0 ? ", " : "", name, 100.0 * row[order[j]] / total);
  }
  return text;
}

std::string show_regression(const pl_regression::Result& fit, const Context& context) {
  const Style style(context.color_stdout());
  const Fitted& model = fit.model;
  const pl_regression::Summary& summary = fit.summary;
  std::size_t width = 5;
  for (const std::string& name : model.classes) width = std::max(width, std::min<std::size_t>(24, display_width(printable(name))));
  std::string text =
      fmt::format("{}{}  strongest {}{}\n", style.bold, fit_width("class", width),
                  model.is_logit() ? "coefficients against the last class" : "features, as shares of the class", style.reset);
  const std::vector<std::string> names = model.column_names();
  for (Eigen::Index k = 0; k < model.lambda.rows(); ++k)
    text += fmt::format("{}  {}\n", fit_width(printable(model.classes[static_cast<std::size_t>(k)]), width),
                        strongest_weights(model, k, names));
  text += fmt::format("\nlog-likelihood {:.6f}, log posterior {:.6f}, {} of {} {}", summary.loglik, summary.log_posterior,
                      summary.num_nonzero, model.lambda.size(), model.is_logit() ? "coefficients not zero" : "weights above zero");
  if (!model.is_logit()) text += fmt::format(", a = {:.4g}", model.a);
  text +=
      fmt::format("\n{}, {} {}", name_of(summary.stop_reason), summary.iterations, is_sampler(model.method) ? "sweeps" : "steps");
  if (summary.sampling && summary.sampling->ess_min)
    text += fmt::format(", smallest effective sample size {:.0f}", *summary.sampling->ess_min);
  if (summary.sampling && summary.sampling->rhat_max) text += fmt::format(", largest R-hat {:.3f}", *summary.sampling->rhat_max);
  return text + "\n";
}

void write_path(const RegressFlags& flags, const service::RegressResult& result, Context& context) {
  write_file(flags.path, path_csv(result.path, result.input));
  if (flags.path == "-") return;
  std::string plot = flags.path;
  if (plot.ends_with(".csv")) plot.resize(plot.size() - 4);
  plot += ".svg";
  write_file(plot, path_svg(result.path, result.input));
  note(context, fmt::format("Path written to {} and {}", flags.path, plot));
}

void write_regression_report(const RegressFlags& flags, const service::RegressResult& result, const std::string& model,
                             Context& context) {
  ReportRequest request;
  request.models.push_back(read_report_model(model, flags.out.empty() ? std::string(name_of(result.model.method)) : flags.out));
  request.models.front().path = result.path;
  if (result.table) request.class_scores = class_scores(result.model, *result.table, true);
  request.title = flags.data.path == "-" ? "" : std::filesystem::path(flags.data.path).filename().string();
  request.seed = flags.seed;
  write_report(context, std::move(request), flags.report);
}

void run_regress(const RegressFlags& flags, const CLI::App& command, Context& context) {
  service::RegressRequest request = make_request(flags, command);
  const bool text = wants_text(context, {flags.out, flags.report.path, flags.path == "-" ? flags.path : ""});
  std::optional<InterruptGuard> guard;  // while rows are read, Ctrl-C just ends the program
  request.on_data = [&](const std::string& source, const std::vector<std::string>& warnings) {
    for (const std::string& one : warnings) warning(context, fmt::format("{}: {}", source, one));
    guard.emplace();
  };
  service::RegressResult result;
  {
    ProgressObserver observer(context);
    result = service::regress(request, make_run(context, flags.seed, flags.time_limit, observer));
  }
  guard.reset();
  if (!context.is_root()) return;
  if (!result.path.empty()) write_path(flags, result, context);
  const std::string model = model_text(result, result.data, {CAUCUS_VERSION, context.command_line});
  if (!flags.out.empty()) write_file(flags.out, model);
  for (const std::string& one : result.summary.warnings) warning(context, one);
  if (flags.report.wanted()) write_regression_report(flags, result, model, context);
  if (context.json) {
    auto json = nlohmann::ordered_json::parse(model);
    const auto summary = json["fit"];
    json.update(summary);
    if (!flags.out.empty()) json["model"] = flags.out;
    if (!flags.report.path.empty()) json["report"] = flags.report.path;
    print_json(json);
  }
  if (text) print(show_regression(result, context));
  note_written(context, "Model", flags.out);
  if (result.summary.stop_reason == StopReason::interrupted) {
    const auto& sampling = result.summary.sampling;
    note(context, !sampling           ? "Interrupted: this is the best result so far."
                  : sampling->ess_min ? "Interrupted: these are the draws so far."
                                      : "Interrupted before the burn-in was over: there is no answer yet.");
    context.exit_code = Exit::interrupted;
  }
}

}  // namespace

void add_regress(CLI::App& app, Context& context) {
  auto flags = std::make_shared<RegressFlags>();
  const auto names = [](const auto& array) { return std::vector<std::string>(array.begin(), array.end()); };
  CLI::App* command = app.add_subcommand("regress", "Learn what covariates say about a class, or about whole ballots");
  command->add_option("data", flags->data.path, "CSV with a header, or - for standard input")->required()->type_name("TRAIN");
  command->add_option("--target", flags->target, "column that holds the class of each row")->type_name("COLUMN");
  command->add_flag("--ranking", flags->ranking, "the outcome is a whole ballot: a CSV of rankings with columns about the voters");
  command
      ->add_option("--features", flags->features,
                   "further features: \"exp(x1 + x2)\", \"gauss(age, 0, 1)\", \"bumps(all, 5)\"; several with ;")
      ->group("Features");
  command->add_option("--categorical", flags->categorical, "columns of codes to treat as categories; columns with text always are")
      ->delimiter(',')
      ->group("Features");
  command->add_option("--ignore", flags->ignore, "columns to leave out, such as identifiers")->delimiter(',')->group("Features");
  command->add_option("--missing", flags->missing, "missing values: error, drop (the row) or mean (of the column)")
      ->check(CLI::IsMember(names(enum_names<MissingValues>)))
      ->capture_default_str()
      ->group("Features");
  for (const OptionInfo& option : describe_options<pl_regression::Options>()) {
    CLI::Option* added = command->add_option("--" + option.name, flags->values[option.name],
                                             fmt::format("{} [{}]", option.help, option.default_value));
    added->group("Model")->type_name("");
    if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
  }
  command
      ->add_option("--path", flags->path,
                   "write the weights as a function of a to this CSV, and a plot beside it; - for standard output")
      ->type_name("FILE");
  command->add_option("--path-grid", flags->path_grid, "the values of a, as in 1,0.5,0.1 [19 values from 10 to 0.01]")
      ->type_name("A,A,...");
  add_run_flags(*command, *flags, context,
                {.time_limit = "stop after this many seconds with the result so far", .out = "write the model to this file"});
  add_data_flags(*command, flags->data);
  command->footer(examples({"caucus regress train.csv --target class --out m.json         maximum likelihood",
                            "caucus regress train.csv --target class --a 0.5              exact zeros",
                            "caucus regress train.csv --target class --method gibbs       the whole posterior, a learned",
                            "caucus regress train.csv --target class --path path.csv      weights as a function of a",
                            "caucus regress poll.csv --ranking --method variational       voters' covariates explain ballots"}));
  command->callback([flags, command, &context] { run_regress(*flags, *command, context); });
}

}  // namespace caucus::cli
