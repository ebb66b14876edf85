#include "caucus/infer/dp_mallows/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/split_merge.h"

namespace caucus::dp_mallows {

namespace {
// A cluster that weighs e^-45 of the new one's weight is left out: thousands of them change no sum of weights in double precision.
constexpr double negligible_score = 45.0;
}  // namespace

double log_marginal(StageCache& cache, const Cluster& cluster, bool beta) {
  const Prior& prior = cache.prior();
  double value = 0.0;
  for (std::size_t j = 0; j < cluster.sums.size(); ++j) {
    if (cluster.counts[j] == 0.0) continue;
    const double empty = cluster.prior[j], a = empty + cluster.sums[j], b = prior.nu() + cluster.counts[j];
    value += (beta ? log_beta_integral(a, b) : cache.log_integral(j, a, b)) - prior.log_empty(j, empty, beta);
  }
  return value;
}

double log_partition(double alpha, std::span<const double> sizes) {
  double value = log_gamma_positive(alpha), total = 0.0;
  for (double size : sizes) {
    value += std::log(alpha) + log_gamma_positive(size);
    total += size;
  }
  return value - log_gamma_positive(alpha + total);
}

Chain::Chain(const Points& points, const Prior& prior, const ChainSettings& settings, RandomStream rng)
    : points_(points),
      prior_(prior),
      settings_(settings),
      rng_(rng),
      alpha_(prior.parameters().alpha),
      cache_(prior),
      table_(cache_, settings.method, !prior.informative() && !points.several()),
      envelopes_(prior.num_stages()) {}

void Chain::start_randomly() {
  const auto count = static_cast<std::uint64_t>(settings_.start_clusters);
  labels_.resize(points_.size());
  for (std::uint32_t& label : labels_) label = static_cast<std::uint32_t>(rng_.below(count));
  clusters_.resize(count);
  canonicalise();
  for (Cluster& cluster : clusters_) {
    prior_.draw_center(cluster.center, rng_);
    cluster.prior.resize(prior_.num_stages());
    prior_.stage_priors(cluster.center, cluster.prior);
    cluster.sums.assign(prior_.num_stages(), 0.0);
    cluster.counts.assign(prior_.num_stages(), 0.0);
    if (settings_.method == Method::slice_gibbs) draw_theta_all(cluster);
  }
  if (settings_.start_centers == StartCenters::fitted) {
    resample_centers();
  } else {  // Figures 1 and 5 go on with step 1 at once
    const auto members = members_by_cluster();
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      center_sampler_.load(points_, members[c], prior_.parameters().center, prior_.parameters().center_weight);
      update_statistics(clusters_[c]);
    }
  }
  fill_table();
}

void Chain::restore(const ChainState& state) {
  set_state(state);
  fill_table();
}

void Chain::set_state(const ChainState& state) {
  labels_ = state.labels;
  alpha_ = state.alpha;
  rng_.seek(state.drawn);
  clusters_.assign(state.centers.size(), {});
  const auto members = members_by_cluster();
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    Cluster& cluster = clusters_[c];
    set_order(cluster.center, state.centers[c]);
    if (settings_.method == Method::slice_gibbs) cluster.theta = state.theta[c];
    cluster.prior.resize(prior_.num_stages());
    cluster.sums.resize(prior_.num_stages());
    cluster.counts.resize(prior_.num_stages());
    center_sampler_.load(points_, members[c], prior_.parameters().center, prior_.parameters().center_weight);
    update_statistics(cluster);
    cluster.size = static_cast<double>(std::ranges::count(labels_, static_cast<std::uint32_t>(c)));
  }
}

ChainState Chain::state() const {
  ChainState state{.labels = labels_, .centers = {}, .theta = {}, .alpha = alpha_, .drawn = rng_.drawn()};
  for (const Cluster& cluster : clusters_) {
    state.centers.push_back(cluster.center.order);
    if (settings_.method == Method::slice_gibbs) state.theta.push_back(cluster.theta);
  }
  return state;
}

// What can be stopped at any time; false where it was, and then nothing of the chain but its record is of use.
bool Chain::stoppable(const std::function<bool()>& stop, const std::function<void()>& work) {
  stop_ = stop;
  stopped_ = false;
  center_sampler_.stop_when(stop);
  try {
    work();
  } catch (const CenterSampler::Stopped&) {
    stopped_ = true;
  }
  center_sampler_.stop_when({});
  stop_ = {};
  return !std::exchange(stopped_, false);
}

