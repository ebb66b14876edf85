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
    return log_voter(own, cluster.prior, cluster.sums, cluster.counts, chain_.prior_.nu(), beta ? nullptr : &chain_.integrals_);
  }
  const auto ranking = chain_.points_.of_point(point);
  codes(ranking, position, std::span(codes_));
  double value = 0.0;
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    const double a = cluster.prior[j] + cluster.sums[j], b = chain_.prior_.nu() + cluster.counts[j];
    value += beta ? log_beta_predictive(a, b, codes_[j]) : chain_.predictive_cache_.get(j, a, b)[codes_[j]];
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

void SplitMerge::propose() {
  const Points& data = chain_.points_;
  RandomStream& rng = chain_.rng_;
  if (data.size() < 2) return;
  chain_.predictive_cache_.trim();
  codes_.resize(chain_.prior_.num_stages());
  const auto i = static_cast<std::uint32_t>(rng.below(data.size()));
  auto j = static_cast<std::uint32_t>(rng.below(data.size() - 1));
  if (j >= i) ++j;
  const std::uint32_t label_i = chain_.labels_[i], label_j = chain_.labels_[j];
  const bool splitting = label_i == label_j;

  std::vector<std::uint32_t> points{i, j};
  std::vector<std::uint8_t> current{0, 1};
  for (std::uint32_t k = 0; k < data.size(); ++k) {
    if (k == i || k == j || (chain_.labels_[k] != label_i && chain_.labels_[k] != label_j)) continue;
    points.push_back(k);
    current.push_back(!splitting && chain_.labels_[k] == label_j ? 1 : 0);
  }

  // Launch state of the split.
  const bool beta = chain_.settings_.method == Method::beta_gibbs;
  std::vector<std::uint8_t> labels(points.size(), 0);
  labels[1] = 1;
  for (int which = 0; which < 2; ++which) {
    chain_.prior_.draw_center_given(data.of_point(points[static_cast<std::size_t>(which)]), sides_[which].cluster.center, rng);
    clear(sides_[which]);
    shift(sides_[which], points[static_cast<std::size_t>(which)], 1.0);
  }
  for (std::size_t k = 2; k < points.size(); ++k) {
    const double logs[2] = {std::log(sides_[0].cluster.size) + log_predictive(sides_[0], points[k]),
                            std::log(sides_[1].cluster.size) + log_predictive(sides_[1], points[k])};
    labels[k] = static_cast<std::uint8_t>(rng.categorical_log(logs));
    shift(sides_[labels[k]], points[k], 1.0);
  }
  for (int scan = 0; scan < chain_.settings_.split_merge_scans && !chain_.cut_short(); ++scan) {
    scan_centers(points, labels);
    scan_labels(points, labels, nullptr);
  }
  for (Side& side : sides_) draw_theta(side);

  // Launch state of the merge: a center of all the points.
  Side merged;
  chain_.prior_.draw_center_given(data.of_point(i), merged.cluster.center, rng);
  clear(merged);
  load(points, labels, -1);
  chain_.update_statistics(merged.cluster);
  for (int scan = 0; scan <= chain_.settings_.split_merge_scans && !chain_.cut_short(); ++scan) {
    draw_theta(merged);
    if (scan == chain_.settings_.split_merge_scans) break;
    chain_.center_sampler_.sample_stagewise(merged.theta, merged.cluster.center, rng);
    chain_.update_statistics(merged.cluster);
  }

  if (chain_.cut_short()) return;  // nothing was changed
  // The proposal and the ratio.
  const auto log_side = [&](const Cluster& cluster) {
    return chain_.prior_.log_center(cluster.center) + log_marginal(chain_.prior_, cluster, beta) + log_gamma_positive(cluster.size);
  };
  const double log_alpha = std::log(chain_.alpha_);
  double log_ratio = 0.0;
  if (splitting) {
    log_ratio -= scan_labels(points, labels, nullptr);
    for (int which = 0; which < 2; ++which) {
      Side& side = sides_[which];
      load(points, labels, which);
      chain_.center_sampler_.sample_stagewise(side.theta, side.cluster.center, rng);
      log_ratio -= chain_.center_sampler_.log_density(side.theta, side.cluster.center);
      chain_.update_statistics(side.cluster);
      log_ratio += log_side(side.cluster);
    }
    const Cluster& old = chain_.clusters_[label_i];
    load(points, labels, -1);
    log_ratio += chain_.center_sampler_.log_density(merged.theta, old.center) + log_alpha - log_side(old);
    ++chain_.split_merge_counts_.splits_tried;
  } else {
    log_ratio += scan_labels(points, labels, &current);
    for (int which = 0; which < 2; ++which) {
      const Cluster& old = chain_.clusters_[which == 0 ? label_i : label_j];
      load(points, current, which);
      log_ratio += chain_.center_sampler_.log_density(sides_[which].theta, old.center) - log_side(old);
    }
    load(points, labels, -1);
    chain_.center_sampler_.sample_stagewise(merged.theta, merged.cluster.center, rng);
    log_ratio -= chain_.center_sampler_.log_density(merged.theta, merged.cluster.center);
    chain_.update_statistics(merged.cluster);
    merged.cluster.size = static_cast<double>(points.size());
    log_ratio += log_side(merged.cluster) - log_alpha;
    ++chain_.split_merge_counts_.merges_tried;
  }
  if (!(std::log(rng.uniform_open()) < log_ratio)) return;

  const bool slice = chain_.settings_.method == Method::slice_gibbs;
  if (splitting) {
    ++chain_.split_merge_counts_.splits_accepted;
    for (Side& side : sides_)
      if (slice) chain_.draw_theta_all(side.cluster);
    const auto added = static_cast<std::uint32_t>(chain_.clusters_.size());
    chain_.clusters_[label_i] = std::move(sides_[0].cluster);
    chain_.clusters_.push_back(std::move(sides_[1].cluster));
    for (std::size_t k = 0; k < points.size(); ++k)
      if (labels[k] == 1) chain_.labels_[points[k]] = added;
  } else {
    ++chain_.split_merge_counts_.merges_accepted;
    if (slice) chain_.draw_theta_all(merged.cluster);
    chain_.clusters_[label_i] = std::move(merged.cluster);
    for (std::uint32_t point : points) chain_.labels_[point] = label_i;
    // label_j is now empty; canonicalise() drops it.
  }
}

}  // namespace caucus::dp_mallows
