#include "caucus/infer/pl_regression/em.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/infer/pl_regression/expectation.h"
#include "caucus/model/decompositions.h"

namespace caucus::pl_regression {

double log_prior(const RowMatrix& lambda, double a, double b) {
  double sum = 0.0;
  for (Eigen::Index i = 0; i < lambda.size(); ++i)
    if (const double value = lambda.data()[i]; value > 0.0) sum += (a - 1.0) * std::log(value) - b * value;
  return sum;
}

namespace {

std::size_t count_nonzero(const RowMatrix& lambda) { return static_cast<std::size_t>((lambda.array() > 0.0).count()); }

class Em {
 public:
  Em(const RegressionData& data, const EmOptions& options, const Run& run) : data_(data), options_(options), run_(run) {
    const auto size = static_cast<double>(data.num_classes * data.num_features());
    mass_ = options.a > 1.0 ? size * (options.a - 1.0) / options.b : 1.0;
  }

  EmResult fit(RowMatrix lambda) {
    EmResult result;
    lambda *= mass_ / lambda.sum();
    State state = evaluate(std::move(lambda));
    note(result, state);
    result.stop_reason = StopReason::iteration_limit;
    while (result.steps < options_.max_steps) {
      RowMatrix mapped = options_.a < 1.0 ? sparse_step(state) : dense_step(state);
      const bool settled = count_nonzero(mapped) == state.nonzero;
      if (settled && state.gap <= options_.tolerance * data_.total_weight() && !revive(state, mapped)) {
        result.stop_reason = StopReason::converged;
        break;
      }
      State next;
      const bool extrapolated = settled && extrapolate(state, mapped, next);
      if (!extrapolated) next = evaluate(std::move(mapped));
      // Where some classes never beat the rest, their weights fall for ever against the others': no maximum.
      if (!std::isfinite(next.objective) || next.smallest < 1e-200) {
        result.unbounded = true;
        break;
      }
      state = std::move(next);
      note(result, state);
      if (run_.report({"em", result.steps, options_.max_steps, state.objective}, result.stop_reason) == Flow::stop) break;
    }
    result.residual = state.residual;
    result.lambda = std::move(state.lambda);
    result.loglik = state.sums.loglik;
    result.log_posterior = state.objective;
    result.num_nonzero = state.nonzero;
    return result;
  }

 private:
  struct State {
    RowMatrix lambda;
    Expectation sums;
    double objective = 0.0;
    double multiplier = 0.0;  // a < 1: of the fixed mass
    double residual = 0.0;
    double smallest = infinity;  // of the non-zero weights
    double gap = 0.0;            // sum of residual^2 / count: twice the gain that a Newton step on log lambda promises
    std::size_t nonzero = 0;
  };

  State evaluate(RowMatrix lambda) const {
    State state;
    state.lambda = std::move(lambda);
    state.sums = expectation(data_, state.lambda, state.lambda, run_.workers());
    state.nonzero = count_nonzero(state.lambda);
    state.objective = state.sums.loglik + log_prior(state.lambda, options_.a, options_.b);
    // At the answer the multiplier is (number active)(a - 1) / mass: the sum of eq. (10) over the active weights.
    if (options_.a < 1.0) state.multiplier = static_cast<double>(state.nonzero) * (options_.a - 1.0) / mass_;
    if (options_.a > 1.0) state.multiplier = options_.b;
    for (Eigen::Index k = 0; k < state.lambda.rows(); ++k) {
      const auto rate = state.sums.rate_of(k);
      for (Eigen::Index j = 0; j < state.lambda.cols(); ++j) {
        const double weight = state.lambda(k, j);
        if (!(weight > 0.0)) continue;
        const double won = options_.a - 1.0 + weight * state.sums.gain(k, j);
        const double expected = weight * (state.multiplier + rate(j));
        state.residual = std::max(state.residual, std::abs(won - expected));
        state.smallest = std::min(state.smallest, weight);
        state.gap += (won - expected) * (won - expected) / std::max(weight * rate(j), 1e-300);
      }
    }
    return state;
  }

