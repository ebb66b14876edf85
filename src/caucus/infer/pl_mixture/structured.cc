#include "caucus/infer/pl_mixture/structured.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/pl_mixture/eigen_index.h"
#include "caucus/infer/pl_mixture/known_voters.h"
#include "caucus/model/decompositions.h"

namespace caucus::pl_mixture {

namespace {

// A weak pull of log exponents towards 0: stages that few ballots reach say little.
constexpr double exponent_ridge = 0.1;

}  // namespace

Structure make_structure(const Dataset& data, const StructureOptions& options) {
  if (options.utilities.empty() != options.items.empty())
    throw UsageError("--items FILE and --utilities FORMULA go together: a table of the items, and which of its columns matter");
  Structure structure;
  structure.options = options;
  structure.x = RowMatrix(index(data.num_items()), 0);
  if (options.dampening != Dampening::off) {
    if (data.rankings.has_ties())
      throw DataError(fmt::format("{}: --dampening takes rankings without ties only; break the ties first", data.source));
    const std::size_t choices = most_choices(data);
    if (choices < 2)
      throw DataError(fmt::format("{}: --dampening: every ranking is a single choice, so there are no later ones", data.source));
    structure.num_stages = choices - 1;
  }
  if (options.utilities.empty()) return structure;
  structure.items = read_item_design(options.items, options.utilities, data.items);
  RowMatrix& x = structure.x;
  x = structure.items->x;
  for (Eigen::Index j = 0; j < x.cols(); ++j) {
    x.col(j).array() -= x.col(j).mean();
    const double deviation = std::sqrt(x.col(j).squaredNorm() / static_cast<double>(x.rows()));
    structure.scale.push_back(deviation > 0.0 ? deviation : 1.0);
    x.col(j) /= structure.scale.back();
  }
  const Eigen::Index rank = rank_of(x);
  if (rank < x.cols() && !options.free_utilities)
    throw DataError(fmt::format("--utilities: {} columns, but only {} of them tell the {} items apart; leave some out", x.cols(),
                                rank, x.rows()));
  return structure;
}

StructuredObjective::StructuredObjective(const Objective& objective, const Structure& structure)
    : objective_(objective),
      structure_(structure),
      n_(objective.num_items()),
      num_(objective.num_components()),
      q_(static_cast<std::size_t>(structure.x.cols())),
      per_group_(q_ == 0 ? n_ : q_ + (structure.options.free_utilities ? n_ : 0)),
      stages_(structure.num_stages),
      lists_(stages_ == 0                                         ? 0
             : structure.options.dampening == Dampening::by_group ? num_
                                                                  : 1) {}

std::size_t StructuredObjective::num_parameters() const {
  const std::size_t utilities = q_ == 0 ? n_ - 1 : q_ + (structure_.options.free_utilities ? n_ - 1 : 0);
  const std::size_t weights = objective_.membership() != nullptr ? objective_.num_weight_variables() : num_ - 1;
  return num_ * utilities + weights + objective_.tie_orders().size() + lists_ * stages_;
}

std::span<const double> StructuredObjective::list_of(const std::vector<double>& exponents, std::size_t group) const {
  return std::span(exponents).subspan(lists_ > 1 ? group * stages_ : 0, lists_ > 0 ? stages_ : 0);
}

Parameters StructuredObjective::unpack(const std::vector<double>& variables, std::vector<double>* exponents) const {
  Parameters p(num_, n_);
  for (std::size_t k = 0; k < num_; ++k) {
    const double* own = &variables[k * per_group_];
    for (std::size_t i = 0; i < n_; ++i) {
      double utility = q_ == 0 ? own[i] : structure_.options.free_utilities ? own[q_ + i] : 0.0;
      for (std::size_t j = 0; j < q_; ++j) utility += structure_.x(index(i), index(j)) * own[j];
      p.component(k)[i] = utility;
    }
  }
  const auto at = variables.begin() + static_cast<std::ptrdiff_t>(first_weight()),
             end = at + static_cast<std::ptrdiff_t>(objective_.num_weight_variables());
  if (const MembershipLogit* logit = objective_.membership()) {
    p.gamma.assign(at, end);
    p.weights = mean_weights(*logit, p.gamma, objective_.data().voters.weights);
  } else if (num_ > 1) {
    const double total = log_sum_exp(std::span(at, end));
    std::transform(at, end, p.weights.begin(), [&](double one) { return std::exp(one - total); });
  }
  p.ties.orders = objective_.tie_orders();
  p.ties.log_delta.assign(end, end + static_cast<std::ptrdiff_t>(p.ties.orders.size()));
  if (exponents != nullptr) {
    exponents->clear();
    for (std::size_t j = first_exponent(); j < size(); ++j) exponents->push_back(std::exp(variables[j]));
  }
  return p;
}

std::vector<double> StructuredObjective::start(const Parameters& plain) const {
  std::vector<double> variables(size(), 0.0);
  const RowMatrix& x = structure_.x;
  for (std::size_t k = 0; k < num_; ++k) {
    const auto utilities = plain.component(k);
    double* own = &variables[k * per_group_];
    if (q_ == 0) {
      std::ranges::copy(utilities, own);
      continue;
    }
    // Least squares, with a little ridge, on utilities that are not out of sight.
    Eigen::VectorXd target(index(n_));
    for (std::size_t i = 0; i < n_; ++i) target[index(i)] = std::clamp(utilities[i], -5.0, 5.0);
    target.array() -= target.mean();
    Eigen::MatrixXd normal = x.transpose() * x;
    normal.diagonal().array() += 1e-3 * (1.0 + normal.diagonal().maxCoeff());
    const Eigen::VectorXd beta = solve_symmetric(normal, x.transpose() * target);
    std::copy_n(beta.data(), q_, own);
    if (structure_.options.free_utilities) {
      const Eigen::VectorXd rest = target - x * beta;
      std::copy_n(rest.data(), n_, own + q_);
    }
  }
  double* const weights = variables.data() + first_weight();
  if (objective_.membership() != nullptr) {
    Parameters complete = plain;
    objective_.complete(complete);
    std::ranges::copy(complete.gamma, weights);
  } else if (num_ > 1) {
    for (std::size_t k = 0; k < num_; ++k) weights[k] = std::log(std::max(plain.weights[k], 1e-6));
  }
  std::ranges::copy(plain.ties.log_delta, variables.begin() + static_cast<std::ptrdiff_t>(first_tie()));
  return variables;
}

std::vector<double> StructuredObjective::start(const StructuredObjective& other, const std::vector<double>& variables,
                                               const std::vector<double>& weight_variables) const {
  std::vector<double> result(size(), 0.0);
  std::copy_n(variables.begin(), first_weight(), result.begin());
  std::ranges::copy(weight_variables, result.begin() + static_cast<std::ptrdiff_t>(first_weight()));
  const std::vector<int>&from = other.objective_.tie_orders(), &to = objective_.tie_orders();
  for (std::size_t o = 0; o < to.size(); ++o)
    if (const auto found = std::ranges::find(from, to[o]); found != from.end())
      result[first_tie() + o] = variables[other.first_tie() + static_cast<std::size_t>(found - from.begin())];
  std::copy_n(variables.begin() + static_cast<std::ptrdiff_t>(other.first_exponent()), lists_ * stages_,
              result.begin() + static_cast<std::ptrdiff_t>(first_exponent()));
  return result;
}

std::vector<double> StructuredObjective::permuted(const std::vector<double>& variables, std::span<const std::size_t> order) const {
  std::vector<double> result = variables;
  const auto move_lists = [&](std::size_t first, std::size_t length) {
    for (std::size_t k = 0; k < num_; ++k)
      std::copy_n(variables.begin() + static_cast<std::ptrdiff_t>(first + order[k] * length), length,
                  result.begin() + static_cast<std::ptrdiff_t>(first + k * length));
  };
  move_lists(0, per_group_);
  if (const MembershipLogit* logit = objective_.membership())
    std::ranges::copy(logit->permuted(std::span(variables).subspan(first_weight(), logit->size()), order),
                      result.begin() + static_cast<std::ptrdiff_t>(first_weight()));
  else if (num_ > 1)
    move_lists(first_weight(), 1);
  if (lists_ > 1) move_lists(first_exponent(), stages_);
  return result;
}

std::vector<double> StructuredObjective::ranking_logs(const Parameters& p, const std::vector<double>& exponents) const {
  if (lists_ == 0) return objective_.ranking_logs(p);
  const Dataset& data = objective_.data();
  const RankingSet& rankings = data.rankings;
  std::vector<double> logs(rankings.size() * num_, 0.0);
  const Blocks blocks(rankings.size(), 256);
  parallel_for(blocks.count(), objective_.threads(), [&](std::size_t b) {
    for (std::size_t k = 0; k < num_; ++k) {
      DampenedGroup group(p.component(k), list_of(exponents, k), stages_ + 1);
      for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i)
        group.walk(rankings[i], data.unranked,
                   [&](std::size_t, double log_prob, double, double, bool) { logs[i * num_ + k] += log_prob; });
    }
  });
  return logs;
}

