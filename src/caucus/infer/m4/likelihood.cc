#include "caucus/infer/m4/likelihood.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/model/generalized_mallows.h"
#include "caucus/model/kendall.h"
#include "caucus/model/stage.h"

namespace caucus::m4 {

std::vector<std::pair<std::size_t, std::size_t>> all_pairs(std::size_t num_components) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  if (num_components == 1) pairs.emplace_back(0, 0);
  for (std::size_t a = 0; a < num_components; ++a)
    for (std::size_t b = a + 1; b < num_components; ++b) pairs.emplace_back(a, b);
  return pairs;
}

void energies(const Components& components, std::span<const ItemId> ranking, std::span<double> out) {
  const std::size_t n = components.num_items();
  std::vector<std::uint32_t> code(n);
  for (std::size_t m = 0; m < components.size(); ++m) {
    code_v(ranking, inverse_order(components.center[m]), code);
    out[m] = 0.0;
    for (std::size_t j = 0; j + 1 < n; ++j) out[m] += components.theta[m][j] * static_cast<double>(code[j]);
  }
}

double paper_log_normalizer(const Components& components, const Weights& z) {
  const std::size_t n = components.num_items();
  double total = 0.0;
  for (std::size_t j = 0; j + 1 < n; ++j)
    total += log_stage_normalizer(z.share * components.theta[z.first][j] + (1.0 - z.share) * components.theta[z.second][j], n - j);
  return total;
}

double NormalizerTable::at(std::size_t pair, double share) const {
  const std::vector<double>& y = log_c[pair];
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(cells);
  const auto i = std::min(static_cast<std::size_t>(place), cells - 1);
  const double u = place - static_cast<double>(i);
  if (u == 0.0) return y[i];
  if (u == 1.0) return y[i + 1];
  // Hermite with central slopes.
  const auto slope = [&](std::size_t k) {
    return k == 0 ? y[1] - y[0] : k == cells ? y[cells] - y[cells - 1] : 0.5 * (y[k + 1] - y[k - 1]);
  };
  const double v = 1.0 - u;
  return y[i] * v * v * (1.0 + 2.0 * u) + y[i + 1] * u * u * (3.0 - 2.0 * u) + slope(i) * u * v * v - slope(i + 1) * u * u * v;
}

namespace {

// Energies of all components while a ranking grows from the front: placing an item adds, for every component, theta of each
// unplaced item of lower central rank, because one more item of higher rank stands before it.
class Enumeration {
 public:
  Enumeration(const Components& components, std::size_t num_pairs)
      : n_(components.num_items()),
        num_components_(components.size()),
        pairs_(all_pairs(num_components_)),
        sums(num_pairs * (NormalizerTable::cells + 1), 0.0) {
    for (const auto& center : components.center) position_.push_back(inverse_order(center));
    // step_[(m * n + item) * n + other]: energy when item goes before other.
    step_.assign(num_components_ * n_ * n_, 0.0);
    for (std::size_t m = 0; m < num_components_; ++m)
      for (std::size_t item = 0; item < n_; ++item)
        for (std::size_t other = 0; other < n_; ++other)
          if (position_[m][other] < position_[m][item])
            step_[(m * n_ + item) * n_ + other] = components.theta[m][position_[m][other]];
    energy_.assign((n_ + 1) * num_components_, 0.0);
  }

  void run_from(std::size_t first_item) {
    left_.resize(n_);
    std::iota(left_.begin(), left_.end(), ItemId{0});
    std::swap(left_[0], left_[first_item]);
    place(0);
    grow(1);
  }

  void grow(std::size_t depth) {
    if (depth == n_) {
      finish();
      return;
    }
    for (std::size_t i = depth; i < n_; ++i) {
      std::swap(left_[depth], left_[i]);
      place(depth);
      grow(depth + 1);
      std::swap(left_[depth], left_[i]);
    }
  }

 private:
  void place(std::size_t depth) {
    const ItemId item = left_[depth];
    for (std::size_t m = 0; m < num_components_; ++m) {
      double energy = energy_[depth * num_components_ + m];
      const double* step = step_.data() + (m * n_ + item) * n_;
      for (std::size_t i = depth + 1; i < n_; ++i) energy += step[left_[i]];
      energy_[(depth + 1) * num_components_ + m] = energy;
    }
  }
  void finish() {
    const double* energy = energy_.data() + n_ * num_components_;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const double a = energy[pairs_[p].first], b = energy[pairs_[p].second];
      // exp(-(share a + (1 - share) b)) along the grid is a geometric sequence.
      double value = std::exp(-b);
      const double ratio = std::exp((b - a) / static_cast<double>(NormalizerTable::cells));
      double* sum = sums.data() + p * (NormalizerTable::cells + 1);
      for (std::size_t g = 0; g <= NormalizerTable::cells; ++g, value *= ratio) sum[g] += value;
    }
  }

