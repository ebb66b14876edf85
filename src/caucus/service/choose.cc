#include "caucus/service/choose.h"

#include <fmt/format.h>

#include <utility>

#include "caucus/service/families.h"

namespace caucus::service {

bool settle_components(FitRequest& request) {
  const Family& family = request.family.empty() ? *families().front() : find_family(request.family);
  const FamilyInfo info = family.info();
  const auto given = request.options.find("components");
  const bool asked = given != request.options.end() && given->second == "auto";
  if (asked) request.options.erase(given);
  const auto method = request.options.find("method");
  const bool choose = info.has_option("components") && !request.options.contains("components") &&
                      !request.options.contains("init-file") && (method == request.options.end() || method->second != "tensor") &&
                      !family.takes_stream(request.options);
  if (asked && !choose)
    throw UsageError(fmt::format("-k auto: {} has no number of groups to choose here; leave -k out", info.name));
  return choose;
}

ChosenFit choose_and_fit(const FitRequest& request, const Run& run) {
  Dataset read;
  ReadOptions reading = request.reading;
  reading.ranks = run.ranks;
  if (request.data == nullptr) read = read_datasets(request.paths, reading);
  const Dataset& data = request.data == nullptr ? read : *request.data;
  if (request.on_data) request.on_data(data);
  Run own = run;
  own.started = std::chrono::steady_clock::now();
  ChosenFit chosen;
  chosen.selection = select(data, {.family = request.family, .options = request.options, .checkpoint = request.checkpoint}, own);
  FitOutcome& outcome = chosen.selection.chosen;
  if (chosen.selection.interrupted) outcome.summary.stop_reason = StopReason::interrupted;
  if (chosen.selection.out_of_time) outcome.summary.stop_reason = StopReason::time_limit;
  chosen.fit = {std::move(outcome.model), std::move(outcome.summary), facts_of(data, run.ranks), std::nullopt};
  if (request.keep_data && request.data == nullptr) chosen.fit.kept = std::move(read);
  return chosen;
}

}  // namespace caucus::service