Objective::VoterStep StructuredObjective::voter_step(const Parameters& p, const std::vector<double>& exponents) const {
  const std::vector<double> logs = ranking_logs(p, exponents);
  if (const MembershipLogit* logit = objective_.membership()) return objective_.voter_step(logs, logit->log_weights(p.gamma));
  std::vector<double> log_weights;
  for (const double weight : p.weights) log_weights.push_back(std::log(weight));
  return objective_.voter_step(logs, log_weights);
}

std::vector<double> StructuredObjective::voter_memberships(const std::vector<double>& variables) const {
  std::vector<double> exponents;
  const Parameters p = unpack(variables, &exponents);
  return voter_step(p, exponents).memberships;
}

// Pseudo-comparisons with an item of utility 0, the ridges of free parts and of voters' coefficients, the pull of exponents.
double StructuredObjective::penalty(const std::vector<double>& variables, const Parameters& p) const {
  double value = 0.0;
  for (const double utility : p.utilities) {
    const double magnitude = std::abs(utility);
    value -= objective_.strength() * (magnitude + 2.0 * std::log1p(std::exp(-magnitude)));
  }
  if (q_ > 0 && structure_.options.free_utilities)
    for (std::size_t k = 0; k < num_; ++k)
      for (std::size_t i = 0; i < n_; ++i) {
        const double free = variables[k * per_group_ + q_ + i];
        value -= 0.5 * structure_.options.free_ridge * free * free;
      }
  for (std::size_t j = first_exponent(); j < size(); ++j) value -= 0.5 * exponent_ridge * variables[j] * variables[j];
  if (const MembershipLogit* logit = objective_.membership()) value += logit->penalty(p.gamma);
  return value;
}

