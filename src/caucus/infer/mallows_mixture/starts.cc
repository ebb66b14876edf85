#include "caucus/infer/mallows_mixture/starts.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/infer/mallows_tensor/start.h"
#include "caucus/model/decompositions.h"
#include "caucus/model/kendall.h"

namespace caucus::mallows_mixture {

Starts::Starts(const MallowsEngine& engine, const RankingSet& rankings, std::size_t num_components, MallowsStart kind,
               std::uint64_t seed, std::function<bool()> stop)
    : engine_(engine), rankings_(rankings), num_components_(num_components), kind_(kind), seed_(seed), stop_(std::move(stop)) {
  if (num_components > 1 && (kind == MallowsStart::spectral || kind == MallowsStart::automatic)) embed();
}

std::vector<std::uint32_t> Starts::labels(std::uint64_t index) const {
  if (num_components_ == 1) return std::vector<std::uint32_t>(rankings_.size(), 0);
  RandomStream stream(seed_, Purpose::initialise, index);
  MallowsStart kind = kind_;
  if (kind == MallowsStart::automatic) {
    const MallowsStart turn[] = {MallowsStart::spectral, MallowsStart::kmeans, MallowsStart::random};
    kind = turn[index % 3];
  }
  if (kind == MallowsStart::spectral) return spectral_labels(stream);
  // Starts run in parallel already, so one thread each.
  if (kind == MallowsStart::tensor)
    return mallows_tensor::tensor_labels(
        rankings_, Unranked::last, mallows_tensor::tensor_start(rankings_, engine_.num_items(), num_components_, seed_ + index), 1);
  return kmeans_labels(stream, kind == MallowsStart::kmeans, kind == MallowsStart::kmeans ? 5 : 0);
}

// The ballots' features: +1, -1 or 0 for each pair, or the mean place of each item.
void Starts::embed() {
  constexpr std::size_t most_eigenvectors = 300;
  const std::size_t n = engine_.num_items(), count = rankings_.size();
  const bool pairs = n <= 11;
  const std::size_t features = pairs ? n * (n - 1) / 2 : n;
  if (features == 0) return;
  std::vector<double> place(n);
  Eigen::VectorXd x(static_cast<Eigen::Index>(features));
  const auto fill = [&](std::size_t i) {
    const RankingView ranking = rankings_[i];
    const double listed = static_cast<double>(ranking.size());
    std::fill(place.begin(), place.end(), 0.5 * (listed + static_cast<double>(n) - 1.0));
    double before = 0.0;
    ranking.for_each_group([&](std::span<const ItemId> group) {
      const double size = static_cast<double>(group.size());
      for (ItemId item : group) place[item] = before + 0.5 * (size - 1.0);
      before += size;
    });
    if (!pairs) {
      for (std::size_t a = 0; a < n; ++a) x[static_cast<Eigen::Index>(a)] = place[a];
      return;
    }
    Eigen::Index p = 0;
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = a + 1; b < n; ++b) x[p++] = place[a] < place[b] ? 1.0 : place[a] > place[b] ? -1.0 : 0.0;
  };
  // A regular subsample is enough for the directions.
  const std::size_t stride = std::max<std::size_t>(1, count / 5000);
  dimensions_ = std::min(features, num_components_);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(x.size());
  double total = 0.0;
  Eigen::MatrixXd directions;
  if (features <= most_eigenvectors) {
    Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(x.size(), x.size());
    for (std::size_t i = 0; i < count; i += stride) {
      fill(i);
      const double weight = rankings_.weights()[i];
      mean += weight * x;
      covariance.selfadjointView<Eigen::Lower>().rankUpdate(x, weight);
      total += weight;
    }
    mean /= total;
    covariance /= total;
    covariance.selfadjointView<Eigen::Lower>().rankUpdate(mean, -1.0);
    directions = symmetric_eigenvectors(covariance).vectors.rightCols(static_cast<Eigen::Index>(dimensions_));
  } else {
    for (std::size_t i = 0; i < count; i += stride) {
      fill(i);
      mean += rankings_.weights()[i] * x;
      total += rankings_.weights()[i];
    }
    mean /= total;
    // All eigenvectors take a time in n^3, minutes for thousands of items; the first few are found by turning the block.
    RandomStream random(seed_, Purpose::svd, 0);
    directions.resize(x.size(), static_cast<Eigen::Index>(dimensions_));
    for (double& value : directions.reshaped()) value = random.normal();
    for (int turn = 0; turn < 8; ++turn) {
      Eigen::MatrixXd turned = Eigen::MatrixXd::Zero(directions.rows(), directions.cols());
      for (std::size_t i = 0; i < count; i += stride) {
        if (stop_ && i % 16 == 0 && stop_()) break;
        fill(i);
        const Eigen::VectorXd off = x - mean;
        turned.noalias() += (rankings_.weights()[i] * off) * (off.transpose() * directions);
      }
      if (stop_ && stop_()) break;
      directions = orthonormal_basis(turned);
    }
  }
  scores_.resize(count * dimensions_);
  for (std::size_t i = 0; i < count; ++i) {
    fill(i);
    Eigen::Map<Eigen::VectorXd>(scores_.data() + i * dimensions_, static_cast<Eigen::Index>(dimensions_)) =
        directions.transpose() * (x - mean);
  }
}

