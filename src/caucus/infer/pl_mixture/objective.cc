#include "caucus/infer/pl_mixture/objective.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <map>
#include <mutex>

namespace caucus::pl_mixture {

namespace {

// A ranking says something if some stage has more than one possible outcome.
bool informative(RankingView ranking, std::size_t num_items, Unranked unranked) {
  return unranked == Unranked::last ? ranking.size() > 0 && num_items > 1 : ranking.size() > 1;
}

std::vector<double> shifted(std::span<const double> utilities, double spread) {
  const double largest = *std::ranges::max_element(utilities);
  std::vector<double> result;
  for (double utility : utilities) result.push_back(std::max(utility - largest, -spread));
  return result;
}

}  // namespace

double max_log_delta(std::size_t num_items, int order) {
  const auto n = static_cast<double>(num_items), t = static_cast<double>(order);
  const double log_sets = boost::math::lgamma(n + 1.0) - boost::math::lgamma(t + 1.0) - boost::math::lgamma(n - t + 1.0);
  return std::min(tie_spread, 690.0 - log_sets);
}

struct Objective::WholeBatch {
  std::once_flag once;
  Batch batch;
};

Objective::Objective(const Dataset& data, std::size_t num_components, double strength, const Workers& workers)
    : data_(&data), num_components_(num_components), strength_(strength), workers_(workers), batch_(std::make_shared<Batch>()) {
  const RankingSet& rankings = data.rankings;
  if (!rankings.has_ties()) {
    // Voters have rankings anywhere.
    batch_ = std::make_shared<Batch>(make_batch(data, data.voters.given() ? Workers(workers.threads) : workers));
    if (!batch_->is_whole()) whole_batch_ = std::make_shared<WholeBatch>();
    telling_weight_ = batch_->total_weight - batch_->silent_weight;
    silent_weight_ = batch_->silent_weight;
    count_voters();
    return;
  }
  std::map<int, double> counts;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const double weight = rankings.weight(i);
    if (!(weight > 0.0)) continue;
    (informative(rankings[i], data.num_items(), data.unranked) ? telling_weight_ : silent_weight_) += weight;
    rankings[i].for_each_group([&](std::span<const ItemId> group) {
      if (group.size() > 1) counts[static_cast<int>(group.size())] += weight;
    });
  }
  for (const auto& [order, count] : counts) {
    tie_orders_.push_back(order);
    tie_counts_.push_back(count);
  }
  tie_batch_ = std::make_shared<TieBatch>(make_tie_batch(data, tie_orders_));
  count_voters();
}

const Batch& Objective::whole_batch() const {
  if (whole_batch_ == nullptr) return *batch_;
  std::call_once(whole_batch_->once, [&] { whole_batch_->batch = make_batch(*data_, workers_.threads); });
  return whole_batch_->batch;
}

// One group is the same with and without voters.
void Objective::count_voters() {
  by_voter_ = (data_->voters.share() || logit_ != nullptr) && num_components_ > 1;
  total_weight_ = by_voter_ && telling_weight_ > 0.0 ? data_->voters.total_weight() : telling_weight_;
  if (!by_voter_ || cast_ != nullptr) return;
  const std::size_t num_rankings = data_->rankings.size();
  cast_ = std::make_shared<CastRankings>(
      has_ties() ? cast_rankings(data_->voters, tie_batch_->source, num_rankings, {})
                 : cast_rankings(data_->voters, {batch_->source.data(), batch_->source.size()}, num_rankings, batch_->groups));
}

Objective::Objective(const Objective& other, std::size_t num_components, const Workers& workers) : Objective(other) {
  num_components_ = num_components;
  workers_ = workers;
  count_voters();
}

void Objective::use_membership(std::shared_ptr<const MembershipLogit> logit) {
  logit_ = std::move(logit);
  count_voters();
}

void Objective::complete(Parameters& parameters) const {
  if (membership() != nullptr && parameters.gamma.size() != logit_->size()) parameters.gamma = logit_->start(parameters.weights);
}

void Objective::update_weights(const Evaluation& at, Parameters& parameters) const {
  const double total = sum(at.responsibility);
  if (num_components_ == 1 || !(total > 0.0)) return;
  for (std::size_t k = 0; k < num_components_; ++k) parameters.weights[k] = at.responsibility[k] / total;
  if (logit_ != nullptr) logit_->maximise(at.memberships, parameters.gamma);
}

std::size_t Objective::num_weight_variables() const {
  return num_components_ == 1 ? 0 : logit_ != nullptr ? logit_->size() : num_components_;
}

std::vector<double> Objective::weight_gradient(const Evaluation& at, const Parameters& parameters) const {
  if (num_components_ == 1) return {};
  if (logit_ != nullptr) return logit_->gradient(at.memberships, parameters.gamma);
  std::vector<double> gradient;
  for (std::size_t k = 0; k < num_components_; ++k)
    gradient.push_back(at.responsibility[k] - total_weight_ * parameters.weights[k]);
  return gradient;
}