struct StructuredObjective::Sums {
  std::vector<double> wins, expected, tie_expected;  // as in Evaluation
  std::vector<double> exponent;                      // [list * stages + s]: derivatives by the exponents
};

StructuredObjective::Sums StructuredObjective::sums_of(const Parameters& p, const std::vector<double>& exponents,
                                                       std::span<const double> memberships) const {
  const std::vector<double> shares = objective_.shares_of_rankings(memberships);
  Sums sums;
  if (lists_ == 0) {
    Evaluation plain;
    objective_.add_ranking_shares(p, shares, plain);
    return {std::move(plain.wins), std::move(plain.expected), std::move(plain.tie_expected), {}};
  }
  const Dataset& data = objective_.data();
  const RankingSet& rankings = data.rankings;
  const bool all = data.unranked == Unranked::last;
  struct Part {
    std::vector<double> wins, expected, exponent;
  };
  Part total = parallel_fold(
      Blocks(rankings.size(), 256), objective_.threads(),
      [&] {
        return Part{std::vector<double>(num_ * n_, 0.0), std::vector<double>(num_ * n_, 0.0),
                    std::vector<double>(num_ * stages_, 0.0)};
      },
      [&](Part& part, std::size_t begin, std::size_t end) {
        std::vector<double> everyone(stages_ + 1);
        for (std::size_t k = 0; k < num_; ++k) {
          const auto own = list_of(exponents, k);
          const auto utilities = p.component(k);
          DampenedGroup group(utilities, own, stages_ + 1);
          double* const wins = &part.wins[k * n_];
          double* const expected = &part.expected[k * n_];
          std::ranges::fill(everyone, 0.0);
          for (std::size_t i = begin; i < end; ++i) {
            const double share = shares[i * num_ + k];
            if (!(share > 0.0)) continue;
            const RankingView ranking = rankings[i];
            group.walk(ranking, data.unranked, [&](std::size_t s, double, double left, double moment, bool summed) {
              const double alpha = exponent_at(own, s), each = share * alpha / left;
              wins[ranking[s]] += share * alpha;
              if (summed && all) {
                for (std::size_t item = 0; item < n_; ++item)
                  if (group.is_left(item)) expected[item] += each * group.weight(s, item);
              } else if (summed) {
                for (std::size_t position = s; position < ranking.size(); ++position)
                  expected[ranking[position]] += each * group.weight(s, ranking[position]);
              } else {
                everyone[s] += each;
                for (std::size_t position = 0; position < s; ++position)
                  expected[ranking[position]] -= each * group.weight(s, ranking[position]);
              }
              if (s > 0) part.exponent[k * stages_ + s - 1] += share * (utilities[ranking[s]] - moment / left);
            });
          }
          for (std::size_t s = 0; s <= stages_; ++s)
            for (std::size_t item = 0; item < n_; ++item) expected[item] += everyone[s] * group.weight(s, item);
        }
      },
      [](Part& sum, const Part& part) {
        for (std::size_t j = 0; j < sum.wins.size(); ++j) sum.wins[j] += part.wins[j], sum.expected[j] += part.expected[j];
        for (std::size_t j = 0; j < sum.exponent.size(); ++j) sum.exponent[j] += part.exponent[j];
      });
  sums.wins = std::move(total.wins);
  sums.expected = std::move(total.expected);
  sums.exponent.assign(lists_ * stages_, 0.0);
  for (std::size_t k = 0; k < num_; ++k)
    for (std::size_t s = 0; s < stages_; ++s) sums.exponent[(lists_ > 1 ? k * stages_ : 0) + s] += total.exponent[k * stages_ + s];
  return sums;
}