bool Chain::start_randomly(const std::function<bool()>& stop) {
  return stoppable(stop, [this] { start_randomly(); });
}

bool Chain::sweep(const std::function<bool()>& stop) {
  return stoppable(stop, [this] {
    resample_assignments();
    for (int k = 0; k < settings_.split_merge && !cut_short(); ++k) propose_split_or_merge();
    if (settings_.split_merge > 0) canonicalise();
    resample_centers();
    resample_alpha();
    fill_table();
  });
}

void Chain::fill_table() {
  table_.reset(clusters_.size());
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    if (cut_short()) throw CenterSampler::Stopped{};
    table_.set(c, clusters_[c]);
  }
}

void Chain::resample_assignments() {
  for (std::size_t point = 0; point < points_.size() && !(point % 64 == 0 && cut_short()); ++point) reassign(point);
  std::vector<Cluster> by_slot(table_.slots());
  for (std::size_t slot = 0; slot < table_.slots(); ++slot)
    if (table_.size(slot) > 0.0) by_slot[slot] = table_.get(slot);
  clusters_ = std::move(by_slot);
  canonicalise();
}

// Step 1: point i given all other assignments. Existing clusters weigh N_{-i,c} times their predictive of the ranking
// from the other members, a new one alpha times Lemma 1.
void Chain::reassign(std::size_t point) {
  if (table_.keeps_tables()) return reassign_by_tables(point);
  if (points_.of(point).size() > 1) return reassign_voter(point);
  const auto ranking = points_.of_point(point);
  const std::size_t old_slot = labels_[point];
  table_.remove(old_slot, ranking);
  const bool emptied = table_.size(old_slot) == 0.0;
  if (prior_.informative()) {
    // Neal's algorithm 8: candidates from the prior of sigma (and theta), the emptied cluster among them.
    const std::vector<std::size_t> candidates = make_candidates(old_slot, {});
    const double log_weight = std::log(alpha_ / settings_.auxiliary);
    for (std::size_t slot : candidates) table_.set_candidate(slot, log_weight);
    const std::size_t chosen = pick(table_.score(ranking), -infinity);
    for (std::size_t slot : candidates)
      if (slot != chosen) table_.release(slot);
    if (chosen == old_slot)
      table_.undo_remove(chosen, ranking);
    else
      table_.add(chosen, ranking);
    labels_[point] = static_cast<std::uint32_t>(chosen);
    return;
  }
  if (emptied) table_.release(old_slot);
  const double log_new = std::log(alpha_) + prior_.log_new(ranking.size());
  const std::span<double> scores = table_.score(ranking, log_new - negligible_score);
  std::size_t chosen = pick(scores, log_new);
  if (chosen == scores.size()) {
    chosen = table_.allocate();
    new_cluster(chosen, ranking);
    table_.add(chosen, ranking);
  } else if (chosen == old_slot) {
    table_.undo_remove(chosen, ranking);
  } else {
    table_.add(chosen, ranking);
  }
  labels_[point] = static_cast<std::uint32_t>(chosen);
}

// The same where all clusters have tables: a ballot that stays changes nothing.
void Chain::reassign_by_tables(std::size_t point) {
  const auto ranking = points_.of_point(point);
  const std::size_t old_slot = labels_[point];
  const std::span<const double> weights = table_.weigh(ranking, old_slot);
  std::size_t chosen = pick_weighed(weights, alpha_ * std::exp(prior_.log_new(ranking.size())));
  if (chosen == old_slot) return;
  table_.leave(ranking, old_slot);
  if (table_.size(old_slot) == 0.0) table_.release(old_slot);
  if (chosen == weights.size()) {
    chosen = table_.allocate();
    new_cluster(chosen, ranking);
    table_.add(chosen, ranking);
  } else {
    table_.join(ranking, chosen);
  }
  labels_[point] = static_cast<std::uint32_t>(chosen);
}

std::vector<std::size_t> Chain::make_candidates(std::size_t old_slot, std::span<const Item> given) {
  std::vector<std::size_t> candidates;
  if (table_.size(old_slot) == 0.0) candidates.push_back(old_slot);
  while (candidates.size() < static_cast<std::size_t>(settings_.auxiliary)) {
    candidates.push_back(table_.allocate());
    new_cluster(candidates.back(), given);
  }
  return candidates;
}