  // Eq. (10) for a >= 1, under the fixed mass.
  RowMatrix dense_step(const State& state) const {
    RowMatrix next(state.lambda.rows(), state.lambda.cols());
    const double b = options_.a > 1.0 ? options_.b : 0.0;
    for (Eigen::Index k = 0; k < next.rows(); ++k) {
      const auto rate = state.sums.rate_of(k);
      for (Eigen::Index j = 0; j < next.cols(); ++j) {
        const double weight = state.lambda(k, j), gain = state.sums.gain(k, j), denominator = b + rate(j);
        // A feature that is 0 in every row, or a class that never runs, has nothing to say: it keeps no weight.
        next(k, j) = denominator > 0.0 ? (options_.a - 1.0 + weight * gain) / denominator : 0.0;
        // On its way to the boundary, with the likelihood rising all the way: take it there.
        if (options_.a == 1.0 && gain < 0.999 * rate(j) && weight * rate(j) < 1e-9) next(k, j) = 0.0;
      }
    }
    return next * (mass_ / next.sum());
  }

  // a < 1: maximises sum (a - 1 + n) log lambda - lambda R over the active weights of fixed mass. O(K p) per root-find step.
  RowMatrix sparse_step(const State& state) const {
    RowMatrix next = RowMatrix::Zero(state.lambda.rows(), state.lambda.cols());
    struct Active {
      Eigen::Index index;
      double numerator, rate;
    };
    std::vector<Active> active;
    double waiting_mass = 0.0;
    for (Eigen::Index k = 0; k < next.rows(); ++k) {
      const auto rate = state.sums.rate_of(k);
      const std::size_t before = active.size();
      std::vector<std::pair<double, Eigen::Index>> doomed;
      for (Eigen::Index j = 0; j < next.cols(); ++j) {
        const double weight = state.lambda(k, j);
        if (!(weight > 0.0)) continue;
        const double numerator = options_.a - 1.0 + weight * state.sums.gain(k, j);
        if (numerator > 0.0)
          active.push_back({k * next.cols() + j, numerator, rate(j)});
        else
          doomed.emplace_back(numerator, j);
      }
      if (active.size() > before || doomed.empty()) continue;
      // Eq. (10) would leave this class without a weight: only the smallest tenth goes, and never the last one.
      std::sort(doomed.begin(), doomed.end());
      const std::size_t dropped = doomed.size() == 1 ? 0 : std::max<std::size_t>(1, doomed.size() / 10);
      for (std::size_t d = dropped; d < doomed.size(); ++d) {
        next(k, doomed[d].second) = state.lambda(k, doomed[d].second);
        waiting_mass += state.lambda(k, doomed[d].second);
      }
    }
    if (active.empty()) return next * (mass_ / next.sum());
    const double target = mass_ - waiting_mass;
    double smallest = active[0].rate, numerators = 0.0;
    for (const Active& one : active) smallest = std::min(smallest, one.rate), numerators += one.numerator;
    // sum numerator / (mu + rate) falls from +inf to 0 on (-smallest, inf): bracket, then Newton kept inside the bracket.
    double low = -smallest, high = numerators / target - smallest, mu = std::clamp(state.multiplier, low, high);
    for (int i = 0; i < 200; ++i) {
      if (!(mu > low && mu < high)) mu = 0.5 * (low + high);
      double value = -target, slope = 0.0;
      for (const Active& one : active) {
        const double term = one.numerator / (mu + one.rate);
        value += term;
        slope -= term / (mu + one.rate);
      }
      (value > 0.0 ? low : high) = mu;
      if (std::abs(value) <= 1e-15 * mass_ || high - low <= 1e-15 * std::max(1.0, std::abs(mu))) break;
      mu -= value / slope;
    }
    for (const Active& one : active) next.data()[one.index] = one.numerator / (std::max(mu, -smallest * (1.0 - 1e-15)) + one.rate);
    return next * (mass_ / next.sum());
  }