  std::size_t n_, num_components_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<std::vector<std::uint32_t>> position_;
  std::vector<double> step_, energy_;
  std::vector<ItemId> left_;

 public:
  std::vector<double> sums;
};

}  // namespace

NormalizerTable exact_normalizers(const Components& components, int threads, std::uint64_t seed, std::size_t draws,
                                  std::size_t enumerate_up_to, const std::function<bool()>& stop) {
  constexpr std::size_t few_draws = 40;
  const std::size_t n = components.num_items(), num_components = components.size();
  const auto pairs = all_pairs(num_components);
  constexpr std::size_t points = NormalizerTable::cells + 1;
  NormalizerTable table;
  table.log_c.assign(pairs.size(), std::vector<double>(points));
  table.standard_error.assign(pairs.size(), std::vector<double>(points, 0.0));
  // The ends are generalized Mallows models, whose normaliser is the product.
  const auto end = [&](std::size_t m) {
    return paper_log_normalizer(components, {static_cast<std::uint16_t>(m), static_cast<std::uint16_t>(m), 1.0});
  };
  if (num_components == 1) {
    table.log_c[0].assign(points, end(0));
    return table;
  }
  if (n <= enumerate_up_to) {
    std::vector<Enumeration> parts(n, Enumeration(components, pairs.size()));
    parallel_for(n, threads, [&](std::size_t first) { parts[first].run_from(first); });
    for (std::size_t p = 0; p < pairs.size(); ++p)
      for (std::size_t g = 0; g < points; ++g) {
        double total = 0.0;
        for (const Enumeration& part : parts) total += part.sums[p * points + g];
        table.log_c[p][g] = std::log(total);
      }
    return table;
  }
  table.exact = false;
  parallel_for(pairs.size() * points, threads, [&](std::size_t cell) {
    const std::size_t p = cell / points, g = cell % points;
    const double share = static_cast<double>(g) / static_cast<double>(NormalizerTable::cells);
    if (g == 0 || g + 1 == points) {
      table.log_c[p][g] = end(g == 0 ? pairs[p].second : pairs[p].first);
      return;
    }
    // c = c_near(share theta) E[exp(-(1 - share) energy_far)] under the nearer component at its share of theta.
    const bool first_near = share >= 0.5;
    const std::size_t near = first_near ? pairs[p].first : pairs[p].second, far = first_near ? pairs[p].second : pairs[p].first;
    const double near_share = first_near ? share : 1.0 - share;
    Components scaled = components;
    for (double& theta : scaled.theta[near]) theta *= near_share;
    const GeneralizedMallowsSampler sampler(components.center[near], scaled.theta[near], Code::v);
    const auto position = inverse_order(components.center[far]);
    RandomStream stream(seed, Purpose::chain, cell);
    std::vector<ItemId> ranking(n);
    std::vector<std::uint32_t> code(n);
    std::vector<double> log_weight;
    while (log_weight.size() < draws && !(log_weight.size() >= few_draws && log_weight.size() % 8 == 0 && stop && stop())) {
      double& value = log_weight.emplace_back();
      sampler.draw(stream, ranking);
      code_v(ranking, position, code);
      value = 0.0;
      for (std::size_t j = 0; j + 1 < n; ++j) value -= (1.0 - near_share) * components.theta[far][j] * static_cast<double>(code[j]);
    }
    const double size = static_cast<double>(log_weight.size()), log_mean = log_sum_exp(log_weight) - std::log(size);
    double spread = 0.0;
    for (double value : log_weight) spread += std::pow(std::exp(value - log_mean) - 1.0, 2);
    const auto id = static_cast<std::uint16_t>(near);
    table.log_c[p][g] = paper_log_normalizer(scaled, {id, id, 1.0}) + log_mean;
    table.standard_error[p][g] = std::sqrt(spread / (size * (size - 1.0)));
  });
  return table;
}

void gibbs_sweeps(const Components& components, const Weights& z, int sweeps, RandomStream& stream, std::span<ItemId> ranking) {
  const std::size_t n = ranking.size();
  if (n < 2) return;
  const auto first = inverse_order(components.center[z.first]), second = inverse_order(components.center[z.second]);
  const std::size_t swaps = static_cast<std::size_t>(sweeps) * n * n;
  for (std::size_t s = 0; s < swaps; ++s) {
    const std::size_t p = stream.below(n - 1);
    const ItemId x = ranking[p], y = ranking[p + 1];
    // Energy of y before x minus that of x before y: one stage of each component changes by one.
    const auto change = [&](std::size_t m, const std::vector<std::uint32_t>& position) {
      return position[x] < position[y] ? components.theta[m][position[x]] : -components.theta[m][position[y]];
    };
    const double difference = z.share * change(z.first, first) + (1.0 - z.share) * change(z.second, second);
    if (stream.uniform() * (1.0 + std::exp(difference)) < 1.0) std::swap(ranking[p], ranking[p + 1]);
  }
}

}  // namespace caucus::m4
