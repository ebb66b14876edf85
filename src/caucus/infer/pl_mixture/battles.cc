#include "caucus/infer/pl_mixture/battles.h"

#include <algorithm>
#include <cmath>

#include "caucus/infer/pl_mixture/eigen_index.h"

namespace caucus::pl_mixture {

namespace {

using Matrix = Eigen::MatrixXd;

// Chances of the three outcomes of a pair, and the log of the sum of what they are in proportion to, over the root of the worths'
// product.
struct Outcomes {
  double first, second, tie, log_sum;

  Outcomes(double utility_first, double utility_second, double delta) {
    const double half = 0.5 * (utility_first - utility_second), magnitude = std::abs(half);
    const double root = std::exp(-magnitude), less = root * root, tied = delta * root, sum = 1.0 + less + tied;
    first = (half >= 0.0 ? 1.0 : less) / sum;
    second = (half >= 0.0 ? less : 1.0) / sum;
    tie = tied / sum;
    log_sum = magnitude + std::log(sum);
  }
};

double delta_of(const Parameters& parameters) { return parameters.ties.empty() ? 0.0 : std::exp(parameters.ties.log_delta[0]); }

}  // namespace

std::optional<Battles> Battles::of(const Dataset& data) {
  const RankingSet& rankings = data.rankings;
  if (data.unranked != Unranked::absent) return std::nullopt;
  // Pairs in the order of their items: (smaller, larger, the ranking).
  struct Met {
    std::uint64_t pair;
    std::uint32_t ranking;
  };
  std::vector<Met> met;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const RankingView ranking = rankings[i];
    if (ranking.size() > 2) return std::nullopt;
    if (ranking.size() < 2) continue;
    const auto [low, high] = std::minmax({ranking[0], ranking[1]});
    met.push_back({std::uint64_t{low} << 32 | high, static_cast<std::uint32_t>(i)});
  }
  std::ranges::sort(met, {}, &Met::pair);
  Battles battles;
  battles.num_items_ = data.num_items();
  std::vector<Place> places(rankings.size(), {0, says_nothing});
  for (const Met& one : met) {
    const auto low = static_cast<ItemId>(one.pair >> 32), high = static_cast<ItemId>(one.pair);
    if (battles.pairs_.empty() || battles.pairs_.back().first != low || battles.pairs_.back().second != high)
      battles.pairs_.push_back({low, high, 0.0, 0.0, 0.0});
    const RankingView ranking = rankings[one.ranking];
    places[one.ranking] = {static_cast<std::uint32_t>(battles.pairs_.size() - 1), !ranking.ends_group(0) ? 2u
                                                                                  : ranking[0] == low    ? 0u
                                                                                                         : 1u};
  }
  battles.places_ = std::make_shared<const std::vector<Place>>(std::move(places));
  battles.count(rankings.weights());
  return battles;
}

Battles Battles::with_weights(std::span<const double> weights) const {
  Battles other = *this;
  other.count(weights);
  return other;
}

void Battles::count(std::span<const double> weights) {
  for (Pair& pair : pairs_) pair.wins_first = pair.wins_second = pair.ties = 0.0;
  total_ties_ = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Place place = (*places_)[i];
    if (place.count == says_nothing) continue;
    Pair& pair = pairs_[place.pair];
    (place.count == 0 ? pair.wins_first : place.count == 1 ? pair.wins_second : pair.ties) += weights[i];
    if (place.count == 2) total_ties_ += weights[i];
  }
}

bool Battles::strongly_connected() const {
  if (num_items_ < 2) return true;
  // Everything is reached from the first item, forwards and backwards.
  for (const bool forwards : {true, false}) {
    std::vector<std::vector<ItemId>> next(num_items_);
    for (const Pair& pair : pairs_) {
      if (pair.ties > 0.0 || (forwards ? pair.wins_first : pair.wins_second) > 0.0) next[pair.first].push_back(pair.second);
      if (pair.ties > 0.0 || (forwards ? pair.wins_second : pair.wins_first) > 0.0) next[pair.second].push_back(pair.first);
    }
    std::vector<char> reached(num_items_, 0);
    std::vector<ItemId> open{0};
    reached[0] = 1;
    std::size_t count = 1;
    while (!open.empty()) {
      const ItemId item = open.back();
      open.pop_back();
      for (const ItemId other : next[item])
        if (reached[other] == 0) reached[other] = 1, ++count, open.push_back(other);
    }
    if (count < num_items_) return false;
  }
  return true;
}