std::vector<double> Objective::weight_curvature(const Evaluation& at, const Parameters& parameters) const {
  if (num_components_ == 1) return {};
  return logit_ != nullptr ? logit_->curvature(parameters.gamma) : at.responsibility;
}

Blocks Objective::blocks() const { return has_ties() ? Blocks(tie_batch_->count(), 256) : pass_blocks(*batch_); }

std::span<const std::uint32_t> Objective::sources() const {
  if (has_ties()) return tie_batch_->source;
  return {batch_->source.data(), batch_->source.size()};
}

double Objective::stored_numbers(double tie_cost) const {
  if (!has_ties()) return static_cast<double>(data_->rankings.items().size());
  double polynomials = 1.0;
  for (int order : tie_orders_) polynomials += order;
  return static_cast<double>(tie_batch_->items.size()) * (1.0 + tie_cost * polynomials);
}

Evaluation Objective::evaluate(const Parameters& parameters, std::vector<double>* posterior, std::vector<double>* rows) const {
  const bool strict = !by_voter_ && !has_ties();
  if (strict && posterior != nullptr) posterior->resize(data_->rankings.size() * num_components_);
  const std::span<double> memberships = strict && posterior != nullptr ? std::span<double>(*posterior) : std::span<double>();
  Evaluation evaluation = by_voter_    ? evaluate_voters(parameters, posterior)
                          : has_ties() ? evaluate_ties(parameters, posterior, rows)
                                       : evaluate_strict(parameters, memberships, rows);
  if (by_voter_ && rows != nullptr) *rows = row_logliks(parameters);
  add_penalty(parameters, evaluation);
  return evaluation;
}

Evaluation Objective::evaluate_all(const Parameters& parameters, Buffer<double>& posterior) const {
  if (by_voter_ || has_ties()) {
    std::vector<double> values;
    Evaluation evaluation = evaluate(parameters, &values);
    posterior = Buffer<double>(std::span<const double>(values));
    return evaluation;
  }
  const Batch& own = batch();
  const std::size_t num = num_components_;
  if (posterior.size() != own.count * num)
    posterior = scratch_array<double>(data_->rankings.scratch(), own.count * num, own.first * num, own.last * num);
  Evaluation evaluation = evaluate_strict(parameters, {posterior.data(), posterior.size()}, nullptr, Whose::own);
  add_penalty(parameters, evaluation);
  return evaluation;
}

std::vector<double> Objective::row_logliks(const Parameters& parameters) const {
  std::vector<double> rows;
  if (has_ties())
    evaluate_ties(parameters, nullptr, &rows);
  else
    evaluate_strict(parameters, {}, &rows);
  return rows;
}

std::vector<double> lane_worths(const Parameters& parameters) {
  const std::size_t n = parameters.num_items, num = parameters.num_components(), lanes = padded_components(num);
  std::vector<double> worths(n * lanes, 1.0);
  for (std::size_t k = 0; k < num; ++k) {
    const std::vector<double> utilities = shifted(parameters.component(k), max_spread);
    for (std::size_t i = 0; i < n; ++i) worths[i * lanes + k] = std::exp(utilities[i]);
  }
  return worths;
}

std::vector<double> lane_prior(const Parameters& parameters) {
  std::vector<double> prior(padded_components(parameters.num_components()), 0.0);
  std::ranges::copy(parameters.weights, prior.begin());
  return prior;
}

Evaluation evaluation_of(const PassSums& sums, std::span<const double> worths, std::size_t num) {
  const std::size_t lanes = padded_components(num), n = worths.size() / lanes;
  Evaluation result;
  result.loglik = sums.loglik;
  result.responsibility.assign(sums.responsibility.begin(), sums.responsibility.begin() + static_cast<std::ptrdiff_t>(num));
  result.wins.resize(num * n);
  result.expected.resize(num * n);
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t i = 0; i < n; ++i) {
      result.wins[k * n + i] = std::max(sums.wins[i * lanes + k], 0.0);
      result.expected[k * n + i] = std::max(worths[i * lanes + k] * sums.exposure[i * lanes + k], 0.0);
    }
  return result;
}

