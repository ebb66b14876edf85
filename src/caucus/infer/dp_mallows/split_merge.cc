#include "caucus/infer/dp_mallows/split_merge.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"

namespace caucus::dp_mallows {

void SplitMerge::clear(Side& side) const {
  const std::size_t stages = chain_.prior_.num_stages();
  side.cluster.size = 0.0;
  side.cluster.prior.resize(stages);
  side.cluster.sums.assign(stages, 0.0);
  side.cluster.counts.assign(stages, 0.0);
  chain_.prior_.stage_priors(side.cluster.center, side.cluster.prior);
}

double SplitMerge::log_predictive(const Side& side, std::uint32_t point) {
  const Cluster& cluster = side.cluster;
  const bool beta = chain_.settings_.method == Method::beta_gibbs;
  const auto position = [&](Item item) {
    return static_cast<std::int32_t>(cluster.center.position[static_cast<std::size_t>(item)]);
  };
  if (chain_.points_.of(point).size() > 1) {
    VoterCodes own;
    own.fill(chain_.ballots_of(point), position, chain_.prior_.num_stages());
    return log_voter(own, cluster.prior, cluster.sums, cluster.counts, chain_.prior_.nu(), beta ? nullptr : &chain_.cache_);
  }
  const auto ranking = chain_.points_.of_point(point);
  codes(ranking, position, std::span(codes_));
  double value = 0.0;
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    const double a = cluster.prior[j] + cluster.sums[j], b = chain_.prior_.nu() + cluster.counts[j];
    value += beta ? log_beta_predictive(a, b, codes_[j]) : chain_.cache_.log_predictive(j, a, b)[codes_[j]];
  }
  return value;
}

void SplitMerge::shift(Side& side, std::uint32_t point, double sign) {
  Cluster& cluster = side.cluster;
  for (const std::uint32_t r : chain_.points_.of(point)) {
    const auto ranking = chain_.points_[r];
    codes(
        ranking, [&](Item item) { return static_cast<std::int32_t>(cluster.center.position[static_cast<std::size_t>(item)]); },
        std::span(codes_));
    for (std::size_t j = 0; j < ranking.size(); ++j) {
      cluster.sums[j] += sign * codes_[j];
      cluster.counts[j] += sign;
    }
  }
  cluster.size += sign;
}

void SplitMerge::load(const std::vector<std::uint32_t>& points, const std::vector<std::uint8_t>& labels, int which) {
  std::vector<Member> members;
  for (std::size_t k = 0; k < points.size(); ++k)
    if (which < 0 || labels[k] == which)
      for (const std::uint32_t ranking : chain_.points_.of(points[k])) members.push_back({ranking, 1.0});
  chain_.center_sampler_.load(chain_.points_, members, chain_.prior_.parameters().center, chain_.prior_.parameters().center_weight);
}

void SplitMerge::draw_theta(Side& side) {
  side.theta.resize(chain_.prior_.num_stages());
  for (std::size_t j = 0; j < side.theta.size(); ++j) {
    const double a = side.cluster.prior[j] + side.cluster.sums[j], b = chain_.prior_.nu() + side.cluster.counts[j];
    side.theta[j] = chain_.settings_.method == Method::beta_gibbs
                        ? draw_theta_beta(a, b, chain_.rng_)
                        : dp_mallows::draw_theta(chain_.prior_.stage_size(j), a, b, chain_.rng_);
  }
}

void SplitMerge::scan_centers(const std::vector<std::uint32_t>& points, const std::vector<std::uint8_t>& labels) {
  for (int which = 0; which < 2; ++which) {
    Side& side = sides_[which];
    load(points, labels, which);
    draw_theta(side);
    chain_.center_sampler_.sample_stagewise(side.theta, side.cluster.center, chain_.rng_);
    chain_.update_statistics(side.cluster);
  }
}

double SplitMerge::scan_labels(const std::vector<std::uint32_t>& points, std::vector<std::uint8_t>& labels,
                               const std::vector<std::uint8_t>* target) {
  double log_q = 0.0;
  for (std::size_t k = 2; k < points.size() && !(k % 64 == 0 && chain_.cut_short()); ++k) {
    shift(sides_[labels[k]], points[k], -1.0);
    const double first = std::log(sides_[0].cluster.size) + log_predictive(sides_[0], points[k]);
    const double second = std::log(sides_[1].cluster.size) + log_predictive(sides_[1], points[k]);
    const double log_odds = second - first;
    const double log_p1 = log_odds > 0.0 ? -std::log1p(std::exp(-log_odds)) : log_odds - std::log1p(std::exp(log_odds));
    const double log_p0 = log_p1 - log_odds;
    if (target != nullptr)
      labels[k] = (*target)[k];
    else
      labels[k] = std::log(chain_.rng_.uniform_open()) < log_p1 ? 1 : 0;
    log_q += labels[k] == 1 ? log_p1 : log_p0;
    shift(sides_[labels[k]], points[k], 1.0);
  }
  return log_q;
}

bool SplitMerge::choose(Move& move) {
  const Points& data = chain_.points_;
  if (data.size() < 2) return false;
  const auto i = static_cast<std::uint32_t>(chain_.rng_.below(data.size()));
  auto j = static_cast<std::uint32_t>(chain_.rng_.below(data.size() - 1));
  if (j >= i) ++j;
  move.first = chain_.labels_[i];
  move.second = chain_.labels_[j];
  move.points = {i, j};
  move.now = {0, 1};
  for (std::uint32_t k = 0; k < data.size(); ++k) {
    if (k == i || k == j || (chain_.labels_[k] != move.first && chain_.labels_[k] != move.second)) continue;
    move.points.push_back(k);
    move.now.push_back(!move.splits() && chain_.labels_[k] == move.second ? 1 : 0);
  }
  return true;
}

