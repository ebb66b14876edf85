#include "caucus/service/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <boost/math/special_functions/gamma.hpp>  // std::lgamma writes a global: no good on several threads
#include <cmath>
#include <mutex>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/data/folds.h"
#include "caucus/data/weights.h"
#include "caucus/evaluate/heldout.h"
#include "caucus/evaluate/identifiable.h"
#include "caucus/infer/stopping.h"
#include "caucus/service/checkpoints.h"
#include "caucus/service/families.h"
#include "caucus/service/fit.h"
#include "caucus/service/selection_rule.h"

namespace caucus {

namespace {

// Many fits, one observer: forwards "stop" to every fit and counts finished fits.
class GridObserver : public Observer, public StopSource {
 public:
  explicit GridObserver(Observer* outer) : outer_(outer) {}
  void expect(int total) { total_ = total; }  // fits in all; 0 where that is not known

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
    if (outer_ != nullptr && outer_->progress({"fits", finished_, total_}) == Flow::stop) stopped_ = true;
  }
  bool stopped() const { return stopped_; }
  bool stop_requested() const override { return stopped_ || caucus::stop_requested(outer_); }

 private:
  Observer* outer_;
  int total_ = 0;
  int finished_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
};

// A start for k groups from a fit with fewer: every ranking stays with its most probable group, except those the fit explains worst
// compared with a coin (the uniform distribution), which make up the new groups.
// Voters take the place of rankings where they cast several.
std::vector<std::uint32_t> labels_from(const FittedModel& model, const Dataset& data, int k) {
  const bool voters = data.voters.share();
  const std::size_t num = model.num_components(), size = voters ? data.voters.size() : data.rankings.size();
  const std::vector<double> shares = voters ? voter_memberships(model, data, 1) : memberships(model, data, 1);
  const std::vector<double> log_prob = voters ? voter_log_probs(model, data, 1) : log_probs(model, data, 1);
  // The log-probability less that of a coin.
  const auto against_coin = [&](double value, std::size_t ranking) {
    const auto length = static_cast<double>(data.rankings.length(ranking)),
               others = data.unranked == Unranked::last ? static_cast<double>(data.num_items()) : length;
    return value + boost::math::lgamma(others + 1.0) - boost::math::lgamma(others - length + 1.0);
  };
  std::vector<std::uint32_t> labels(size);
  std::vector<double> gain(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto row = shares.begin() + static_cast<std::ptrdiff_t>(i * num);
    labels[i] = static_cast<std::uint32_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(num)) - row);
    gain[i] = voters ? log_prob[i] : against_coin(log_prob[i], i);
    for (std::size_t j = voters ? data.voters.rankings.begin[i] : 0; voters && j < data.voters.rankings.begin[i + 1]; ++j)
      gain[i] += data.voters.rankings.count(j) * against_coin(0.0, data.voters.rankings.other[j]);
  }
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain[a] < gain[b]; });
  const double share = (voters ? data.voters.total_weight() : data.rankings.total_weight()) / static_cast<double>(k);
  double seen = 0.0;
  for (const std::size_t i : order) {
    const auto group = num + static_cast<std::size_t>(seen / share);
    if (group >= static_cast<std::size_t>(k)) break;
    labels[i] = static_cast<std::uint32_t>(group);
    seen += voters ? data.voters.weights[i] : data.rankings.weight(i);
  }
  return labels;
}

// Where K is chosen by how well parts predict the rest, the fits on the way need not be the best there are: this much of the usual
// search for each, and all of it for the K chosen.
constexpr double effort_on_the_way = 0.06;

// The objective, which is more than the log-likelihood where there is a prior.
double reached(const FitSummary& summary) { return summary.trace.values.empty() ? summary.loglik : summary.trace.values.back(); }

const Family& family_of(const SelectRequest& request) {
  return request.family.empty() ? *families().front() : find_family(request.family);
}

