#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "caucus/base/error.h"
#include "caucus/infer/pl_regression/predict.h"
#include "caucus/io/source.h"
#include "caucus/report/tables.h"
#ifdef CAUCUS_REPORT
#include "caucus/report/html.h"
#endif

namespace caucus::cli {

namespace {

void add_page_flags(CLI::App& command, ReportFlags& flags) {
  const char* group = "Report";
  command.add_option("--title", flags.title, "title of the page")->group(group);
  command.add_option("--names", flags.names, "names of the groups, largest first, separated by commas")
      ->delimiter(',')
      ->group(group);
  command.add_option("--call-voters", flags.nouns.voters, "what the page calls those who rank: respondents, judges")->group(group);
  command.add_option("--call-items", flags.nouns.items, "what it calls the items: candidates, products")->group(group);
  command.add_option("--call-rankings", flags.nouns.rankings, "what it calls the rankings: ballots, answers")->group(group);
  command.add_option("--seats", flags.seats, "ballots: seats to fill by transferable vote [as the file says, else 1]")
      ->group(group);
  command.add_option("--surplus", flags.surplus, "ballots: how surpluses are passed on, scottish or irish")
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<Surplus>.begin(), enum_names<Surplus>.end())))
      ->group(group);
  command.add_option("--map-points", flags.map_points, "rankings on the map at most; of more a sample is drawn")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str()
      ->group(group);
  command.add_option("--tables", flags.tables, "write the report's numbers as CSV tables into this folder")
      ->type_name("FOLDER")
      ->group(group);
}

}  // namespace

void add_report_flag(CLI::App& command, ReportFlags& flags) {
  if (!has_report) return;
  command.add_option("--report", flags.path, "write a report to look at in a browser: one HTML file")
      ->type_name("FILE")
      ->group("Report");
  add_page_flags(command, flags);
}

std::optional<ClassScores> class_scores(const pl_regression::Fitted& model, const Table& table, bool fitted_to_these) {
  if (model.ranking) return std::nullopt;
  const pl_regression::Predictions predictions = pl_regression::predict_table(model, table);
  if (predictions.labels.empty()) return std::nullopt;
  ClassScores scores;
  scores.labels = predictions.labels;
  scores.fitted_to_these = fitted_to_these;
  for (const std::size_t row : predictions.labelled)
    for (Eigen::Index k = 0; k < predictions.probabilities.cols(); ++k)
      scores.probabilities.push_back(predictions.probabilities(static_cast<Eigen::Index>(row), k));
  return scores;
}

#ifdef CAUCUS_REPORT

std::size_t write_report(const Context& context, ReportRequest request, const ReportFlags& flags) {
  const std::string& path = flags.path;
  request.title = flags.title;
  request.names = flags.names;
  request.nouns = flags.nouns;
  request.max_points = flags.map_points;
  const std::size_t told = request.data != nullptr ? request.data->facts.seats : 0;
  const bool plausible = told > 0 && told < request.data->num_items();
  request.election.seats = flags.seats > 0 ? flags.seats : plausible ? told : 1;
  request.election.surplus = *enum_from_name<Surplus>(flags.surplus);
  request.version = CAUCUS_VERSION;
  request.command = context.command_line;
  request.threads = context.threads;
  const nlohmann::json data = report_data(request);
  if (!flags.tables.empty()) {
    std::filesystem::create_directories(flags.tables);
    for (const ReportTable& table : report_tables(data))
      write_file((std::filesystem::path(flags.tables) / table.file).string(), table.content);
    note(context, fmt::format("Tables written to {}", flags.tables));
  }
  if (path.empty()) return 0;
  const bool json = path.ends_with(".json");
  const std::string content = json ? data.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" : report_html(data);
  write_file(path, content);
  if (path != "-")
    note(context, fmt::format("Report written to {} ({} kB): open it in a browser", path, (content.size() + 1023) / 1024));
  return content.size();
}

