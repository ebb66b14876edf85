// 'caucus regress': what the covariates say about classes or ballots.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "caucus/base/error.h"
#include "report.h"

namespace caucus::cli {

namespace {

using pl_regression::Method;

struct RegressFlags {
  DataFlags data;
  std::string target, method = "em", missing = "error", out, path, path_grid;
  ReportFlags report;
  std::vector<std::string> categorical, ignore, features;
  bool ranking = false;
  std::uint64_t seed = 1;
  double time_limit = 0.0;
  std::string checkpoint;
  double checkpoint_every = 60.0;
  std::map<std::string, std::string> values;  // of the options table, by name
};

bool is_sampler(Method method) { return method == Method::gibbs || method == Method::logit_lasso; }

RegressionRequest make_request(const RegressFlags& flags, const CLI::App& command) {
  RegressionRequest request;
  request.method = *enum_from_name<Method>(flags.method);
  OptionMap options;
  for (const auto& [name, value] : flags.values)
    if (command.count("--" + name) > 0) options[name] = value;
  if (is_sampler(request.method) && options.contains("iterations"))
    throw UsageError(fmt::format("--iterations are steps of em and variational; {} counts --sweeps", flags.method));
  request.options = parse_options<pl_regression::Options>(options);
  request.features.categorical = flags.categorical;
  request.features.formulas = flags.features;
  request.features.missing = *enum_from_name<MissingValues>(flags.missing);
  request.target = flags.target;
  request.ignore = flags.ignore;
  request.checkpoint = flags.checkpoint;
  request.checkpoint_every = flags.checkpoint_every;
  return request;
}

std::vector<double> parse_grid(const std::string& text) {
  if (text.empty()) return default_path_grid();
  std::vector<double> grid;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    grid.push_back(detail::parse_double("path-grid", std::string_view(text).substr(begin, end - begin)));
    if (!(grid.back() > 0.0)) throw UsageError("path-grid: every a must be above 0");
    begin = end + 1;
  }
  return grid;
}

// The strongest weights of every class, as shares of the class.
std::string show_regression(const RegressionFit& fit, const Context& context) {
  const Style style(context.color_stdout());
  const RegressionModel& model = fit.model;
  const RegressionSummary& summary = fit.summary;
  std::string text;
  const auto width = [&] {
    std::size_t widest = 0;
    for (const std::string& name : model.classes) widest = std::max(widest, display_width(printable(name)));
    return std::min<std::size_t>(widest, 24);
  }();
  std::vector<std::string> names;
  if (model.is_logit()) {
    for (const Covariate& one : model.features.covariates()) names.push_back(one.name);
    names.emplace_back("intercept");
  } else {
    for (const Feature& one : model.features.list()) names.push_back(one.name);
  }
  text += fmt::format("{}{}  strongest {}{}\n", style.bold, fit_width("class", std::max<std::size_t>(width, 5)),
                      model.is_logit() ? "coefficients against the last class" : "features, as shares of the class", style.reset);
  for (Eigen::Index k = 0; k < model.lambda.rows(); ++k) {
    std::vector<Eigen::Index> order(static_cast<std::size_t>(model.lambda.cols()));
    for (std::size_t j = 0; j < order.size(); ++j) order[j] = static_cast<Eigen::Index>(j);
    const auto row = model.lambda.row(k);
    std::sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) { return std::abs(row[a]) > std::abs(row[b]); });
    const double total = model.is_logit() ? 1.0 : std::max(row.sum(), 1e-300);
    text += fit_width(printable(model.classes[static_cast<std::size_t>(k)]), std::max<std::size_t>(width, 5)) + "  ";
    for (std::size_t j = 0; j < std::min<std::size_t>(order.size(), 5); ++j) {
      if (std::abs(row[order[j]]) < 0.005 * total && (j > 0 || row[order[j]] == 0.0)) break;  // would show as nothing
      const std::string name = printable(names[static_cast<std::size_t>(order[j])]);
      text += model.is_logit() ? fmt::format("{}{} {:+.2f}", j > 0 ? ", " : "", name, row[order[j]])
                               : fmt::format("{}{} {:.0f} %", j > 0 ? ", " : "", name, 100.0 * row[order[j]] / total);
    }
    text += "\n";
  }
  text += fmt::format("\nlog-likelihood {:.6f}, log posterior {:.6f}, {} of {} {}", summary.loglik, summary.log_posterior,
                      summary.num_nonzero, model.lambda.size(), model.is_logit() ? "coefficients not zero" : "weights above zero");
  if (!model.is_logit()) text += fmt::format(", a = {:.4g}", model.a);
  text +=
      fmt::format("\n{}, {} {}", name_of(summary.stop_reason), summary.iterations, is_sampler(model.method) ? "sweeps" : "steps");
  if (summary.ess_min) text += fmt::format(", smallest effective sample size {:.0f}", *summary.ess_min);
  if (summary.rhat_max) text += fmt::format(", largest R-hat {:.3f}", *summary.rhat_max);
  return text + "\n";
}

std::vector<PathPoint> write_path(const RegressFlags& flags, const RegressionInput& input, const RegressionRequest& request,
                                  const Run& run, Context& context) {
  const auto path = regularization_path(input, request, parse_grid(flags.path_grid), run);
  std::string plot = flags.path;
  if (plot.ends_with(".csv")) plot.resize(plot.size() - 4);
  plot += ".svg";
  write_file(flags.path, path_csv(path, input));
  if (flags.path == "-") return path;
  write_file(plot, path_svg(path, input));
  note(context, fmt::format("Path written to {} and {}", flags.path, plot));
  return path;
}