Evaluation Objective::evaluate_strict(const Parameters& parameters, std::span<double> posterior, std::vector<double>* rows,
                                      Whose whose) const {
  const std::size_t num = num_components_;
  const std::vector<double> worths = lane_worths(parameters);
  const std::vector<double> prior = lane_prior(parameters);
  // What is written for every ranking is made here.
  const Batch& batch = (posterior.empty() || whose == Whose::own) && rows == nullptr ? this->batch() : whole_batch();
  std::vector<double> row_kept;
  Buffer<double> kept;
  PassInput input{.worths = worths, .prior = prior, .num_components = num};
  // Where the batch has the rankings in their own order, its memberships are theirs.
  const bool own = whose == Whose::own;
  const bool in_order = own || (batch.groups.size() == 1 && batch.count == data_->rankings.size());
  if (!posterior.empty()) {
    if (!in_order) kept = scratch_array<double>(data_->rankings.scratch(), batch.count * num);
    input.posterior = in_order ? posterior.data() : kept.data();
    input.own_rows = own;
  }
  if (rows != nullptr) {
    row_kept.resize(batch.count);
    input.row_loglik = row_kept.data();
  }
  Evaluation result = evaluation_of(run_pass(batch, input, workers_), worths, num);
  if (!posterior.empty() && !in_order) {
    for (std::size_t i = 0; i < data_->rankings.size(); ++i)
      for (std::size_t k = 0; k < num; ++k) posterior[i * num + k] = parameters.weights[k];
    for (std::size_t r = 0; r < batch.count; ++r)
      for (std::size_t k = 0; k < num; ++k) posterior[batch.source[r] * num + k] = kept[r * num + k];
  }
  if (rows != nullptr) {
    rows->assign(data_->rankings.size(), 0.0);
    for (std::size_t r = 0; r < batch.count; ++r) (*rows)[batch.source[r]] = row_kept[r];
  }
  return result;
}

Evaluation Objective::tie_pass(const Parameters& parameters, const CastRankings* voters, const double* voter_log_prior,
                               double* posterior, double* rows) const {
  const std::size_t n = num_items(), num = num_components_, orders = tie_orders_.size(), lanes = padded_components(num);
  std::vector<double> delta;
  for (double value : parameters.ties.log_delta) delta.push_back(std::exp(value));
  std::vector<double> powers(n * (orders + 1) * lanes, 1.0), log_worths(n * lanes, 0.0), log_prior(lanes, -infinity);
  for (std::size_t k = 0; k < num; ++k) {
    if (parameters.weights[k] > 0.0) log_prior[k] = std::log(parameters.weights[k]);
    const std::vector<double> utilities = shifted(parameters.component(k), tie_spread);
    for (std::size_t i = 0; i < n; ++i) {
      log_worths[i * lanes + k] = utilities[i];
      for (std::size_t o = 0; o <= orders; ++o)
        powers[(i * (orders + 1) + o) * lanes + k] = std::exp(o == 0 ? utilities[i] : utilities[i] / tie_orders_[o - 1]);
    }
  }
  const TieInput input{.powers = powers,
                       .log_worths = log_worths,
                       .log_prior = log_prior,
                       .delta = delta,
                       .log_delta = parameters.ties.log_delta,
                       .num_components = num,
                       .posterior = posterior,
                       .row_loglik = rows,
                       .voters = voters,
                       .voter_log_prior = voter_log_prior};
  TieSums sums = run_tie_pass(*tie_batch_, input, workers_);
  Evaluation result;
  result.loglik = sums.loglik;
  result.responsibility.assign(sums.responsibility.begin(), sums.responsibility.begin() + static_cast<std::ptrdiff_t>(num));
  result.tie_expected = std::move(sums.tie_expected);
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t i = 0; i < n; ++i) {
      result.wins.push_back(sums.wins[i * lanes + k]);
      result.expected.push_back(sums.expected[i * lanes + k]);
    }
  return result;
}

Evaluation Objective::evaluate_ties(const Parameters& parameters, std::vector<double>* posterior, std::vector<double>* rows) const {
  const TieBatch& batch = *tie_batch_;
  const std::size_t num = num_components_, count = batch.count();
  std::vector<double> kept(posterior != nullptr ? count * num : 0), row_kept(rows != nullptr ? count : 0);
  Evaluation result = tie_pass(parameters, nullptr, nullptr, posterior != nullptr ? kept.data() : nullptr,
                               rows != nullptr ? row_kept.data() : nullptr);
  if (posterior != nullptr) {
    posterior->resize(data_->rankings.size() * num);
    for (std::size_t i = 0; i < posterior->size(); ++i) (*posterior)[i] = parameters.weights[i % num];
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t k = 0; k < num; ++k) (*posterior)[batch.source[r] * num + k] = kept[r * num + k];
  }
  if (rows != nullptr) {
    rows->assign(data_->rankings.size(), 0.0);
    for (std::size_t r = 0; r < count; ++r) (*rows)[batch.source[r]] = row_kept[r];
  }
  return result;
}

void Objective::add_penalty(const Parameters& parameters, Evaluation& evaluation) const {
  if (logit_ != nullptr && by_voter_) evaluation.penalty += logit_->penalty(parameters.gamma);
  if (!(strength_ > 0.0)) return;
  const std::size_t n = num_items();
  for (std::size_t k = 0; k < num_components_; ++k) {
    const auto utilities = parameters.component(k);
    for (std::size_t i = 0; i < n; ++i) {
      // One win and one loss against worth 1: log a - 2 log(1 + a).
      const double utility = utilities[i], magnitude = std::abs(utility);
      evaluation.penalty -= strength_ * (magnitude + 2.0 * std::log1p(std::exp(-magnitude)));
      evaluation.wins[k * n + i] += strength_;
      evaluation.expected[k * n + i] += strength_ * 2.0 / (1.0 + std::exp(-utility));
    }
  }
}

}  // namespace caucus::pl_mixture