  // Anderson acceleration (Walker & Ni 2011) of x = log lambda with the step f(x) = log mapped - x, in the metric of the expected
  // counts, in which weights that fade away do not count. True if `next` is no worse than `state`; else the plain EM step is due,
  // and it never is worse.
  bool extrapolate(const State& state, const RowMatrix& mapped, State& next) {
    constexpr std::size_t depth = 12;
    const Eigen::Index size = mapped.size();
    Eigen::VectorXd x = Eigen::VectorXd::Zero(size), f = x, root = x;
    for (Eigen::Index k = 0; k < mapped.rows(); ++k) {
      const auto rate = state.sums.rate_of(k);
      for (Eigen::Index j = 0; j < mapped.cols(); ++j) {
        if (!(state.lambda(k, j) > 0.0)) continue;
        const Eigen::Index i = k * mapped.cols() + j;
        x[i] = std::log(state.lambda(k, j));
        f[i] = std::log(mapped(k, j)) - x[i];
        root[i] = std::sqrt(state.lambda(k, j) * rate(j));
      }
    }
    if (last_x_.size() == size) {
      steps_.push_back({x - last_x_, f - last_f_});
      if (steps_.size() > depth) steps_.erase(steps_.begin());
    }
    last_x_ = x;
    last_f_ = f;
    if (steps_.empty()) return false;
    const auto m = static_cast<Eigen::Index>(steps_.size());
    Eigen::MatrixXd differences(size, m);
    for (Eigen::Index c = 0; c < m; ++c) differences.col(c) = root.cwiseProduct(steps_[static_cast<std::size_t>(c)].f);
    Eigen::MatrixXd gram = differences.transpose() * differences;
    gram.diagonal() *= 1.0 + 1e-10;
    gram.diagonal().array() += 1e-300;
    const Eigen::VectorXd gamma = solve_symmetric(gram, differences.transpose() * root.cwiseProduct(f));
    if (!gamma.allFinite()) return forget();
    Eigen::VectorXd shift = Eigen::VectorXd::Zero(size);
    for (Eigen::Index c = 0; c < m; ++c)
      shift -= gamma[c] * (steps_[static_cast<std::size_t>(c)].x + steps_[static_cast<std::size_t>(c)].f);
    RowMatrix candidate = mapped;
    for (Eigen::Index i = 0; i < size; ++i)
      if (candidate.data()[i] > 0.0) candidate.data()[i] *= std::exp(std::clamp(shift[i], -4.0, 4.0));
    candidate *= mass_ / candidate.sum();
    next = evaluate(std::move(candidate));
    // Not below by more than rounding.
    return next.objective >= state.objective - 1e-14 * std::abs(state.objective) || forget();
  }
  bool forget() {
    steps_.clear();
    last_x_.resize(0);
    return false;
  }

  // a = 1: a weight set to zero whose gradient is positive again comes back, in `mapped`. True if there was one.
  bool revive(const State& state, RowMatrix& mapped) {
    if (options_.a != 1.0 || revivals_ == 10) return false;
    for (Eigen::Index k = 0; k < mapped.rows(); ++k) {
      const auto rate = state.sums.rate_of(k);
      for (Eigen::Index j = 0; j < mapped.cols(); ++j)
        if (mapped(k, j) == 0.0 && rate(j) > 0.0 && state.sums.gain(k, j) > (1.0 + 1e-6) * rate(j)) mapped(k, j) = 1e-6 / rate(j);
    }
    if (count_nonzero(mapped) == state.nonzero) return false;
    ++revivals_;
    mapped *= mass_ / mapped.sum();
    forget();
    return true;
  }

  void note(EmResult& result, const State& state) const {
    if (!result.trace.empty()) ++result.steps;
    result.trace.push_back(state.objective);
    result.active.push_back(state.nonzero);
  }

  const RegressionData& data_;
  EmOptions options_;
  const Run& run_;
  double mass_ = 1.0;
  int revivals_ = 0;
  struct Step {
    Eigen::VectorXd x, f;
  };
  std::vector<Step> steps_;  // differences of x and f between the last steps
  Eigen::VectorXd last_x_, last_f_;
};

}  // namespace

EmResult fit_em(const RegressionData& data, const EmOptions& options, const Run& run, const RowMatrix* start) {
  if (!(options.a > 0.0)) throw UsageError("a must be above 0");
  if (options.a > 1.0 && !(options.b > 0.0))
    throw UsageError(
        "a > 1 with b = 0 has no maximum: the posterior rises for ever with the scale of the weights; give b > 0 (it sets only the "
        "scale)");
  const auto k = static_cast<Eigen::Index>(data.num_classes), p = static_cast<Eigen::Index>(data.num_features());
  RowMatrix lambda = RowMatrix::Zero(k, p);
  if (start != nullptr) {
    lambda = *start;
  } else {
    // Every class in proportion to its wins, every feature alike. A class that never wins has no weight at the maximum of a <= 1.
    for (std::size_t i = 0; i < data.num_rows(); ++i)
      for (const std::uint32_t winner : data.order(i)) lambda.row(winner).array() += data.weight(i);
    if (options.a > 1.0) lambda.array() += 1.0;
    if (options.a < 1.0) {
      EmOptions first = options;
      first.a = 1.0;
      first.b = 0.0;
      first.max_steps = 100;
      Run quiet = run;
      quiet.observer = nullptr;
      lambda = fit_em(data, first, quiet).lambda;
    }
  }
  return Em(data, options, run).fit(std::move(lambda));
}

}  // namespace caucus::pl_regression