std::vector<double> shares_of(const FittedModel& model, const Dataset& data, int threads) {
  const bool voters = counts_voters(model, data);
  const std::vector<double> posterior = voters ? voter_memberships(model, data, threads) : memberships(model, data, threads);
  const std::span<const double> weights = voters ? std::span<const double>(data.voters.weights) : data.rankings.weights();
  const double total = voters ? data.voters.total_weight() : data.rankings.total_weight();
  const std::size_t k = model.num_components();
  std::vector<double> shares(k, 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t c = 0; c < k; ++c) shares[c] += weights[i] / total * posterior[i * k + c];
  std::ranges::sort(shares, std::greater<>());
  return shares;
}

// The fits of one request: K by K, so that a stop leaves whole rows of the table. All ballots and the training parts side by side;
// every fit has, besides its own starts, one from the fit to the same part before it. Without parts a fit has all threads. Results
// do not depend on threads.
class Grid {
 public:
  Grid(const Dataset& data, const SelectRequest& request, const Run& run)
      : data_(data), request_(request), run_(run), info_(family_of(request).info()), observer_(run.observer) {
    if (request.criterion == Criterion::halves) splits_ = make_folds(data, 2, run.seed);
    if (request.criterion == Criterion::cv) splits_ = make_folds(data, request.folds, run.seed);
    if (request.criterion == Criterion::holdout) splits_.push_back(make_holdout(data, request.holdout, run.seed));
    note_ = unscored_note(splits_);
    if (!note_.empty() && request.criterion == Criterion::halves)
      known_ = with_ties_of(splits_[0].train, with_ties_of(splits_[1].train, data));
    before_.resize(splits_.size());
    observer_.expect(static_cast<int>(request.candidates.size() * (1 + splits_.size())));
  }

  bool stopped() const {
    const bool stop = run_.agreed(observer_.stopped() || run_.out_of_time());
    if (stop) run_.close_journal();
    return stop;
  }
  bool interrupted() const { return observer_.stopped(); }
  const std::vector<SelectRow>& table() const { return table_; }
  // What to say about ballots that no part could score.
  const std::string& note() const { return note_; }
  // What row i fitted to all ballots; i = the number of rows is a fit that was not finished, if there is one.
  bool has_fit(std::size_t i) const { return i < full_.size() && full_[i].model != nullptr; }
  FitOutcome take_fit(std::size_t i) { return std::move(full_[i]); }

  // Row i once more, with the whole search, beginning where its fit ended.
  void search_on(std::size_t i) {
    if (splits_.empty() || stopped() || table_[i].k == 1 || !info_.starts_from_labels) return;
    const std::vector<std::uint32_t> labels = labels_from(*full_[i].model, data_, table_[i].k);
    Run own = run_;
    own.observer = &observer_;
    own.labels = labels;
    service::FitRequest fitting{.family = info_.name, .options = request_.options, .data = &data_};
    fitting.options["components"] = std::to_string(table_[i].k);
    const double begun = own.seconds();
    service::FitResult fitted = service::fit(fitting, own);
    const double seconds = table_[i].seconds + own.seconds() - begun;
    if (was_cut_short(fitted.summary.stop_reason) || reached(fitted.summary) < reached(full_[i].summary)) return;
    full_[i] = {std::move(fitted.model), std::move(fitted.summary)};
    SelectRow row = describe(full_[i], table_[i].k);
    row.seconds = seconds;
    row.heldout_mean = table_[i].heldout_mean;
    row.heldout_se = table_[i].heldout_se;
    row.ahead = std::move(table_[i].ahead);
    row.replication = std::move(table_[i].replication);
    table_[i] = std::move(row);
  }

  // Adds a row unless it is stopped on the way.
  void add(int k) {
    const std::size_t parts = 1 + splits_.size();
    std::vector<Part> fits(parts);
    const std::string place = run_.journal != nullptr ? run_.journal->next() + "/" : "";
    // Processes share the work of each fit, one fit after the other.
    const bool side_by_side = parts > 1 && run_.ranks == nullptr;
    parallel_for(parts, side_by_side ? run_.threads : 1, [&](std::size_t part) {
      std::optional<JournalScope> scope;
      if (run_.journal != nullptr) scope.emplace(run_.journal->journal(), place + std::to_string(part) + "/");
      fits[part] = fit_part(part, k, scope ? &*scope : nullptr, side_by_side ? 1 : run_.threads);
    });
    const bool whole = std::ranges::all_of(fits, [](const Part& fit) { return fit.finished; });
    if (fits[0].outcome.model != nullptr) full_.push_back(std::move(fits[0].outcome));
    if (!whole) return;
    SelectRow row = describe(full_.back(), k);
    for (const Part& fit : fits) row.seconds += fit.seconds;
    for (std::size_t s = 0; s < splits_.size(); ++s) before_[s] = std::move(fits[s + 1].outcome.model);
    if (!splits_.empty()) add_heldout(row, fits);
    table_.push_back(std::move(row));
  }