Ballots Chain::ballots_of(std::size_t point) {
  ballots_.clear();
  for (const std::uint32_t ranking : points_.of(point)) ballots_.push_back(points_[ranking]);
  return ballots_;
}

// A voter of several rankings R, all in one cluster. A new cluster has no closed form: algorithm 8 with sigma (and theta) from
// their posterior given one of the rankings, whose own probability has one (README).
void Chain::reassign_voter(std::size_t point) {
  const Ballots ballots = ballots_of(point);
  const std::size_t old_slot = labels_[point];
  table_.remove_voter(old_slot, ballots);
  std::span<const Item> given;
  if (!prior_.informative()) given = ballots[rng_.below(ballots.size())];
  const std::vector<std::size_t> candidates = make_candidates(old_slot, given);
  for (std::size_t slot : candidates) table_.set_candidate(slot, std::log(alpha_ / settings_.auxiliary));
  const std::span<double> scores = table_.score_voter(ballots);
  if (!given.empty())
    for (std::size_t slot : candidates)
      scores[slot] += prior_.log_new(given.size()) - table_.log_prob(slot, Ballots(&given, 1), cache_);
  const std::size_t chosen = pick(scores, -infinity);
  for (std::size_t slot : candidates)
    if (slot != chosen) table_.release(slot);
  table_.add_voter(chosen, ballots);
  labels_[point] = static_cast<std::uint32_t>(chosen);
}

// An index of `scores`, or scores.size() for the new cluster.
std::size_t Chain::pick(std::span<const double> scores, double log_new) {
  const double largest = std::max(largest_of(scores.data(), scores.size()), log_new);
  weights_.resize(scores.size());
  exp_weights(scores.data(), scores.size(), largest, weights_.data());
  return pick_weighed(weights_, std::exp(log_new - largest));
}

std::size_t Chain::pick_weighed(std::span<const double> weights, double new_weight) {
  double u = rng_.uniform() * (sum(weights) + new_weight);
  std::size_t last = weights.size();
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] == 0.0) continue;
    last = k;
    u -= weights[k];
    if (u < 0.0) return k;
  }
  return new_weight > 0.0 ? weights.size() : last;
}

// A cluster about to receive `ranking`; empty: from the prior.
void Chain::new_cluster(std::size_t slot, std::span<const Item> ranking) {
  Cluster cluster;
  cluster.prior.resize(prior_.num_stages());
  cluster.sums.assign(prior_.num_stages(), 0.0);
  cluster.counts.assign(prior_.num_stages(), 0.0);
  if (ranking.empty())
    prior_.draw_center(cluster.center, rng_);
  else
    prior_.draw_center_given(ranking, cluster.center, rng_);
  prior_.stage_priors(cluster.center, cluster.prior);
  if (settings_.method == Method::slice_gibbs) {
    std::vector<std::int32_t> s(ranking.size());
    codes(
        ranking, [&](Item item) { return static_cast<std::int32_t>(cluster.center.position[static_cast<std::size_t>(item)]); }, s);
    for (std::size_t j = 0; j < prior_.num_stages(); ++j) {
      const double more = j < s.size() ? 1.0 : 0.0, code = j < s.size() ? s[j] : 0.0;
      cluster.theta.push_back(draw_theta(prior_.stage_size(j), cluster.prior[j] + code, prior_.nu() + more, rng_));
    }
  }
  table_.set(slot, cluster);
}

std::vector<std::vector<Member>> Chain::members_by_cluster() const {
  std::vector<std::vector<Member>> members(clusters_.size());
  for (std::uint32_t ballot : points_.by_ranking) {
    std::vector<Member>& list = members[labels_[points_.point_of(ballot)]];
    if (!list.empty() && list.back().ranking == points_.ranking[ballot])
      list.back().weight += 1.0;
    else
      list.push_back({points_.ranking[ballot], 1.0});
  }
  return members;
}

void Chain::canonicalise() {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> renumbered(clusters_.size(), none);
  std::vector<Cluster> ordered;
  for (std::uint32_t& label : labels_) {
    if (renumbered[label] == none) {
      renumbered[label] = static_cast<std::uint32_t>(ordered.size());
      ordered.push_back(std::move(clusters_[label]));
      ordered.back().size = 0.0;
    }
    label = renumbered[label];
    ordered[label].size += 1.0;
  }
  clusters_ = std::move(ordered);
}

