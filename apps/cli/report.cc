#include "report.h"

#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/io/source.h"
#ifdef CAUCUS_REPORT
#include "caucus/report/html.h"
#endif

namespace caucus::cli {

void add_report_flag(CLI::App& command, std::string& path) {
  if (has_report) command.add_option("--report", path, "write a report to look at in a browser: one HTML file")->type_name("FILE");
}

#ifdef CAUCUS_REPORT

std::size_t write_report(const Context& context, ReportRequest request, const std::string& path) {
  request.version = CAUCUS_VERSION;
  request.command = context.command_line;
  request.threads = context.threads;
  const nlohmann::json data = report_data(request);
  const bool json = path.ends_with(".json");
  const std::string content = json ? data.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" : report_html(data);
  write_file(path, content);
  return content.size();
}

namespace {

struct ReportFlags {
  std::vector<std::string> files;
  DataFlags data;
  std::string out, title;
  std::uint64_t seed = 1;
};

// A file is a model or what `compare --out` wrote.
void read_input(const std::string& path, ReportRequest& request) {
  const Source source = Source::open(path);
  const nlohmann::json json = nlohmann::json::parse(source.text(), nullptr, false);
  if (json.is_object() && json.value("schema", nlohmann::json()) == "caucus.compare/1")
    request.comparison = json;
  else
    request.models.push_back(read_report_model(source.text(), source.name()));
}

void run_report(const ReportFlags& flags, Context& context) {
  ReportRequest request;
  for (const std::string& path : flags.files) read_input(path, request);
  Dataset data;
  if (!flags.data.path.empty()) {
    // Unlisted items mean what they meant to the first model that says so.
    std::optional<Unranked> fallback;
    for (const ReportModel& one : request.models)
      if (!fallback && one.model && one.json.contains("unranked")) fallback = one.model->unranked();
    data = read_data(context, flags.data, fallback);
    request.data = &data;
  }
  request.title = flags.title;
  request.seed = flags.seed;
  const std::size_t num_models = request.models.size();
  const std::size_t bytes = write_report(context, std::move(request), flags.out);
  if (context.json)
    print_json({{"report", flags.out}, {"bytes", bytes}, {"models", num_models}});
  else
    note(context, fmt::format("Report written to {} ({} kB): open it in a browser", flags.out, (bytes + 1023) / 1024));
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = app.add_subcommand("report", "Write models as one HTML page to look at");
  command->add_option("models", flags->files, "model files, and what 'compare --out' wrote")->required()->type_name("MODEL");
  command->add_option("--data", flags->data.path, "the rankings: adds memberships, the map of ballots and the check of the fit")->type_name("DATA");
  add_data_flags(*command, flags->data);
  command->add_option("-o,--out", flags->out, "the page to write; a name that ends in .json gets the data alone")->required()->type_name("FILE");
  command->add_option("--title", flags->title, "title of the page");
  command->add_option("--seed", flags->seed, "seed of the sample of ballots and of simulations")->capture_default_str();
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores")->check(CLI::Range(0, 4096))->capture_default_str();
  command->add_flag("--json", context.json, "print the result as one JSON object");
  command->footer(examples({"caucus report model.json --data votes.soi --out report.html", "caucus report two.json three.json --data votes.soi --out report.html   what changed"}));
  command->callback([flags, &context] { run_report(*flags, context); });
}

#else

std::size_t write_report(const Context&, ReportRequest, const std::string&) { throw UsageError("this build of caucus has no report"); }

#endif

}  // namespace caucus::cli
