#include "caucus/service/regress.h"

#include <utility>

namespace caucus::service {

namespace {

void take_ballots(const Dataset& data, const RegressRequest& request, RegressResult& result) {
  if (request.on_data) request.on_data(data.source, data.warnings);
  result.data = facts_of(data);
  result.input = pl_regression::ranking_input(data, request.input);
}

void take_table(const Table& table, const RegressRequest& request, RegressResult& result) {
  if (request.on_data) request.on_data(table.source, table.warnings);
  result.data = {table.digest, table.source};
  result.input = pl_regression::class_input(table, request.input);
}

}  // namespace

RegressResult regress(const RegressRequest& request, const Run& run) {
  const auto options = parse_options<pl_regression::Options>(request.options);
  const bool ballots = request.input.target.empty();
  RegressResult result;
  if (request.data != nullptr)
    take_ballots(*request.data, request, result);
  else if (request.table != nullptr)
    take_table(*request.table, request, result);
  else if (ballots)
    take_ballots(read_dataset(request.path, request.reading), request, result);
  else
    take_table(result.table.emplace(read_table(request.path)), request, result);
  Run begun = run;
  begun.started = std::chrono::steady_clock::now();
  static_cast<pl_regression::Result&>(result) = pl_regression::fit(result.input, options, begun);
  if (request.path_grid && !was_cut_short(result.summary.stop_reason))
    result.path = pl_regression::regularization_path(result.input, options, *request.path_grid, begun);
  return result;
}

}  // namespace caucus::service