 private:
  struct Part {
    FitOutcome outcome;
    HeldoutScores scores;
    double seconds = 0.0;
    bool finished = false;
  };

  Part fit_part(std::size_t part, int k, JournalScope* scope, int threads) {
    Part result;
    if (stopped()) return result;
    const Dataset& own_data = part == 0 ? data_ : splits_[part - 1].train;
    Run own = run_;
    own.observer = &observer_;
    own.threads = threads;
    own.journal = scope;
    if (!splits_.empty()) own.effort *= effort_on_the_way;
    service::FitRequest fitting{.family = info_.name, .options = request_.options, .data = &own_data};
    fitting.options["components"] = std::to_string(k);
    if (part > 0 && info_.has_option("standard-errors")) fitting.options["standard-errors"] = "off";
    const FittedModel* smaller = table_.empty() ? nullptr : part == 0 ? full_.back().model.get() : before_[part - 1].get();
    std::vector<std::uint32_t> labels;
    if (smaller != nullptr && info_.starts_from_labels) labels = labels_from(*smaller, own_data, k);
    own.labels = labels;
    const double begun = own.seconds();
    service::FitResult fitted = service::fit(fitting, own);
    result.outcome = {std::move(fitted.model), std::move(fitted.summary)};
    result.finished = !was_cut_short(result.outcome.summary.stop_reason);
    if (part > 0) {
      result.outcome.model->check(splits_[part - 1].test);
      result.scores.append(*result.outcome.model, splits_[part - 1].test, 1);
    }
    result.seconds = own.seconds() - begun;
    observer_.finished();
    return result;
  }

  SelectRow describe(const FitOutcome& fit, int k) const {
    SelectRow row;
    row.k = k;
    row.loglik = fit.summary.loglik;
    row.bic = fit.summary.bic();
    row.ebic = fit.summary.ebic();
    row.aic = fit.summary.aic();
    row.icl = fit.summary.icl();
    row.shares = shares_of(*fit.model, data_, run_.threads);
    return row;
  }

  void add_heldout(SelectRow& row, const std::vector<Part>& fits) {
    HeldoutScores all;
    all.one = one_ballot_of(data_);
    for (const Part& fit : fits) all.append(fit.scores);
    row.heldout_mean = all.mean();
    row.heldout_se = all.standard_error();
    for (const HeldoutScores& earlier : pooled_) row.ahead.push_back(paired_difference(all, earlier));
    if (request_.criterion == Criterion::halves)
      row.replication = replication(*before_[0], *before_[1], known_ ? *known_ : data_, run_.threads);
    pooled_.push_back(std::move(all));
  }

  const Dataset& data_;
  const SelectRequest& request_;
  const Run& run_;
  FamilyInfo info_;
  GridObserver observer_;
  std::vector<Split> splits_;
  std::optional<Dataset> known_;  // where the halves differ in the sizes of their ties: the ballots that the fits to both can place
  std::string note_;
  std::vector<std::unique_ptr<FittedModel>> before_;  // of the training parts
  std::vector<FitOutcome> full_;                      // of all ballots: one per row, and perhaps one that was not finished
  std::vector<SelectRow> table_;
  std::vector<HeldoutScores> pooled_;  // one per row
};

FitOutcome fit_one(const Dataset& data, const SelectRequest& request, int k, const Run& run) {
  service::FitRequest fitting{.family = request.family, .options = request.options, .data = &data};
  fitting.options["components"] = std::to_string(k);
  service::FitResult fitted = service::fit(fitting, run);
  return {std::move(fitted.model), std::move(fitted.summary)};
}

