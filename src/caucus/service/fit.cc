#include "caucus/service/fit.h"

#include <fmt/format.h>

#include <utility>

#include "caucus/io/stream.h"
#include "caucus/service/checkpoints.h"
#include "caucus/service/families.h"

namespace caucus::service {

namespace {

FitResult with_facts(FitOutcome outcome, DataFacts facts) {
  return {std::move(outcome.model), std::move(outcome.summary), std::move(facts), std::nullopt};
}

// The clock of a run begins when its data are there.
Run begun_now(Run run) {
  run.started = std::chrono::steady_clock::now();
  return run;
}

const Family& family_of(const FitRequest& request) {
  return request.family.empty() ? *families().front() : find_family(request.family);
}

}  // namespace

bool goes_by(const FitRequest& request) {
  return request.data == nullptr && !request.keep_data && request.paths.size() == 1 && files_of(request.paths).size() == 1 &&
         request.reading.voter.empty() && request.reading.voters_file.empty() && !request.reading.rows_are_voters &&
         family_of(request).takes_stream(request.options);
}

FitResult fit(const FitRequest& request, const Run& run) {
  const Family& family = family_of(request);
  const auto fitted = [&](const Dataset& data, const Run& own) {
    const Checkpoints checkpoints(request.checkpoint, fmt::format("fit {} {}", family.info().name, options_text(request.options)),
                                  data, own);
    return family.fit(data, request.options, checkpoints.run());
  };
  if (request.data != nullptr) return with_facts(fitted(*request.data, run), {{}, request.data->source});
  if (goes_by(request) && run.ranks == nullptr) {
    const std::string folder = request.spool_folder.empty() ? "." : request.spool_folder;
    RankingStream rankings = RankingStream::open(files_of(request.paths).front(), request.reading, folder);
    FitOutcome outcome = family.fit_stream(rankings, request.options, begun_now(run));
    if (request.on_data) request.on_data(rankings.head());
    return with_facts(std::move(outcome), {rankings.digest(), rankings.head().source});
  }
  ReadOptions reading = request.reading;
  reading.ranks = run.ranks;
  Dataset data = read_datasets(request.paths, reading);
  if (request.on_data) request.on_data(data);
  FitResult result = with_facts(fitted(data, begun_now(run)), facts_of(data, run.ranks));
  if (request.keep_data) result.kept = std::move(data);
  return result;
}

}  // namespace caucus::service
