#include "caucus/service/select.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/evaluate/heldout.h"
#include "caucus/service/families.h"
#include "caucus/service/folds.h"

namespace caucus {

namespace {

// Many fits, one observer: forwards "stop" to every fit and counts finished fits.
class GridObserver : public Observer {
 public:
  GridObserver(Observer* outer, int total) : outer_(outer), total_(total) {}

  Flow progress(const Progress& inner) override {
    if (stopped_) return Flow::stop;
    if (outer_ == nullptr) return Flow::proceed;
    const std::lock_guard lock(mutex_);
    if (outer_->progress({"fits", finished_, total_, inner.objective}) == Flow::stop) stopped_ = true;
    return stopped_ ? Flow::stop : Flow::proceed;
  }
  void finished() {
    const std::lock_guard lock(mutex_);
    ++finished_;
    if (outer_ != nullptr && outer_->progress({"fits", finished_, total_, 0.0}) == Flow::stop) stopped_ = true;
  }
  bool stopped() const { return stopped_; }

 private:
  Observer* outer_;
  int total_;
  int finished_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
};

double criterion_value(const SelectRow& row, Criterion criterion) {
  switch (criterion) {
    case Criterion::bic: return row.bic;
    case Criterion::aic: return row.aic;
    case Criterion::icl: return row.icl;
    default: return -row.heldout_mean.value_or(-infinity);
  }
}

}  // namespace

std::vector<int> parse_candidates(std::string_view text) {
  std::vector<int> result;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t dots = part.find("..");
    const auto from = static_cast<int>(detail::parse_integer("k", part.substr(0, dots)));
    const auto to = dots == std::string_view::npos ? from : static_cast<int>(detail::parse_integer("k", part.substr(dots + 2)));
    if (from < 1 || to > 1000 || from > to) throw UsageError(fmt::format("k = {} is not a range within 1..1000, as in 1..8", part));
    for (int k = from; k <= to; ++k) result.push_back(k);
    begin = end + 1;
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Selection select(const Dataset& data, const SelectRequest& request, const Run& run) {
  const Family& family = find_family(request.family);
  const FamilyInfo info = family.info();
  if (std::none_of(info.options.begin(), info.options.end(), [](const OptionInfo& option) { return option.name == "components"; }))
    throw UsageError(fmt::format("family {} has no number of groups to choose", request.family));
  const bool heldout = request.criterion == Criterion::cv || request.criterion == Criterion::holdout;
  std::vector<Split> splits;
  if (request.criterion == Criterion::cv) splits = make_folds(data, request.folds, run.seed);
  if (request.criterion == Criterion::holdout) splits.push_back(make_holdout(data, request.holdout, run.seed));

  const std::size_t num_k = request.candidates.size(), per_k = 1 + splits.size();
  std::vector<FitOutcome> full(num_k);
  std::vector<double> seconds(num_k * per_k, 0.0);
  std::vector<char> done(num_k * per_k, 0);
  std::vector<HeldoutScores> scores(num_k * splits.size());
  GridObserver observer(run.observer, static_cast<int>(num_k * per_k));

  const auto fit_one = [&](std::size_t task) {
    const std::size_t at = task / per_k, part = task % per_k;
    if (observer.stopped() || run.out_of_time()) return;
    Run own = run;
    own.observer = &observer;
    own.threads = 1;  // the grid is what runs in parallel; results do not depend on threads
    OptionMap options = request.options;
    options["components"] = std::to_string(request.candidates[at]);
    const double before = own.seconds();
    if (part == 0) {
      full[at] = family.fit(data, options, own);
      full[at].summary.seconds = own.seconds() - before;
      done[task] = full[at].summary.stop_reason != StopReason::interrupted && full[at].summary.stop_reason != StopReason::time_limit;
    } else {
      const Split& split = splits[part - 1];
      const FitOutcome outcome = family.fit(split.train, options, own);
      outcome.model->check(split.test);
      scores[at * splits.size() + part - 1].append(*outcome.model, split.test, 1);
      done[task] = outcome.summary.stop_reason != StopReason::interrupted && outcome.summary.stop_reason != StopReason::time_limit;
    }
    seconds[task] = own.seconds() - before;
    observer.finished();
  };
  parallel_for(num_k * per_k, run.threads, fit_one);

  Selection result;
  result.criterion = request.criterion;
  result.interrupted = observer.stopped();
  std::vector<HeldoutScores> pooled;
  std::vector<std::size_t> finished;
  for (std::size_t at = 0; at < num_k; ++at) {
    const auto first = done.begin() + static_cast<std::ptrdiff_t>(at * per_k);
    if (!std::all_of(first, first + static_cast<std::ptrdiff_t>(per_k), [](char flag) { return flag != 0; })) continue;
    const FitSummary& summary = full[at].summary;
    SelectRow row;
    row.k = request.candidates[at];
    row.loglik = summary.loglik;
    row.bic = summary.bic();
    row.aic = summary.aic();
    row.icl = summary.icl();
    for (std::size_t part = 0; part < per_k; ++part) row.seconds += seconds[at * per_k + part];
    if (heldout) {
      HeldoutScores all;
      for (std::size_t part = 0; part < splits.size(); ++part) {
        const HeldoutScores& one = scores[at * splits.size() + part];
        all.log_prob.insert(all.log_prob.end(), one.log_prob.begin(), one.log_prob.end());
        all.weight.insert(all.weight.end(), one.weight.begin(), one.weight.end());
      }
      row.heldout_mean = all.mean();
      row.heldout_se = all.standard_error();
      pooled.push_back(std::move(all));
    }
    result.table.push_back(row);
    finished.push_back(at);
  }
  if (finished.empty()) {  // stopped before anything was done: whatever was reached is better than nothing
    for (std::size_t at = 0; at < num_k; ++at) {
      if (full[at].model == nullptr) continue;
      result.chosen_k = request.candidates[at];
      result.chosen = std::move(full[at]);
      return result;
    }
    Run own = run;
    OptionMap options = request.options;
    options["components"] = std::to_string(request.candidates.front());
    result.chosen_k = request.candidates.front();
    result.chosen = family.fit(data, options, own);
    return result;
  }

  std::size_t best = 0;
  for (std::size_t i = 1; i < result.table.size(); ++i)
    if (criterion_value(result.table[i], request.criterion) < criterion_value(result.table[best], request.criterion)) best = i;
  if (heldout) {
    for (std::size_t i = 0; i < result.table.size(); ++i) {
      const PairedDifference behind = paired_difference(pooled[best], pooled[i]);
      result.table[i].behind_best = behind.mean;
      result.table[i].behind_se = behind.standard_error;
    }
    // The rule of Breiman et al. (1984), with the standard error of the paired difference: what two K share cancels.
    if (request.one_standard_error)
      for (std::size_t i = 0; i < best; ++i)
        if (*result.table[i].behind_best <= *result.table[i].behind_se) {
          best = i;
          break;
        }
  }
  result.chosen_k = result.table[best].k;
  result.chosen = std::move(full[finished[best]]);
  return result;
}

}  // namespace caucus
