// Later choices that are noisier (Benter 1994; Gormley & Murphy 2008): at stage s an item is chosen in proportion to exp(alpha_s
// u_i) of what is left, alpha_1 = 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/dataset.h"

namespace caucus::pl_mixture {

// log P of a ranking; exponents[s - 1] is that of stage s + 1, the last one stands for all later ones. No ties.
double dampened_log_prob(RankingView ranking, Unranked unranked, std::span<const double> utilities,
                         std::span<const double> exponents);
// A random order of all items.
std::vector<ItemId> dampened_sample(RandomStream& random, std::span<const double> utilities, std::span<const double> exponents);

// Choices of a ranking with more than one possible outcome.
inline std::size_t num_choices(std::size_t length, std::size_t num_items, Unranked unranked) {
  const std::size_t field = unranked == Unranked::last ? num_items : length;
  return std::min(length, field > 0 ? field - 1 : 0);
}

inline double exponent_at(std::span<const double> exponents, std::size_t stage) {
  return stage == 0 || exponents.empty() ? 1.0 : exponents[std::min(stage, exponents.size()) - 1];
}
// The largest number of choices of a ranking.
std::size_t most_choices(const Dataset& data);

// Sums over what is left at each stage, for one group: weights exp(alpha_s (u_i - largest)) by stage and item.
class DampenedGroup {
 public:
  DampenedGroup(std::span<const double> utilities, std::span<const double> exponents, std::size_t num_stages)
      : n_(utilities.size()), utilities_(utilities), exponents_(exponents), weights_(num_stages * n_), mark_(n_, 0) {
    const double largest = *std::ranges::max_element(utilities);
    for (std::size_t s = 0; s < num_stages; ++s) {
      const double alpha = exponent_at(exponents, s);
      double total = 0.0, moment = 0.0;
      for (std::size_t i = 0; i < n_; ++i) {
        const double weight = std::exp(std::max(alpha * (utilities[i] - largest), -700.0));
        weights_[s * n_ + i] = weight;
        total += weight;
        moment += weight * utilities[i];
      }
      totals_.push_back(total);
      moments_.push_back(moment);
    }
    largest_ = largest;
  }

  // visit(stage, log probability of the choice, sum of weights left, sum of weights times utilities left, summed item by item).
  template <class Visit>
  void walk(RankingView ranking, Unranked unranked, Visit&& visit) {
    const std::size_t choices = num_choices(ranking.size(), n_, unranked);
    const bool all = unranked == Unranked::last;
    ++stamp_;
    for (std::size_t s = 0; s < choices; ++s) {
      const double* weights = &weights_[s * n_];
      double left = 0.0, moment = 0.0;
      bool summed = true;
      if (all) {
        left = totals_[s];
        moment = moments_[s];
        for (std::size_t p = 0; p < s; ++p) {
          left -= weights[ranking[p]];
          moment -= weights[ranking[p]] * utilities_[ranking[p]];
        }
        summed = left < 1e-4 * totals_[s];
      }
      if (summed) {
        left = moment = 0.0;
        const auto add = [&](std::size_t i) { left += weights[i], moment += weights[i] * utilities_[i]; };
        if (all) {
          for (std::size_t i = 0; i < n_; ++i)
            if (mark_[i] != stamp_) add(i);
        } else {
          for (std::size_t p = s; p < ranking.size(); ++p) add(ranking[p]);
        }
      }
      const double alpha = exponent_at(exponents_, s);
      visit(s, alpha * (utilities_[ranking[s]] - largest_) - std::log(left), left, moment, summed);
      mark_[ranking[s]] = stamp_;
    }
  }
  bool is_left(std::size_t item) const { return mark_[item] != stamp_; }
  double weight(std::size_t stage, std::size_t item) const { return weights_[stage * n_ + item]; }

 private:
  std::size_t n_;
  std::span<const double> utilities_, exponents_;
  std::vector<double> weights_, totals_, moments_;
  std::vector<std::uint32_t> mark_;
  std::uint32_t stamp_ = 0;
  double largest_ = 0.0;
};

}  // namespace caucus::pl_mixture
