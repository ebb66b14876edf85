// Sums over subsets for Davidson-Luce ties, and their derivatives.
//
// The weight of all sets of size t is delta_t e_t(x), x_i = a_i^(1/t), e_t the elementary symmetric polynomial. Adding
// an item updates e_1..e_t in O(t), so one sweep from the bottom of a ranking gives the normaliser of every stage,
// and the same sweep backwards (reverse-mode differentiation) gives the derivative of the sum of their logarithms by every utility.
// All terms are positive: nothing cancels. O(length * sum of orders) per ranking.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "caucus/data/ranking.h"
#include "caucus/model/plackett_luce.h"

namespace caucus {

// Utilities stay within this distance of the largest. An item in every tie of the first place runs off, the strengths of ties with
// it, and another group needs as much again for each choice of one item alone.
inline constexpr double tie_spread = 640.0;

class TieSweep {
 public:
  // log_worths: utilities of all items, shifted so that the largest is 0. unlisted: those of the ranking that are there but not
  // listed.
  TieSweep(std::span<const int> orders, std::size_t num_items) : orders_(orders.begin(), orders.end()) {
    offsets_.push_back(1);  // slot 0 holds e_1 of the worths themselves
    for (int order : orders_) offsets_.push_back(offsets_.back() + static_cast<std::size_t>(order));
    width_ = offsets_.back();
    states_.reserve((num_items + 1) * width_);
  }

  // powers: for each item one number more than there are orders, a_i and a_i^(1/t) for each order, as fill_powers makes them.
  void fill_powers(std::span<const double> log_worths, std::vector<double>& powers) const {
    const std::size_t stride = orders_.size() + 1;
    powers.resize(log_worths.size() * stride);
    for (std::size_t i = 0; i < log_worths.size(); ++i) {
      powers[i * stride] = std::exp(log_worths[i]);
      for (std::size_t o = 0; o < orders_.size(); ++o) powers[i * stride + o + 1] = std::exp(log_worths[i] / orders_[o]);
    }
  }

  // log P(ranking) for these powers, log worths and tie strengths.
  double log_prob(RankingView ranking, std::span<const ItemId> unlisted, std::span<const double> powers,
                  std::span<const double> log_worths, std::span<const double> log_delta, std::span<const double> delta) {
    sequence_.clear();
    stage_ends_.clear();
    for (ItemId item : unlisted) sequence_.push_back(item);
    double log_prob = 0.0;
    // From the bottom up: the last group first.
    for (std::size_t end = ranking.size(); end > 0;) {
      std::size_t begin = end - 1;
      while (begin > 0 && !ranking.ends_group(begin - 1)) --begin;
      const std::size_t size = end - begin;
      double mean = 0.0;
      for (std::size_t p = begin; p < end; ++p) {
        sequence_.push_back(ranking[p]);
        mean += log_worths[ranking[p]];
      }
      log_prob += mean / static_cast<double>(size);
      for (std::size_t o = 0; o < orders_.size(); ++o)
        if (static_cast<std::size_t>(orders_[o]) == size) log_prob += log_delta[o];
      stage_ends_.push_back(sequence_.size());
      end = begin;
    }
    const std::size_t stride = orders_.size() + 1;
    states_.assign((sequence_.size() + 1) * width_, 0.0);
    normalisers_.clear();
    std::size_t stage = 0;
    for (std::size_t s = 0; s < sequence_.size(); ++s) {
      const double* before = &states_[s * width_];
      double* after = &states_[(s + 1) * width_];
      const double* x = &powers[sequence_[s] * stride];
      after[0] = before[0] + x[0];
      for (std::size_t o = 0; o < orders_.size(); ++o) {
        const std::size_t base = offsets_[o], order = static_cast<std::size_t>(orders_[o]);
        after[base] = before[base] + x[o + 1];
        for (std::size_t j = 1; j < order; ++j) after[base + j] = before[base + j] + x[o + 1] * before[base + j - 1];
      }
      while (stage < stage_ends_.size() && stage_ends_[stage] == s + 1) {
        double z = after[0];
        for (std::size_t o = 0; o < orders_.size(); ++o) z += delta[o] * after[offsets_[o + 1] - 1];
        normalisers_.push_back(z);
        log_prob -= std::log(z);
        ++stage;
      }
    }
    return log_prob;
  }

  // After log_prob: adds weight * d(sum of log normalisers)/d(utility) to expected, and by log delta to expected_ties.
  void accumulate(double weight, std::span<const double> powers, std::span<const double> delta, std::span<double> expected,
                  std::span<double> expected_ties) {
    const std::size_t stride = orders_.size() + 1;
    adjoint_.assign(width_, 0.0);
    std::size_t stage = stage_ends_.size();
    for (std::size_t s = sequence_.size(); s-- > 0;) {
      const double* before = &states_[s * width_];
      const double* after = &states_[(s + 1) * width_];
      while (stage > 0 && stage_ends_[stage - 1] == s + 1) {
        --stage;
        const double share = weight / normalisers_[stage];
        adjoint_[0] += share;
        for (std::size_t o = 0; o < orders_.size(); ++o) {
          const std::size_t top = offsets_[o + 1] - 1;
          adjoint_[top] += share * delta[o];
          expected_ties[o] += share * delta[o] * after[top];
        }
      }
      const double* x = &powers[sequence_[s] * stride];
      double gain = adjoint_[0] * x[0];
      for (std::size_t o = 0; o < orders_.size(); ++o) {
        const std::size_t base = offsets_[o], order = static_cast<std::size_t>(orders_[o]);
        double by_x = adjoint_[base];
        for (std::size_t j = 1; j < order; ++j) {
          by_x += adjoint_[base + j] * before[base + j - 1];
          adjoint_[base + j - 1] += x[o + 1] * adjoint_[base + j];
        }
        gain += by_x * x[o + 1] / orders_[o];
      }
      expected[sequence_[s]] += gain;
    }
  }

 private:
  std::vector<int> orders_;
  std::vector<std::size_t> offsets_;
  std::size_t width_ = 0;
  std::vector<ItemId> sequence_;         // items from the bottom up
  std::vector<std::size_t> stage_ends_;  // after how many of them a stage's set is complete
  std::vector<double> states_;           // after each item: e_1(a), then e_1..e_t(a^(1/t)) per order
  std::vector<double> normalisers_;
  std::vector<double> adjoint_;
};

}  // namespace caucus
