#include "caucus/infer/pl_regression/gibbs.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"

namespace caucus::pl_regression {

namespace {
constexpr std::size_t block_size = 64;
constexpr int metropolis_steps = 3;
}  // namespace

GibbsChain::GibbsChain(const RegressionData& data, const GibbsOptions& options, RandomStream stream)
    : data_(data), options_(options), stream_(stream) {
  for (const double weight : data.weights)
    if (weight != std::floor(weight))
      throw UsageError("the sampler takes whole weights only (each stands for so many equal rows); use em or variational");
  const std::size_t k = data.num_classes, p = data.num_features();
  lambda_.resize(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(p));
  // Spread-out starts, so that R-hat can tell chains that have not met.
  for (Eigen::Index i = 0; i < lambda_.size(); ++i) lambda_.data()[i] = stream_.gamma(1.0);
  lambda_ /= lambda_.sum();
  a_ = options.a ? *options.a : std::clamp(std::exp(stream_.normal()), options.a_min, options.a_max);
  rate_.resize(data.ranking ? lambda_.rows() : 1, lambda_.cols());
  counts_.assign(k * p, 0);
  block_sums_.resize((p + block_size - 1) / block_size);
  strength_.resize(k);
  share_.resize(k);
}

// w'lambda by blocks, whose sums pick_runner() searches.
double GibbsChain::winner_strength(const double* w, const double* lambda) {
  const std::size_t p = data_.num_features();
  double sum = 0.0;
  for (std::size_t block = 0, begin = 0; begin < p; ++block, begin += block_size)
    sum += block_sums_[block] = dot(w + begin, lambda + begin, std::min(block_size, p - begin));
  return sum;
}

// Eq. (11). Finds the block, then scans inside it.
void GibbsChain::pick_runner(const double* w, const double* lambda, double own, std::size_t winner) {
  const std::size_t p = data_.num_features();
  double left = stream_.uniform() * own;
  std::size_t block = 0;
  while (block + 1 < block_sums_.size() && left >= block_sums_[block]) left -= block_sums_[block++];
  const std::size_t end = std::min(p, (block + 1) * block_size);
  std::size_t picked = p;
  for (std::size_t j = block * block_size; j < end; ++j) {
    const double part = w[j] * lambda[j];
    if (!(part > 0.0)) continue;
    picked = j;
    left -= part;
    if (left < 0.0) break;
  }
  if (picked == p)  // rounding at the edge of an empty block
    for (std::size_t j = 0; j < p; ++j)
      if (picked == p || w[j] * lambda[j] > w[picked] * lambda[picked]) picked = j;
  const std::size_t index = winner * p + picked;
  if (counts_[index]++ == 0) won_.push_back(index);
}

void GibbsChain::sweep(bool adapt) {
  const std::size_t k = data_.num_classes, p = data_.num_features();
  for (const std::size_t index : won_) counts_[index] = 0;
  won_.clear();
  rate_.setZero();
  total_ = lambda_.colwise().sum();
  loglik_ = 0.0;
  // The mass from its prior, Gam(K p a, 1) in units of 1 / b (section 3.5; the paper leaves out a). Times below are in units of 1 /
  // mass, so neither can overflow.
  const double log_mass = stream_.log_gamma(static_cast<double>(k * p) * a_), mass = std::exp(log_mass);
  const auto add = [&](std::size_t row, const double* w, double factor) {
    double* out = rate_.data() + row * p;
    for (std::size_t j = 0; j < p; ++j) out[j] += factor * w[j];
  };
  for (std::size_t i = 0; i < data_.num_rows(); ++i) {
    const double* w = data_.features(i);
    const auto copies = static_cast<std::size_t>(data_.weight(i));
    if (!data_.ranking) {
      const std::size_t y = data_.outcome[i];
      const double* lambda = lambda_.data() + y * p;
      const double own = winner_strength(w, lambda), total = dot(w, total_.data(), p);
      for (std::size_t copy = 0; copy < copies; ++copy) pick_runner(w, lambda, own, y);
      add(0, w, (copies == 1 ? stream_.exponential() : stream_.gamma(data_.weight(i))) / total);  // eq. (12)
      loglik_ += data_.weight(i) * std::log(own / total);
      continue;
    }
    for (std::size_t j = 0; j < k; ++j) strength_[j] = dot(w, lambda_.data() + j * p, p);
    std::fill(share_.begin(), share_.end(), 0.0);
    for_each_stage(data_, i, strength_, running_, [&](std::size_t, std::uint32_t winner, double total) {
      const double* lambda = lambda_.data() + winner * p;
      const double own = winner_strength(w, lambda);
      for (std::size_t copy = 0; copy < copies; ++copy) pick_runner(w, lambda, own, winner);
      const double time = (copies == 1 ? stream_.exponential() : stream_.gamma(data_.weight(i))) / total;
      for (std::size_t j = 0; j < k; ++j)
        if (running_[j] != 0) share_[j] += time;
      loglik_ += data_.weight(i) * std::log(own / total);
    });
    for (std::size_t j = 0; j < k; ++j)
      if (share_[j] > 0.0) add(j, w, share_[j]);
  }
  // rate_ becomes log(mass + rate).
  double sum_log_ratio = 0.0;
  for (Eigen::Index j = 0; j < rate_.size(); ++j) {
    double& rate = rate_.data()[j];
    rate = rate > 0.0 ? std::log(mass + rate) : log_mass;
    sum_log_ratio += rate - log_mass;
  }
  if (!data_.ranking) sum_log_ratio *= static_cast<double>(k);
  const bool learn = !options_.a, collapsed = options_.step == ShapeStep::collapsed;
  if (learn && collapsed) update_a(sum_log_ratio, adapt);

  // Eq. (13), in logs.
  double largest = -infinity, sum_log = 0.0;
  for (std::size_t c = 0; c < k; ++c) {
    const double* log_rate = rate_.data() + (data_.ranking ? c * p : 0);
    double* lambda = lambda_.data() + c * p;
    const std::uint32_t* count = counts_.data() + c * p;
    for (std::size_t j = 0; j < p; ++j) {
      lambda[j] = stream_.log_gamma(a_ + count[j]) - log_rate[j];
      largest = std::max(largest, lambda[j]);
      sum_log += lambda[j] + log_mass;  // in units of 1 / b
    }
  }
  if (learn && !collapsed) update_a_given_weights(sum_log, adapt);
  lambda_ = (lambda_.array() - largest).exp();
  lambda_ /= lambda_.sum();
}

// p(a | C, Z) with lambda integrated out: prod Gamma(a + n) / Gamma(a) (b / (b + R))^a; p(a) = 1/a is flat in log a.
void GibbsChain::update_a(double sum_log_ratio, bool adapt) {
  using boost::math::lgamma;
  std::vector<std::uint32_t> histogram;  // of the counts above 0: few distinct values
  for (const std::size_t index : won_) {
    if (counts_[index] >= histogram.size()) histogram.resize(counts_[index] + 1, 0);
    ++histogram[counts_[index]];
  }
  const auto log_target = [&](double a) {
    double sum = -a * sum_log_ratio;
    const double log_gamma_a = lgamma(a);
    for (std::size_t n = 1; n < histogram.size(); ++n)
      if (histogram[n] != 0) sum += histogram[n] * (lgamma(a + static_cast<double>(n)) - log_gamma_a);
    return sum;
  };
  metropolis(log_target, adapt);
}

// p(a | lambda) with the scale of lambda kept: prod Gam(lambda; a, b).
void GibbsChain::update_a_given_weights(double sum_log, bool adapt) {
  const auto size = static_cast<double>(lambda_.size());
  metropolis([&](double a) { return a * sum_log - size * boost::math::lgamma(a); }, adapt);
}

// Steps on log a, which p(a) = 1/a leaves flat.
template <class LogTarget>
void GibbsChain::metropolis(const LogTarget& log_target, bool adapt) {
  double now = log_target(a_);
  for (int i = 0; i < metropolis_steps; ++i) {
    const double proposal = a_ * std::exp(std::exp(log_step_) * stream_.normal());
    const double uniform = stream_.uniform_open();
    double accepted = 0.0;
    if (proposal >= options_.a_min && proposal <= options_.a_max) {
      const double value = log_target(proposal);
      accepted = std::min(1.0, std::exp(value - now));
      if (uniform < accepted) a_ = proposal, now = value;
    }
    // Robbins-Monro towards the acceptance rate 0.44, the best in one dimension.
    if (adapt) log_step_ += (accepted - 0.44) / std::sqrt(static_cast<double>(++adaptations_));
    log_step_ = std::clamp(log_step_, -10.0, 5.0);
  }
}

void GibbsChain::save(Saver& state) const {
  state(std::span(lambda_.data(), static_cast<std::size_t>(lambda_.size())), a_, log_step_, loglik_, adaptations_, stream_.drawn());
}

void GibbsChain::load(Loader& state) {
  std::uint64_t drawn = 0;
  state(std::span(lambda_.data(), static_cast<std::size_t>(lambda_.size())), a_, log_step_, loglik_, adaptations_, drawn);
  stream_.seek(drawn);
}

}  // namespace caucus::pl_regression
