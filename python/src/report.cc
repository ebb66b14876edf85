// A report as one HTML page.
#include <algorithm>

#include "caucus/base/error.h"
#include "caucus/base/version.h"
#include "caucus/report/data.h"
#ifdef CAUCUS_REPORT
#include "caucus/report/html.h"
#endif
#include "core.h"

namespace caucus::python {

namespace {

#ifdef CAUCUS_REPORT
std::string page_of(const nlohmann::json& data) { return report_html(data); }
#else
std::string page_of(const nlohmann::json&) { throw UsageError("this build of caucus has no report"); }
#endif

// Model files by name, and the rankings they are of. `as_json`: the page's data alone.
std::string report(const std::vector<std::pair<std::string, std::string>>& models, const Data* data, const std::string& title,
                   const std::vector<std::string>& names, const std::string& voters, const std::string& items,
                   const std::string& rankings, std::size_t seats, std::uint64_t seed, int threads, bool as_json) {
  const nb::gil_scoped_release released;
  ReportRequest request;
  for (const auto& [name, text] : models) request.models.push_back(read_report_model(text, name));
  Dataset storage;
  if (data != nullptr) {
    const bool by_voter =
        std::ranges::any_of(request.models, [](const auto& one) { return one.model && one.model->membership() != nullptr; });
    request.data = by_voter ? &with_row_voters(*data->set, storage) : data->set.get();
  }
  request.title = title;
  request.names = names;
  if (!voters.empty()) request.nouns.voters = voters;
  if (!items.empty()) request.nouns.items = items;
  if (!rankings.empty()) request.nouns.rankings = rankings;
  request.election.seats = seats;
  request.version = std::string(version());
  request.command = "caucus for Python";
  request.seed = seed;
  request.threads = usable_threads(threads);
  const nlohmann::json content = report_data(request);
  return as_json ? content.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" : page_of(content);
}

}  // namespace

void bind_report(nb::module_& module) {
  using namespace nb::literals;
  module.def("report", &report, "models"_a, "data"_a.none(), "title"_a = "", "names"_a = std::vector<std::string>{},
             "voters"_a = "", "items"_a = "", "rankings"_a = "", "seats"_a = 1, "seed"_a = 1, "threads"_a = 0, "as_json"_a = false,
             "A page to look at, from model files by name and the rankings they are of.");
}

}  // namespace caucus::python