void Chain::update_statistics(Cluster& cluster) {
  center_sampler_.statistics(cluster.center, cluster.sums, cluster.counts);
  prior_.stage_priors(cluster.center, cluster.prior);
}

// theta given sigma and the members, from its full conditional.
void Chain::draw_theta_all(Cluster& cluster) {
  cluster.theta.assign(prior_.num_stages(), 0.0);
  const bool collapsed = settings_.method != Method::slice_gibbs;
  for (std::size_t j = 0; j < prior_.num_stages(); ++j) {
    if (collapsed && cluster.counts[j] == 0.0 && j >= prior_.parameters().center.size()) break;  // no row has this stage
    const double a = cluster.prior[j] + cluster.sums[j], b = prior_.nu() + cluster.counts[j];
    if (settings_.method == Method::beta_gibbs) {
      cluster.theta[j] = draw_theta_beta(a, b, rng_);
      continue;
    }
    // Rounds of theta and sigma often leave sigma where it is.
    if (!envelopes_[j].is_of(prior_.stage_size(j), a, b)) envelopes_[j].build(prior_.stage_size(j), a, b);
    cluster.theta[j] = envelopes_[j].draw(rng_);
  }
}

void Chain::resample_centers() {
  const auto members = members_by_cluster();
  for (std::size_t c = 0; c < clusters_.size(); ++c) {
    if (cut_short()) throw CenterSampler::Stopped{};
    resample_center(clusters_[c], members[c]);
  }
}

void Chain::resample_center(Cluster& cluster, std::span<const Member> members) {
  const bool collapsed = settings_.method != Method::slice_gibbs;
  center_sampler_.load(points_, members, prior_.parameters().center, prior_.parameters().center_weight);
  if (collapsed && members.size() == 1 && members[0].weight == 1.0 && !prior_.informative()) {
    prior_.draw_center_given(points_[members[0].ranking], cluster.center, rng_);
    update_statistics(cluster);
    return;
  }
  update_statistics(cluster);
  for (int step = 0; step < settings_.gibbs_steps; ++step) {
    if (collapsed) draw_theta_all(cluster);  // an auxiliary draw: theta is not part of the state
    bool moved = true;
    if (settings_.center_move == CenterMove::corrected) {
      moved = center_sampler_.metropolis_stagewise(cluster.theta, cluster.center, rng_);
      if (step + 1 == settings_.gibbs_steps) {
        center_sampler_.swap_adjacent(cluster.theta, cluster.center, rng_);
        moved = true;
      }
    } else {
      center_sampler_.sample_stagewise(cluster.theta, cluster.center, rng_);
    }
    if (moved) update_statistics(cluster);
    if (!collapsed)
      for (std::size_t j = 0; j < cluster.theta.size(); ++j)
        cluster.theta[j] = sample_theta_slice(prior_.stage_size(j), cluster.prior[j] + cluster.sums[j],
                                              prior_.nu() + cluster.counts[j], cluster.theta[j], settings_.slice_steps, rng_);
  }
  if (collapsed) cluster.theta.clear();
}

// Escobar & West (1995), section 6: alpha ~ Gamma(shape, rate) given the number of clusters, with an auxiliary Beta.
void Chain::resample_alpha() {
  if (!settings_.alpha_prior) return;
  const auto [shape, rate] = *settings_.alpha_prior;
  const double clusters = static_cast<double>(clusters_.size()), total = static_cast<double>(points_.size());
  const double log_x = rng_.log_gamma(alpha_ + 1.0), log_y = rng_.log_gamma(total);
  const double log_eta = -std::log1p(std::exp(log_y - log_x));  // eta ~ Beta(alpha + 1, N)
  const double new_rate = rate - log_eta;
  const double odds = (shape + clusters - 1.0) / (total * new_rate);
  const double more = rng_.uniform() * (1.0 + odds) < odds ? 0.0 : 1.0;
  alpha_ = rng_.gamma(shape + clusters - more) / new_rate;
  alpha_ = std::max(alpha_, 1e-12);
}

double Chain::log_joint() const {
  std::vector<double> sizes;
  for (const Cluster& cluster : clusters_) sizes.push_back(cluster.size);
  double value = log_partition(alpha_, sizes);
  for (const Cluster& cluster : clusters_) value += prior_.log_center(cluster.center) + log_marginal(cache_, cluster, false);
  return value;
}

void Chain::propose_split_or_merge() { SplitMerge(*this).propose(); }

}  // namespace caucus::dp_mallows