// How far each row is behind the one that predicts best.
void fill_behind(std::vector<SelectRow>& table) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < table.size(); ++i)
    if (*table[i].heldout_mean > *table[best].heldout_mean) best = i;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const PairedDifference difference = i == best ? PairedDifference{} : i < best ? table[best].ahead[i] : table[i].ahead[best];
    table[i].behind_best = i < best ? difference.mean : -difference.mean + 0.0;
    table[i].behind_se = difference.standard_error;
  }
}

}  // namespace

std::vector<int> parse_candidates(std::string_view text) {
  std::vector<int> result;
  if (text == "auto") return result;
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

namespace {

// Everything that bears on the fits but the family's own name for its defaults.
std::string describe(const SelectRequest& request) {
  return fmt::format("select {} {} k {} criterion {} folds {} holdout {} one-se {}", request.family,
                     service::options_text(request.options), fmt::join(request.candidates, ","), name_of(request.criterion),
                     request.folds, request.holdout, request.one_standard_error);
}

}  // namespace

Selection select(const Dataset& data, const SelectRequest& request, const Run& run) {
  if (!request.checkpoint.path.empty()) {
    const service::Checkpoints checkpoints(request.checkpoint, describe(request), data, run);
    SelectRequest open = request;
    open.checkpoint = {};
    return select(data, open, checkpoints.run());
  }
  const double begun = run.seconds();
  const FamilyInfo info = family_of(request).info();
  const auto components = std::ranges::find_if(info.options, [](const OptionInfo& option) { return option.name == "components"; });
  if (components == info.options.end()) throw UsageError(fmt::format("family {} has no number of groups to choose", info.name));

  // What weights are worth, whatever their scale.
  const double num_ballots = data.voters.share() ? effective_size(data.voters.weights) : effective_size(data.rankings);
  if (request.candidates.empty()) {
    std::optional<std::string> one_group = why_no_groups(data);
    if (!one_group && num_ballots < fewest_ballots_for_groups)
      one_group = fmt::format("{:.0f} {} are too few to look for groups: one group was fitted.", num_ballots,
                              data.voters.share() ? "voters" : "ballots");
    if (one_group) {
      SelectRequest only = request;
      only.candidates = {1};
      only.criterion = Criterion::ebic;
      Selection result = select(data, only, run);
      result.criterion = request.criterion;
      result.why = {*one_group};
      return result;
    }
  }

  Grid grid(data, request, run);
  if (request.candidates.empty()) {
    const int most = static_cast<int>(std::min(components->max.value_or(1000.0), num_ballots));
    for (int k = 1; k <= most && !grid.stopped() && goes_on(grid.table(), request.criterion, request.one_standard_error); ++k)
      grid.add(k);
  } else {
    for (const int k : request.candidates)
      if (!grid.stopped()) grid.add(k);
  }

  Selection result;
  result.criterion = request.criterion;
  result.interrupted = grid.interrupted();
  result.table = grid.table();
  const bool all_done = request.candidates.empty() ? !goes_on(result.table, request.criterion, request.one_standard_error)
                                                   : result.table.size() == request.candidates.size();
  for (const int k : request.candidates)
    if (std::ranges::find(result.table, k, &SelectRow::k) == result.table.end()) result.unfinished.push_back(k);
  result.out_of_time = !all_done && !result.interrupted && run.out_of_time();
  if (result.table.empty()) {  // stopped before anything was done: whatever was reached is better than nothing
    result.chosen_k = request.candidates.empty() ? 1 : request.candidates.front();
    result.chosen = grid.has_fit(0) ? grid.take_fit(0) : fit_one(data, request, result.chosen_k, run);
    result.seconds = run.seconds() - begun;
    return result;
  }
  const std::size_t chosen = choose_row(result.table, request.criterion, request.one_standard_error);
  result.chosen_k = result.table[chosen].k;
  grid.search_on(chosen);
  result.table = grid.table();
  result.chosen = grid.take_fit(chosen);
  if (is_heldout(request.criterion)) fill_behind(result.table);
  result.why = explain(result);
  if (!grid.note().empty()) result.why.push_back(grid.note());
  result.seconds = run.seconds() - begun;
  return result;
}

}  // namespace caucus