Battles::Value Battles::evaluate(const Parameters& parameters, double strength) const {
  const std::vector<double>& u = parameters.utilities;
  const double delta = delta_of(parameters);
  const std::size_t size = u.size() + (parameters.ties.empty() ? 0 : 1);
  Value value;
  value.gradient = Eigen::VectorXd::Zero(index(size));
  double tied = 0.0;
  for (const Pair& pair : pairs_) {
    const double total = pair.total();
    if (!(total > 0.0)) continue;
    const Outcomes chance(u[pair.first], u[pair.second], delta);
    value.objective += 0.5 * (pair.wins_first - pair.wins_second) * (u[pair.first] - u[pair.second]) - total * chance.log_sum;
    const double slope = pair.wins_first + 0.5 * pair.ties - total * (chance.first + 0.5 * chance.tie);
    value.gradient[pair.first] += slope;
    value.gradient[pair.second] -= slope;
    tied += pair.ties - total * chance.tie;
  }
  if (!parameters.ties.empty()) {
    value.objective += total_ties_ * parameters.ties.log_delta[0];
    value.gradient[index(u.size())] = tied;
  }
  for (std::size_t i = 0; strength > 0.0 && i < u.size(); ++i) {
    const double magnitude = std::abs(u[i]);
    value.objective -= strength * (magnitude + 2.0 * std::log1p(std::exp(-magnitude)));
    value.gradient[index(i)] += strength - strength * 2.0 / (1.0 + std::exp(-u[i]));
  }
  return value;
}

Matrix Battles::information(const Parameters& parameters, double strength) const {
  const std::vector<double>& u = parameters.utilities;
  const double delta = delta_of(parameters);
  const Eigen::Index n = index(u.size()), size = n + (parameters.ties.empty() ? 0 : 1);
  Matrix result = Matrix::Zero(size, size);
  for (const Pair& pair : pairs_) {
    const double total = pair.total();
    if (!(total > 0.0)) continue;
    const Eigen::Index i = pair.first, j = pair.second;
    const Outcomes chance(u[pair.first], u[pair.second], delta);
    // A tie is half a win of each: covariances of the two shares, and of them with the tie.
    const double mean_first = chance.first + 0.5 * chance.tie, mean_second = chance.second + 0.5 * chance.tie;
    const double spread = total * (mean_first * mean_second - 0.25 * chance.tie);
    result(i, i) += spread;
    result(j, j) += spread;
    result(i, j) -= spread;
    result(j, i) -= spread;
    if (size == n) continue;
    result(n, i) += total * chance.tie * (0.5 - mean_first);
    result(n, j) += total * chance.tie * (0.5 - mean_second);
    result(n, n) += total * chance.tie * (1.0 - chance.tie);
  }
  if (size > n) result.col(n).head(n) = result.row(n).head(n).transpose();
  for (Eigen::Index i = 0; strength > 0.0 && i < n; ++i) {
    const double p = 1.0 / (1.0 + std::exp(-u[static_cast<std::size_t>(i)]));
    result(i, i) += strength * 2.0 * p * (1.0 - p);
  }
  return result;
}

Cholesky Battles::metric(const Parameters& parameters, double strength) const {
  Matrix matrix = information(parameters, strength);
  const Eigen::Index n = index(num_items_);
  if (!(strength > 0.0)) {
    auto block = matrix.topLeftCorner(n, n);
    block.array() += block.trace() / static_cast<double>(n * n);
  }
  return Cholesky(matrix);
}

bool Battles::refine(const Cholesky& metric, double strength, Parameters& parameters) const {
  constexpr double near_enough = 1e-8, fast = 0.25;  // of the squared distance in standard errors, and its fall in a step
  constexpr int most_steps = 40;
  std::optional<Cholesky> own;
  Value at = evaluate(parameters, strength);
  double last = infinity;
  for (int step = 0; step < most_steps; ++step) {
    const Cholesky& factor = own ? *own : metric;
    const Eigen::VectorXd direction = factor.solve(at.gradient);
    const double distance = direction.dot(at.gradient);
    if (!std::isfinite(distance) || distance < 0.0) return false;
    if (distance <= near_enough) return true;
    if (distance > fast * last && last < infinity) {
      own.emplace(this->metric(parameters, strength));
      if (!own->is_positive_definite()) return false;
      last = infinity;
      continue;
    }
    last = distance;
    double length = 1.0;
    for (int halving = 0;; ++halving, length *= 0.5) {
      if (halving == 30) return false;
      Parameters next = parameters;
      for (std::size_t i = 0; i < next.utilities.size(); ++i) next.utilities[i] += length * direction[index(i)];
      if (!next.ties.empty()) next.ties.log_delta[0] += length * direction[index(next.utilities.size())];
      Value there = evaluate(next, strength);
      // Sums of a million battles are no better than their rounding.
      if (!(there.objective >= at.objective - 1e-13 * std::abs(at.objective))) continue;
      parameters = std::move(next);
      at = std::move(there);
      break;
    }
  }
  return false;
}

}  // namespace caucus::pl_mixture