double StructuredObjective::evaluate(const std::vector<double>& variables, std::vector<double>* gradient, double* loglik) const {
  std::vector<double> exponents;
  const Parameters p = unpack(variables, &exponents);
  const Objective::VoterStep step = voter_step(p, exponents);
  if (loglik != nullptr) *loglik = step.loglik;
  const double value = step.loglik + penalty(variables, p);
  if (gradient == nullptr) return value;

  const Sums sums = sums_of(p, exponents, step.memberships);
  const double strength = objective_.strength();
  std::vector<double>& g = *gradient;
  g.assign(size(), 0.0);
  for (std::size_t k = 0; k < num_; ++k)
    for (std::size_t i = 0; i < n_; ++i) {
      const double utility = p.component(k)[i];
      const double slope = sums.wins[k * n_ + i] - sums.expected[k * n_ + i] + strength * (1.0 - 2.0 / (1.0 + std::exp(-utility)));
      double* own = &g[k * per_group_];
      if (q_ == 0) {
        own[i] += slope;
        continue;
      }
      for (std::size_t j = 0; j < q_; ++j) own[j] += slope * structure_.x(index(i), index(j));
      if (structure_.options.free_utilities)
        own[q_ + i] += slope - structure_.options.free_ridge * variables[k * per_group_ + q_ + i];
    }
  std::size_t at = first_weight();
  if (const MembershipLogit* logit = objective_.membership()) {
    for (const double slope : logit->gradient(step.memberships, p.gamma)) g[at++] = slope;
  } else if (num_ > 1) {
    const double voters = objective_.data().voters.total_weight();
    for (std::size_t k = 0; k < num_; ++k) g[at++] = step.responsibility[k] - voters * p.weights[k];
  }
  for (std::size_t o = 0; o < objective_.tie_orders().size(); ++o) g[at++] = objective_.tie_counts()[o] - sums.tie_expected[o];
  for (std::size_t j = 0; j < exponents.size(); ++j, ++at) g[at] = sums.exponent[j] * exponents[j] - exponent_ridge * variables[at];
  return value;
}

}  // namespace caucus::pl_mixture