std::vector<std::uint32_t> Starts::spectral_labels(RandomStream& stream) const {
  const std::size_t count = rankings_.size(), d = dimensions_;
  std::vector<std::uint32_t> labels(count, 0);
  if (d == 0) return labels;
  std::vector<double> center(num_components_ * d), nearest(count, infinity), chance(count);
  const auto distance = [&](std::size_t i, std::size_t k) {
    double total = 0.0;
    for (std::size_t j = 0; j < d; ++j)
      total += (scores_[i * d + j] - center[k * d + j]) * (scores_[i * d + j] - center[k * d + j]);
    return total;
  };
  for (std::size_t k = 0; k < num_components_; ++k) {
    double total = 0.0;
    for (std::size_t i = 0; i < count; ++i) total += chance[i] = rankings_.weights()[i] * (k == 0 ? 1.0 : nearest[i]);
    const std::size_t pick = total > 0.0 ? stream.categorical(chance) : stream.below(count);
    std::copy_n(scores_.begin() + static_cast<std::ptrdiff_t>(pick * d), d, center.begin() + static_cast<std::ptrdiff_t>(k * d));
    for (std::size_t i = 0; i < count; ++i) nearest[i] = std::min(nearest[i], distance(i, k));
  }
  for (int round = 0; round < 20; ++round) {
    bool changed = round == 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t best = 0;
      double least = infinity;
      for (std::size_t k = 0; k < num_components_; ++k)
        if (const double value = distance(i, k); value < least) least = value, best = static_cast<std::uint32_t>(k);
      changed = changed || labels[i] != best;
      labels[i] = best;
    }
    if (!changed) break;
    std::vector<double> mass(num_components_, 0.0), moved(num_components_ * d, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      mass[labels[i]] += rankings_.weights()[i];
      for (std::size_t j = 0; j < d; ++j) moved[labels[i] * d + j] += rankings_.weights()[i] * scores_[i * d + j];
    }
    for (std::size_t k = 0; k < num_components_; ++k)
      if (mass[k] > 0.0)
        for (std::size_t j = 0; j < d; ++j) center[k * d + j] = moved[k * d + j] / mass[k];
  }
  return labels;
}

std::vector<std::uint32_t> Starts::kmeans_labels(RandomStream& stream, bool plus_plus, int rounds) const {
  const std::size_t count = rankings_.size(), n = engine_.num_items();
  std::vector<std::uint32_t> labels(count, 0), least(count, ~std::uint32_t{0});
  std::vector<double> chance(count);
  const auto draw_center = [&](bool far) {
    double total = 0.0;
    for (std::size_t i = 0; i < count; ++i)
      total += chance[i] = rankings_.weights()[i] * (far ? static_cast<double>(least[i]) : 1.0);
    const RankingView ranking = rankings_[total > 0.0 ? stream.categorical(chance) : stream.below(count)];
    // Ties and unlisted items in random order.
    std::vector<ItemId> order(ranking.items().begin(), ranking.items().end());
    std::size_t begin = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!ranking.ends_group(i)) continue;
      stream.shuffle(std::span<ItemId>(order).subspan(begin, i + 1 - begin));
      begin = i + 1;
    }
    std::vector<bool> listed(n, false);
    for (ItemId item : order) listed[item] = true;
    for (std::size_t item = 0; item < n; ++item)
      if (!listed[item]) order.push_back(static_cast<ItemId>(item));
    stream.shuffle(std::span<ItemId>(order).subspan(ranking.size()));
    return order;
  };
  const auto assign = [&](std::span<const ItemId> center, std::uint32_t k) {
    const std::vector<std::uint32_t> distance = engine_.distances(center);
    for (std::size_t i = 0; i < count; ++i)
      if (distance[i] < least[i]) least[i] = distance[i], labels[i] = k;
  };
  for (std::size_t k = 0; k < num_components_; ++k) assign(draw_center(plus_plus && k > 0), static_cast<std::uint32_t>(k));
  for (int round = 0; round < rounds; ++round) {
    const std::vector<std::uint32_t> before = labels;
    const Parameters means = engine_.from_labels(labels, num_components_);
    std::fill(least.begin(), least.end(), ~std::uint32_t{0});
    for (std::size_t k = 0; k < num_components_; ++k) assign(means.center[k], static_cast<std::uint32_t>(k));
    if (labels == before) break;
  }
  return labels;
}

}  // namespace caucus::mallows_mixture
