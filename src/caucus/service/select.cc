#include "caucus/service/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/math/special_functions/gamma.hpp>  // std::lgamma writes a global: no good on several threads
#include <cmath>
#include <mutex>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/evaluate/heldout.h"
#include "caucus/infer/stopping.h"
#include "caucus/service/families.h"
#include "caucus/service/fit.h"
#include "caucus/service/folds.h"

namespace caucus {

namespace {

// Many fits, one observer: forwards "stop" to every fit and counts finished fits.
class GridObserver : public Observer, public StopSource {
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
  bool stop_requested() const override { return stopped_ || caucus::stop_requested(outer_); }

 private:
  Observer* outer_;
  int total_;
  int finished_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
};

// A start for k groups from a fit with fewer: every ranking stays with its most probable group, except those the fit explains worst
// compared with a coin (the uniform distribution), which make up the new groups.
std::vector<std::uint32_t> labels_from(const FittedModel& model, const Dataset& data, int k) {
  const std::size_t num = model.num_components(), size = data.rankings.size();
  const std::vector<double> shares = memberships(model, data, 1), log_prob = log_probs(model, data, 1);
  std::vector<std::uint32_t> labels(size);
  std::vector<double> gain(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto row = shares.begin() + static_cast<std::ptrdiff_t>(i * num);
    labels[i] = static_cast<std::uint32_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(num)) - row);
    const auto length = static_cast<double>(data.rankings.length(i)),
               others = data.unranked == Unranked::last ? static_cast<double>(data.num_items()) : length;
    gain[i] = log_prob[i] + boost::math::lgamma(others + 1.0) - boost::math::lgamma(others - length + 1.0);
  }
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain[a] < gain[b]; });
  const double share = data.rankings.total_weight() / static_cast<double>(k);
  double seen = 0.0;
  for (const std::size_t i : order) {
    const auto group = num + static_cast<std::size_t>(seen / share);
    if (group >= static_cast<std::size_t>(k)) break;
    labels[i] = static_cast<std::uint32_t>(group);
    seen += data.rankings.weight(i);
  }
  return labels;
}

double criterion_value(const SelectRow& row, Criterion criterion) {
  switch (criterion) {
    case Criterion::ebic:
      return row.ebic;
    case Criterion::bic:
      return row.bic;
    case Criterion::aic:
      return row.aic;
    case Criterion::icl:
      return row.icl;
    default:
      return -row.heldout_mean.value_or(-infinity);
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
  const FamilyInfo info = (request.family.empty() ? *families().front() : find_family(request.family)).info();
  const Criterion criterion = request.criterion.value_or(info.default_criterion);
  if (!info.has_option("components")) throw UsageError(fmt::format("family {} has no number of groups to choose", info.name));
  const bool heldout = criterion == Criterion::cv || criterion == Criterion::holdout;
  std::vector<Split> splits;
  if (criterion == Criterion::cv) splits = make_folds(data, request.folds, run.seed);
  if (criterion == Criterion::holdout) splits.push_back(make_holdout(data, request.holdout, run.seed));

  const std::size_t num_k = request.candidates.size(), per_k = 1 + splits.size();
  std::vector<FitOutcome> full(num_k);
  std::vector<double> seconds(num_k * per_k, 0.0);
  std::vector<char> done(num_k * per_k, 0);
  std::vector<HeldoutScores> scores(num_k * splits.size());
  GridObserver observer(run.observer, static_cast<int>(num_k * per_k));

  const auto fit_with = [&](int k, const Dataset& own_data, const Run& own) {
    service::FitRequest fitting{.family = info.name, .options = request.options, .data = &own_data};
    fitting.options["components"] = std::to_string(k);
    service::FitResult fitted = service::fit(fitting, own);
    return FitOutcome{std::move(fitted.model), std::move(fitted.summary)};
  };
  // K by K, so that a stop leaves whole rows of the table. All ballots and the training parts side by side; every fit has, besides
  // its own starts, one from the fit to the same part before it. Without parts a fit has all threads. Results do not depend on
  // threads.
  std::vector<std::unique_ptr<FittedModel>> before(splits.size());  // of the training parts; those of all ballots are in `full`
  for (std::size_t at = 0; at < num_k; ++at) {
    const auto fit_one = [&](std::size_t part) {
      if (observer.stopped() || run.out_of_time()) return;
      const Dataset& own_data = part == 0 ? data : splits[part - 1].train;
      Run own = run;
      own.observer = &observer;
      own.threads = per_k > 1 ? 1 : run.threads;
      const FittedModel* smaller = at == 0 ? nullptr : part == 0 ? full[at - 1].model.get() : before[part - 1].get();
      std::vector<std::uint32_t> labels;
      if (smaller != nullptr && info.starts_from_labels) labels = labels_from(*smaller, own_data, request.candidates[at]);
      own.labels = labels;
      const double begun = own.seconds();
      FitOutcome outcome = fit_with(request.candidates[at], own_data, own);
      const std::size_t task = at * per_k + part;
      done[task] = !was_cut_short(outcome.summary.stop_reason);
      if (part == 0) {
        full[at] = std::move(outcome);
        full[at].summary.seconds = own.seconds() - begun;
      } else {
        const Split& split = splits[part - 1];
        outcome.model->check(split.test);
        scores[at * splits.size() + part - 1].append(*outcome.model, split.test, 1);
        before[part - 1] = std::move(outcome.model);
      }
      seconds[task] = own.seconds() - begun;
      observer.finished();
    };
    parallel_for(per_k, per_k > 1 ? run.threads : 1, fit_one);
  }

  Selection result;
  result.criterion = criterion;
  result.interrupted = observer.stopped();
  std::vector<HeldoutScores> pooled;
  std::vector<std::size_t> finished;
  for (std::size_t at = 0; at < num_k; ++at) {
    const auto first = done.begin() + static_cast<std::ptrdiff_t>(at * per_k);
    if (!std::all_of(first, first + static_cast<std::ptrdiff_t>(per_k), [](char flag) { return flag != 0; })) {
      result.unfinished.push_back(request.candidates[at]);
      continue;
    }
    const FitSummary& summary = full[at].summary;
    SelectRow row;
    row.k = request.candidates[at];
    row.loglik = summary.loglik;
    row.bic = summary.bic();
    row.ebic = summary.ebic();
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
    result.chosen_k = request.candidates.front();
    result.chosen = fit_with(result.chosen_k, data, run);
    return result;
  }

  // More groups must be better by more than what fits leave undone: with one ballot the penalty of BIC is nothing.
  std::size_t best = 0;
  for (std::size_t i = 1; i < result.table.size(); ++i) {
    const double value = criterion_value(result.table[i], criterion), least = criterion_value(result.table[best], criterion);
    if (value < least - 1e-6 * (1.0 + std::abs(least))) best = i;
  }
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