void write_regression_report(const RegressFlags& flags, const RegressionModel& model, const std::vector<PathPoint>& path,
                             const Table& table, Context& context) {
  ReportRequest request;
  request.models.push_back(read_report_model(model.to_text(), flags.out.empty() ? flags.method : flags.out));
  if (!path.empty()) request.models.front().json["path"] = report_path(path);
  if (!flags.ranking) request.class_scores = class_scores(model, table, true);
  request.title = flags.data.path == "-" ? "" : std::filesystem::path(flags.data.path).filename().string();
  request.seed = flags.seed;
  write_report(context, std::move(request), flags.report);
}

void run_regress(const RegressFlags& flags, const CLI::App& command, Context& context) {
  const RegressionRequest request = make_request(flags, command);
  if (flags.ranking == !flags.target.empty())
    throw UsageError(flags.ranking ? "--ranking takes whole ballots as outcome: leave --target out"
                                   : "which column holds the classes? say --target COLUMN, or --ranking for whole ballots");
  const bool text = wants_text(context, {flags.out, flags.report.path, flags.path == "-" ? flags.path : ""});
  RegressionInput input;
  Table table;
  std::string source, data_digest;
  if (flags.ranking) {
    const Dataset data = read_data(context, flags.data);
    source = data.source;
    data_digest = digest(data);
    input = ranking_input(data, request);
  } else {
    table = read_table(flags.data.path);
    for (const std::string& one : table.warnings) warning(context, fmt::format("{}: {}", table.source, one));
    source = table.source;
    data_digest = table.digest;
    input = class_input(table, request);
  }
  RegressionFit fit;
  std::vector<PathPoint> path;
  {
    InterruptGuard guard;
    ProgressObserver observer(context);
    Run run;
    run.seed = flags.seed;
    run.threads = context.threads;
    run.observer = &observer;
    if (flags.time_limit > 0.0) run.time_limit = flags.time_limit;
    fit = train(input, request, run);
    if (!flags.path.empty() && fit.summary.stop_reason != StopReason::interrupted)
      path = write_path(flags, input, request, run, context);
  }
  fit.model.provenance = {
      {"version", CAUCUS_VERSION}, {"command", context.command_line}, {"data", {{"source", source}, {"digest", data_digest}}}};
  if (!flags.out.empty()) write_file(flags.out, fit.model.to_text());
  for (const std::string& one : fit.summary.warnings) warning(context, one);
  if (flags.report.wanted()) write_regression_report(flags, fit.model, path, table, context);
  if (context.json) {
    auto json = nlohmann::ordered_json::parse(fit.model.to_text());
    json.update(fit.summary.to_json());
    if (!flags.out.empty()) json["model"] = flags.out;
    if (!flags.report.path.empty()) json["report"] = flags.report.path;
    print_json(json);
  }
  if (text) print(show_regression(fit, context));
  note_written(context, "Model", flags.out);
  if (fit.summary.stop_reason == StopReason::interrupted) {
    note(context, fit.summary.ess_min          ? "Interrupted: these are the draws so far."
                  : is_sampler(request.method) ? "Interrupted before the burn-in was over: there is no answer yet."
                                               : "Interrupted: this is the best result so far.");
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
  command->add_option("--method", flags->method, "em, gibbs, variational, or the rival logit-lasso")
      ->check(CLI::IsMember(names(enum_names<Method>)))
      ->capture_default_str();
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
  for (const OptionInfo& option : describe_options<pl_regression::Options>())
    command->add_option("--" + option.name, flags->values[option.name], fmt::format("{} [{}]", option.help, option.default_value))
        ->group("Model")
        ->type_name("");
  command
      ->add_option("--path", flags->path,
                   "write the weights as a function of a to this CSV, and a plot beside it; - for standard output")
      ->type_name("FILE");
  command->add_option("--path-grid", flags->path_grid, "the values of a, as in 1,0.5,0.1 [19 values from 10 to 0.01]")
      ->type_name("A,A,...");
  command->add_option("--seed", flags->seed, "seed of all random numbers; same seed, same result")->capture_default_str();
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores; the result does not depend on it")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("--time-limit", flags->time_limit, "stop after this many seconds with the result so far")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "samplers: save the chains in this file now and then, and go on from it where it exists")
      ->type_name("FILE");
  command->add_option("--checkpoint-every", flags->checkpoint_every, "seconds between two saves")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("-o,--out", flags->out, "write the model to this file")->type_name("FILE");
  add_report_flag(*command, flags->report);
  command->add_flag("--json", context.json, "print the result as one JSON object");
  add_data_flags(*command, flags->data);
  command->footer(examples({"caucus regress train.csv --target class --out m.json         maximum likelihood",
                            "caucus regress train.csv --target class --a 0.5              exact zeros",
                            "caucus regress train.csv --target class --method gibbs       the whole posterior, a learned",
                            "caucus regress train.csv --target class --path path.csv      weights as a function of a",
                            "caucus regress poll.csv --ranking --method variational       voters' covariates explain ballots"}));
  command->callback([flags, command, &context] { run_regress(*flags, *command, context); });
}

}  // namespace caucus::cli
