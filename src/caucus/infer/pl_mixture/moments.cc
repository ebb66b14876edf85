#include "caucus/infer/pl_mixture/moments.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/random.h"
#include "caucus/infer/lbfgs.h"

namespace caucus::pl_mixture {

namespace {

// Shares of first places, and of first and second places together: the latter among ballots that go on.
struct Moments {
  std::vector<double> first, second;
  bool has_second = false;

  explicit Moments(const Dataset& data) : first(data.num_items(), 0.0), second(data.num_items() * data.num_items(), 0.0) {
    double total = 0.0, total_second = 0.0;
    for (std::size_t r = 0; r < data.rankings.size(); ++r) {
      const RankingView ranking = data.rankings[r];
      const double weight = data.rankings.weight(r);
      if (ranking.size() == 0) continue;
      first[ranking[0]] += weight;
      total += weight;
      if (ranking.size() < 2) continue;
      second[ranking[0] * first.size() + ranking[1]] += weight;
      total_second += weight;
    }
    for (double& value : first) value /= std::max(total, 1.0);
    for (double& value : second) value /= std::max(total_second, 1.0);
    has_second = total_second > 0.0;
  }
};

// Minus the sum of squared gaps between the mixture's moments and these, second places weighted n-fold because their shares are
// that much smaller. Variables: utilities of all components, then logits of the weights.
class MomentFit {
 public:
  MomentFit(const Moments& moments, std::size_t num_components)
      : moments_(moments), n_(moments.first.size()), num_(num_components), worth_(num_ * n_), weight_(num_) {}

  double operator()(const std::vector<double>& x, std::vector<double>& gradient) {
    set(x);
    by_worth_.assign(num_ * n_, 0.0);
    by_weight_.assign(num_, 0.0);
    double loss = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      loss += add_first(i);
      for (std::size_t j = 0; moments_.has_second && j < n_; ++j)
        if (j != i) loss += add_second(i, j);
    }
    // Through the two softmaxes.
    double mean_weight = 0.0;
    for (std::size_t k = 0; k < num_; ++k) mean_weight += weight_[k] * by_weight_[k];
    for (std::size_t k = 0; k < num_; ++k) {
      double mean = 0.0;
      for (std::size_t i = 0; i < n_; ++i) mean += worth_[k * n_ + i] * by_worth_[k * n_ + i];
      for (std::size_t i = 0; i < n_; ++i) gradient[k * n_ + i] = -worth_[k * n_ + i] * (by_worth_[k * n_ + i] - mean);
      gradient[num_ * n_ + k] = -weight_[k] * (by_weight_[k] - mean_weight);
    }
    return -loss;
  }

 private:
  void set(const std::vector<double>& x) {
    double top = -infinity, weight_sum = 0.0;
    for (std::size_t k = 0; k < num_; ++k) top = std::max(top, x[num_ * n_ + k]);
    for (std::size_t k = 0; k < num_; ++k) {
      const auto utilities = std::span(x).subspan(k * n_, n_);
      const double shift = log_sum_exp(utilities);
      for (std::size_t i = 0; i < n_; ++i) worth_[k * n_ + i] = std::min(std::exp(utilities[i] - shift), 1.0 - 1e-9);
      weight_sum += weight_[k] = std::exp(x[num_ * n_ + k] - top);
    }
    for (double& w : weight_) w /= weight_sum;
  }
  double add_first(std::size_t i) {
    double error = -moments_.first[i];
    for (std::size_t k = 0; k < num_; ++k) error += weight_[k] * worth_[k * n_ + i];
    for (std::size_t k = 0; k < num_; ++k) {
      by_weight_[k] += 2.0 * error * worth_[k * n_ + i];
      by_worth_[k * n_ + i] += 2.0 * error * weight_[k];
    }
    return error * error;
  }
  double add_second(std::size_t i, std::size_t j) {
    const double scale = static_cast<double>(n_);
    double gap = -moments_.second[i * n_ + j];
    for (std::size_t k = 0; k < num_; ++k) gap += weight_[k] * worth_[k * n_ + i] * worth_[k * n_ + j] / (1.0 - worth_[k * n_ + i]);
    for (std::size_t k = 0; k < num_; ++k) {
      const double a = worth_[k * n_ + i], b = worth_[k * n_ + j], slope = 2.0 * scale * gap;
      by_weight_[k] += slope * a * b / (1.0 - a);
      by_worth_[k * n_ + i] += slope * weight_[k] * b / ((1.0 - a) * (1.0 - a));
      by_worth_[k * n_ + j] += slope * weight_[k] * a / (1.0 - a);
    }
    return scale * gap * gap;
  }

  const Moments& moments_;
  std::size_t n_, num_;
  std::vector<double> worth_, weight_, by_worth_, by_weight_;
};

}  // namespace

Parameters moments_start(const Objective& objective, std::uint64_t seed, std::uint64_t index) {
  const std::size_t n = objective.data().num_items(), num = objective.num_components();
  const Moments moments(objective.data());
  RandomStream random(seed, Purpose::initialise, index);
  std::vector<double> x(num * n + num, 0.0);
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t i = 0; i < n; ++i)
      x[k * n + i] = std::log(std::max(moments.first[i], 0.1 / static_cast<double>(n))) + random.normal();
  lbfgs_maximise(MomentFit(moments, num), x, std::vector<double>(x.size(), static_cast<double>(n)), 500, 1e-12);

  Parameters start(num, n);
  for (std::size_t k = 0; k < num; ++k) {
    start.weights[k] = std::exp(x[num * n + k]);
    for (std::size_t i = 0; i < n; ++i) start.component(k)[i] = x[k * n + i];
    center(start.component(k));
    // Moments of rare items fix nothing; keep them in reach of EM.
    for (double& utility : start.component(k)) utility = std::clamp(utility, -8.0, 8.0);
  }
  const double weights = sum(start.weights);
  // No component starts empty.
  for (double& weight : start.weights) weight = 0.98 * weight / weights + 0.02 / static_cast<double>(num);
  return start;
}

}  // namespace caucus::pl_mixture