void SplitMerge::launch_split(Move& move) {
  move.labels.assign(move.points.size(), 0);
  move.labels[1] = 1;
  for (std::size_t which = 0; which < 2; ++which) {
    Side& side = sides_[which];
    chain_.prior_.draw_center_given(chain_.points_.of_point(move.points[which]), side.cluster.center, chain_.rng_);
    clear(side);
    shift(side, move.points[which], 1.0);
  }
  for (std::size_t k = 2; k < move.points.size(); ++k) {
    const double logs[2] = {std::log(sides_[0].cluster.size) + log_predictive(sides_[0], move.points[k]),
                            std::log(sides_[1].cluster.size) + log_predictive(sides_[1], move.points[k])};
    move.labels[k] = static_cast<std::uint8_t>(chain_.rng_.categorical_log(logs));
    shift(sides_[move.labels[k]], move.points[k], 1.0);
  }
  for (int scan = 0; scan < chain_.settings_.split_merge_scans && !chain_.cut_short(); ++scan) {
    scan_centers(move.points, move.labels);
    scan_labels(move.points, move.labels, nullptr);
  }
  for (Side& side : sides_) draw_theta(side);
}

void SplitMerge::launch_merge(const Move& move) {
  chain_.prior_.draw_center_given(chain_.points_.of_point(move.points[0]), merged_.cluster.center, chain_.rng_);
  clear(merged_);
  load(move.points, move.labels, -1);
  chain_.update_statistics(merged_.cluster);
  for (int scan = 0; scan <= chain_.settings_.split_merge_scans && !chain_.cut_short(); ++scan) {
    draw_theta(merged_);
    if (scan == chain_.settings_.split_merge_scans) break;
    chain_.center_sampler_.sample_stagewise(merged_.theta, merged_.cluster.center, chain_.rng_);
    chain_.update_statistics(merged_.cluster);
  }
}

double SplitMerge::log_side(const Cluster& cluster) const {
  return chain_.prior_.log_center(cluster.center) +
         log_marginal(chain_.cache_, cluster, chain_.settings_.method == Method::beta_gibbs) + log_gamma_positive(cluster.size);
}

double SplitMerge::log_density(const Side& side, const Center& center) const {
  return chain_.center_sampler_.log_density(side.theta, center);
}

double SplitMerge::split(Move& move) {
  double log_ratio = -scan_labels(move.points, move.labels, nullptr);
  for (int which = 0; which < 2; ++which) {
    Side& side = sides_[which];
    load(move.points, move.labels, which);
    chain_.center_sampler_.sample_stagewise(side.theta, side.cluster.center, chain_.rng_);
    log_ratio -= log_density(side, side.cluster.center);
    chain_.update_statistics(side.cluster);
    log_ratio += log_side(side.cluster);
  }
  const Cluster& old = chain_.clusters_[move.first];
  load(move.points, move.labels, -1);
  return log_ratio + (log_density(merged_, old.center) + std::log(chain_.alpha_) - log_side(old));
}

double SplitMerge::merge(Move& move) {
  double log_ratio = scan_labels(move.points, move.labels, &move.now);
  for (int which = 0; which < 2; ++which) {
    const Cluster& old = chain_.clusters_[which == 0 ? move.first : move.second];
    load(move.points, move.now, which);
    log_ratio += log_density(sides_[which], old.center) - log_side(old);
  }
  load(move.points, move.labels, -1);
  chain_.center_sampler_.sample_stagewise(merged_.theta, merged_.cluster.center, chain_.rng_);
  log_ratio -= log_density(merged_, merged_.cluster.center);
  chain_.update_statistics(merged_.cluster);
  merged_.cluster.size = static_cast<double>(move.points.size());
  return log_ratio + (log_side(merged_.cluster) - std::log(chain_.alpha_));
}

void SplitMerge::accept(const Move& move) {
  const bool slice = chain_.settings_.method == Method::slice_gibbs;
  if (move.splits()) {
    for (Side& side : sides_)
      if (slice) chain_.draw_theta_all(side.cluster);
    const auto added = static_cast<std::uint32_t>(chain_.clusters_.size());
    chain_.clusters_[move.first] = std::move(sides_[0].cluster);
    chain_.clusters_.push_back(std::move(sides_[1].cluster));
    for (std::size_t k = 0; k < move.points.size(); ++k)
      if (move.labels[k] == 1) chain_.labels_[move.points[k]] = added;
  } else {
    if (slice) chain_.draw_theta_all(merged_.cluster);
    chain_.clusters_[move.first] = std::move(merged_.cluster);
    for (std::uint32_t point : move.points) chain_.labels_[point] = move.first;
    // The second label is now empty; canonicalise() drops it.
  }
}

void SplitMerge::propose() {
  chain_.cache_.trim();
  codes_.resize(chain_.prior_.num_stages());
  merged_ = {};
  Move move;
  if (!choose(move)) return;
  launch_split(move);
  launch_merge(move);
  if (chain_.cut_short()) return;  // nothing was changed
  SplitMergeCounts& counts = chain_.split_merge_counts_;
  ++(move.splits() ? counts.splits_tried : counts.merges_tried);
  const double log_ratio = move.splits() ? split(move) : merge(move);
  if (!(std::log(chain_.rng_.uniform_open()) < log_ratio)) return;
  ++(move.splits() ? counts.splits_accepted : counts.merges_accepted);
  accept(move);
}

}  // namespace caucus::dp_mallows
