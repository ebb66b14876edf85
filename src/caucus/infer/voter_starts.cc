#include "caucus/infer/voter_starts.h"

#include <algorithm>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/infer/kmeans.h"

namespace caucus {

namespace {

// By item, places won less places lost, over the times it was listed: between -1 and 1, nearer to 0 the fewer they are.
class VoterProfiles {
 public:
  explicit VoterProfiles(const Dataset& data) : data_(data), seen_(data.num_items()) {}
  void write(std::size_t voter, double* point) {
    const std::size_t n = seen_.size();
    std::fill_n(point, n, 0.0);
    std::ranges::fill(seen_, 0.0);
    const Incidence& cast = data_.voters.rankings;
    for (std::size_t j = cast.begin[voter]; j < cast.begin[voter + 1]; ++j) {
      const RankingView ranking = data_.rankings[cast.other[j]];
      const double times = cast.count(j);
      const double others = static_cast<double>(data_.unranked == Unranked::last ? n : ranking.size()) - 1.0;
      if (!(others > 0.0)) continue;
      std::size_t begin = 0;
      ranking.for_each_group([&](std::span<const ItemId> group) {
        const double place = static_cast<double>(begin) + 0.5 * static_cast<double>(group.size() - 1);
        for (const ItemId item : group) {
          point[item] += times * (1.0 - 2.0 * place / others);
          seen_[item] += times;
        }
        begin += group.size();
      });
    }
    for (std::size_t i = 0; i < n; ++i) point[i] /= seen_[i] + 1.0;
  }

 private:
  const Dataset& data_;
  std::vector<double> seen_;
};

}  // namespace

std::vector<std::uint32_t> voter_labels(const Dataset& data, std::size_t num_groups, std::uint64_t seed, std::uint64_t index,
                                        int threads) {
  const std::size_t n = data.num_items(), count = data.voters.size();
  RandomStream random(seed, Purpose::initialise, index);
  std::vector<std::uint32_t> labels(count, 0);
  if (num_groups == 1) return labels;
  if (index % 3 == 2) {
    for (std::uint32_t& label : labels) label = static_cast<std::uint32_t>(random.below(num_groups));
    return labels;
  }
  const std::size_t most = std::max<std::size_t>(2000, 400'000 / std::max<std::size_t>(n, 1));
  std::vector<std::size_t> chosen(count);
  for (std::size_t v = 0; v < count; ++v) chosen[v] = v;
  if (count > most) {
    for (std::size_t c = 0; c < most; ++c) std::swap(chosen[c], chosen[c + random.below(count - c)]);
    chosen.resize(most);
  }
  VoterProfiles profiles(data);
  std::vector<double> points(chosen.size() * n), weights;
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    profiles.write(chosen[c], &points[c * n]);
    weights.push_back(data.voters.weights[chosen[c]]);
  }
  const KMeansResult found = kmeans(points, n, weights, num_groups, index == 0 ? 10 : 1, seed, index * 100'000, threads);
  std::vector<double> point(n);
  for (std::size_t v = 0; v < count; ++v) {
    profiles.write(v, point.data());
    double best = infinity;
    for (std::size_t k = 0; k < num_groups; ++k) {
      double distance = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        const double gap = point[i] - found.centroids[k * n + i];
        distance += gap * gap;
      }
      if (distance < best) best = distance, labels[v] = static_cast<std::uint32_t>(k);
    }
  }
  return labels;
}

}  // namespace caucus