namespace {

struct ReportCommand {
  std::vector<std::string> files;
  DataFlags data;
  ReportFlags page;
  std::string path;  // a regression's
  std::uint64_t seed = 1;
};

// What `regress --path` wrote, for the weights of this model.
std::vector<pl_regression::PathPoint> read_path(const std::string& file, const pl_regression::Fitted& model) {
  const Table table = read_table(file);
  const Column &estimate = table.column("estimate"), &a = table.column("a"), &outcome = table.column("class"),
               &feature = table.column("feature"), &value = table.column("value");
  if (!a.is_numeric() || !value.is_numeric())
    throw DataError(fmt::format("{}: the columns a and value must hold numbers", table.source));
  const auto text = [](const Column& column, std::size_t row) {
    return column.is_numeric() ? fmt::format("{}", column.numbers[row]) : column.texts[row];
  };
  const auto place = [&](const std::vector<std::string>& names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw DataError(fmt::format("{}: '{}' is no class or feature of the model", table.source, name));
    return static_cast<Eigen::Index>(found - names.begin());
  };
  const std::vector<std::string> features = model.column_names();
  std::map<std::pair<std::string, double>, RowMatrix> points;
  for (std::size_t row = 0; row < value.numbers.size(); ++row) {
    RowMatrix& lambda = points[{text(estimate, row), a.numbers[row]}];
    if (lambda.size() == 0) lambda = RowMatrix::Zero(model.lambda.rows(), model.lambda.cols());
    lambda(place(model.classes, text(outcome, row)), place(features, text(feature, row))) = value.numbers[row];
  }
  std::vector<pl_regression::PathPoint> path;
  for (const auto& [key, lambda] : points) path.push_back({key.first, key.second, lambda});
  return path;
}

// A file is a model or what `compare --out` wrote.
void read_input(const std::string& path, ReportRequest& request) {
  const Source source = Source::open(path);
  if (auto comparison = parse_comparison(source.text(), source.name()))
    request.comparison = std::move(comparison);
  else
    request.models.push_back(read_report_model(source.text(), source.name()));
}

void run_report(const ReportCommand& flags, Context& context) {
  if (!flags.page.wanted())
    throw UsageError("nothing to write: give --out FILE for the page, --tables FOLDER for its numbers, or both");
  ReportRequest request;
  for (const std::string& path : flags.files) read_input(path, request);
  Dataset data;
  const bool regression = !request.models.empty() && request.models.front().model == nullptr;
  if (!flags.path.empty()) {
    if (!regression) throw UsageError("--path belongs to a regression: the first model is none");
    request.models.front().path = read_path(flags.path, *request.models.front().regression);
  }
  if (!flags.data.path.empty() && regression) {
    request.class_scores = class_scores(*request.models.front().regression, read_table(flags.data.path), false);
  } else if (!flags.data.path.empty()) {
    // Unlisted items mean what they meant to the first model that says so.
    std::optional<Unranked> fallback;
    for (const ReportModel& one : request.models)
      if (!fallback && one.model && one.facts.states_unranked) fallback = one.model->unranked();
    const auto remembers = std::ranges::find_if(request.models, [](const ReportModel& one) { return one.reading.has_value(); });
    data = read_data(context, remembers == request.models.end() ? flags.data : recall(context, flags.data, remembers->reading),
                     fallback);
    request.data = &data;
  }
  request.seed = flags.seed;
  const std::size_t num_models = request.models.size();
  const std::size_t bytes = write_report(context, std::move(request), flags.page);
  if (context.json)
    print_json({{"report", flags.page.path}, {"bytes", bytes}, {"models", num_models}, {"tables", flags.page.tables}});
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ReportCommand>();
  CLI::App* command = app.add_subcommand("report", "Write models as one HTML page to look at");
  command->add_option("models", flags->files, "model files, and what 'compare --out' wrote")->required()->type_name("MODEL");
  command->add_option("--data", flags->data.path, "the rankings: adds memberships, the map of ballots and the check of the fit")
      ->type_name("DATA");
  add_data_flags(*command, flags->data);
  command->add_option("-o,--out", flags->page.path, "the page to write; a name that ends in .json gets the data alone")
      ->type_name("FILE");
  add_page_flags(*command, flags->page);
  command->add_option("--path", flags->path, "regression: what 'regress --path' wrote")->type_name("FILE");
  command->add_option("--seed", flags->seed, "seed of the sample of ballots and of simulations")->capture_default_str();
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_flag("--json", context.json, "print the result as one JSON object");
  command->footer(
      examples({"caucus report model.json --data votes.soi --out report.html",
                "caucus report two.json three.json --data votes.soi --out report.html   what changed",
                "caucus report model.json --data votes.soi --tables tables   its numbers for spreadsheets and slides"}));
  command->callback([flags, &context] { run_report(*flags, context); });
}

#else

std::size_t write_report(const Context&, ReportRequest, const ReportFlags&) {
  throw UsageError("this build of caucus has no report");
}

#endif

}  // namespace caucus::cli
