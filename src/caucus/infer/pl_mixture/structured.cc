#include "caucus/infer/pl_mixture/structured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/lbfgs.h"
#include "caucus/infer/pl_mixture/eigen_index.h"
#include "caucus/io/row_table.h"
#include "caucus/io/table.h"

namespace caucus::pl_mixture {

namespace {

// Choices of a ranking with more than one possible outcome.
std::size_t num_choices(std::size_t length, std::size_t num_items, Unranked unranked) {
  const std::size_t field = unranked == Unranked::last ? num_items : length;
  return std::min(length, field > 0 ? field - 1 : 0);
}

double exponent_at(std::span<const double> exponents, std::size_t stage) {
  return stage == 0 || exponents.empty() ? 1.0 : exponents[std::min(stage, exponents.size()) - 1];
}

// A weak pull of log exponents towards 0: stages that few ballots reach say little.
constexpr double exponent_ridge = 0.1;

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

std::size_t most_choices(const Dataset& data) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < data.rankings.size(); ++i)
    most = std::max(most, num_choices(data.rankings.length(i), data.num_items(), data.unranked));
  return most;
}

}  // namespace

double dampened_log_prob(RankingView ranking, Unranked unranked, std::span<const double> utilities,
                         std::span<const double> exponents) {
  DampenedGroup group(utilities, exponents, num_choices(ranking.size(), utilities.size(), unranked));
  double total = 0.0;
  group.walk(ranking, unranked, [&](std::size_t, double log_prob, double, double, bool) { total += log_prob; });
  return total;
}

std::vector<ItemId> dampened_sample(RandomStream& random, std::span<const double> utilities, std::span<const double> exponents) {
  std::vector<ItemId> left(utilities.size()), order;
  std::iota(left.begin(), left.end(), ItemId{0});
  std::vector<double> logs;
  while (!left.empty()) {
    const double alpha = exponent_at(exponents, order.size());
    logs.clear();
    for (const ItemId item : left) logs.push_back(alpha * utilities[item]);
    const std::size_t chosen = random.categorical_log(logs);
    order.push_back(left[chosen]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return order;
}

ItemDesign read_item_design(const std::string& path, std::string_view formula, const std::vector<std::string>& items) {
  const Table table = read_table(path);
  // The column that names the items: the one that has most of them.
  const Column* names = nullptr;
  std::size_t best = 0;
  std::map<std::string, std::size_t> line_of;
  for (const Column& column : table.columns) {
    std::map<std::string, std::size_t> lines;
    for (std::size_t row = 0; row < table.num_rows; ++row) lines.try_emplace(covariate_text(column, row), row);
    const auto found =
        static_cast<std::size_t>(std::ranges::count_if(items, [&](const std::string& item) { return lines.contains(item); }));
    if (found > best) best = found, names = &column, line_of = std::move(lines);
  }
  if (names == nullptr)
    throw DataError(fmt::format("{}: no column holds the names of the items, such as '{}'", table.source, items[0]));
  std::vector<std::size_t> rows;
  std::vector<std::string> lacking;
  for (const std::string& item : items) {
    const auto found = line_of.find(item);
    if (found == line_of.end())
      lacking.push_back("'" + item + "'");
    else
      rows.push_back(found->second);
  }
  if (!lacking.empty()) {
    const std::size_t shown = std::min<std::size_t>(lacking.size(), 5);
    throw DataError(fmt::format("{}: column '{}' has no line for {} of {} items: {}{}; add them, or leave them out with --exclude",
                                table.source, names->name, lacking.size(), items.size(),
                                fmt::join(lacking.begin(), lacking.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                                lacking.size() > shown ? ", ..." : ""));
  }
  std::vector<Column> columns;
  for (const Column& column : table.columns)
    if (&column != names) columns.push_back(column.select(rows));
  ItemDesign result;
  result.design = CovariateDesign::learn(columns, formula, MissingValues::error, false, "--utilities", result.warnings);
  if (result.design.num_columns() == 0) throw DataError("--utilities: nothing is left that tells the items apart");
  result.x =
      result.design.encode(columns, [&](std::size_t row) { return fmt::format("{}: item '{}'", table.source, items[row]); }).x;
  return result;
}

StructuredObjective::StructuredObjective(const Objective& objective, const StructureOptions& options, std::size_t num_stages,
                                         const RowMatrix& x)
    : objective_(objective),
      options_(options),
      n_(objective.num_items()),
      num_(objective.num_components()),
      q_(static_cast<std::size_t>(x.cols())),
      per_group_(q_ == 0 ? n_ : q_ + (options.free_utilities ? n_ : 0)),
      stages_(options.dampening == Dampening::off ? 0 : num_stages),
      lists_(options.dampening == Dampening::off        ? 0
             : options.dampening == Dampening::by_group ? num_
                                                        : 1),
      x_(x) {}

// Variables: per group utilities, or coefficients and free parts; logits of the weights; logs of tie strengths; logs of exponents.
std::size_t StructuredObjective::first_exponent() const {
  return num_ * per_group_ + (num_ > 1 ? num_ : 0) + objective_.tie_orders().size();
}
std::size_t StructuredObjective::size() const { return first_exponent() + lists_ * stages_; }

Parameters StructuredObjective::unpack(const std::vector<double>& variables, std::vector<double>* exponents) const {
  Parameters p(num_, n_);
  for (std::size_t k = 0; k < num_; ++k) {
    const double* own = &variables[k * per_group_];
    for (std::size_t i = 0; i < n_; ++i) {
      double utility = q_ == 0 ? own[i] : options_.free_utilities ? own[q_ + i] : 0.0;
      for (std::size_t j = 0; j < q_; ++j) utility += x_(index(i), index(j)) * own[j];
      p.component(k)[i] = utility;
    }
  }
  std::size_t at = num_ * per_group_;
  if (num_ > 1) {
    const std::span<const double> logits(&variables[at], num_);
    const double total = log_sum_exp(logits);
    for (std::size_t k = 0; k < num_; ++k) p.weights[k] = std::exp(logits[k] - total);
    at += num_;
  }
  p.ties.orders = objective_.tie_orders();
  for (std::size_t o = 0; o < p.ties.orders.size(); ++o) p.ties.log_delta.push_back(variables[at++]);
  if (exponents != nullptr) {
    exponents->clear();
    for (; at < variables.size(); ++at) exponents->push_back(std::exp(variables[at]));
  }
  return p;
}

std::vector<double> StructuredObjective::start(const Parameters& plain) const {
  std::vector<double> variables(size(), 0.0);
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
    Eigen::MatrixXd normal = x_.transpose() * x_;
    normal.diagonal().array() += 1e-3 * (1.0 + normal.diagonal().maxCoeff());
    const Eigen::VectorXd beta = normal.ldlt().solve(x_.transpose() * target);
    std::copy_n(beta.data(), q_, own);
    if (options_.free_utilities) {
      const Eigen::VectorXd rest = target - x_ * beta;
      std::copy_n(rest.data(), n_, own + q_);
    }
  }
  std::size_t at = num_ * per_group_;
  for (std::size_t k = 0; k < num_ && num_ > 1; ++k) variables[at++] = std::log(std::max(plain.weights[k], 1e-6));
  for (std::size_t o = 0; o < objective_.tie_orders().size(); ++o) variables[at++] = plain.ties.log_delta[o];
  return variables;
}

double StructuredObjective::evaluate(const std::vector<double>& variables, std::vector<double>* gradient, double* loglik) const {
  const Dataset& data = objective_.data();
  const RankingSet& rankings = data.rankings;
  std::vector<double> exponents;
  const Parameters p = unpack(variables, &exponents);
  const std::size_t choices = stages_ + 1;
  const auto of_group = [&](std::size_t k) {
    return std::span<const double>(exponents).subspan(lists_ > 1 ? k * stages_ : 0, lists_ > 0 ? stages_ : 0);
  };
  const Blocks blocks(rankings.size(), 256);
  std::vector<double> logs;
  if (lists_ == 0) {
    logs = objective_.ranking_logs(p);
  } else {
    logs.assign(rankings.size() * num_, 0.0);
    parallel_for(blocks.count(), objective_.threads(), [&](std::size_t b) {
      for (std::size_t k = 0; k < num_; ++k) {
        DampenedGroup group(p.component(k), of_group(k), choices);
        for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i)
          group.walk(rankings[i], data.unranked,
                     [&](std::size_t, double log_prob, double, double, bool) { logs[i * num_ + k] += log_prob; });
      }
    });
  }
  std::vector<double> log_weights;
  for (const double weight : p.weights) log_weights.push_back(std::log(weight));
  const Objective::VoterStep step = objective_.voter_step(logs, log_weights);
  if (loglik != nullptr) *loglik = step.loglik;

  // Penalties: pseudo-comparisons with an item of utility 0, the ridge of free parts, the pull of exponents.
  double value = step.loglik;
  const double strength = objective_.strength();
  for (const double utility : p.utilities) {
    const double magnitude = std::abs(utility);
    value -= strength * (magnitude + 2.0 * std::log1p(std::exp(-magnitude)));
  }
  if (q_ > 0 && options_.free_utilities)
    for (std::size_t k = 0; k < num_; ++k)
      for (std::size_t i = 0; i < n_; ++i) {
        const double free = variables[k * per_group_ + q_ + i];
        value -= 0.5 * options_.free_ridge * free * free;
      }
  for (std::size_t j = first_exponent(); j < size(); ++j) value -= 0.5 * exponent_ridge * variables[j] * variables[j];
  if (gradient == nullptr) return value;

  const std::vector<double> shares = objective_.shares_of_rankings(step.memberships);
  Evaluation sums;
  std::vector<double> by_exponent(lists_ * stages_, 0.0);
  if (lists_ == 0) {
    objective_.add_ranking_shares(p, shares, sums);
  } else {
    struct Part {
      std::vector<double> wins, expected, exponent;
    };
    Part total = parallel_fold(
        blocks, objective_.threads(),
        [&] {
          return Part{std::vector<double>(num_ * n_, 0.0), std::vector<double>(num_ * n_, 0.0),
                      std::vector<double>(num_ * stages_, 0.0)};
        },
        [&](Part& part, std::size_t begin, std::size_t end) {
          std::vector<double> everyone(choices);
          for (std::size_t k = 0; k < num_; ++k) {
            const auto own = of_group(k);
            const auto utilities = p.component(k);
            DampenedGroup group(utilities, own, choices);
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
                if (summed && data.unranked == Unranked::last) {
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
            for (std::size_t s = 0; s < choices; ++s)
              for (std::size_t item = 0; item < n_; ++item) expected[item] += everyone[s] * group.weight(s, item);
          }
        },
        [](Part& all, const Part& part) {
          for (std::size_t j = 0; j < all.wins.size(); ++j) all.wins[j] += part.wins[j], all.expected[j] += part.expected[j];
          for (std::size_t j = 0; j < all.exponent.size(); ++j) all.exponent[j] += part.exponent[j];
        });
    sums.wins = std::move(total.wins);
    sums.expected = std::move(total.expected);
    for (std::size_t k = 0; k < num_; ++k)
      for (std::size_t s = 0; s < stages_; ++s) by_exponent[(lists_ > 1 ? k * stages_ : 0) + s] += total.exponent[k * stages_ + s];
  }
  gradient->assign(size(), 0.0);
  std::vector<double>& g = *gradient;
  for (std::size_t k = 0; k < num_; ++k)
    for (std::size_t i = 0; i < n_; ++i) {
      const double utility = p.component(k)[i];
      const double slope = sums.wins[k * n_ + i] - sums.expected[k * n_ + i] + strength * (1.0 - 2.0 / (1.0 + std::exp(-utility)));
      double* own = &g[k * per_group_];
      if (q_ == 0) {
        own[i] += slope;
        continue;
      }
      for (std::size_t j = 0; j < q_; ++j) own[j] += slope * x_(index(i), index(j));
      if (options_.free_utilities) own[q_ + i] += slope - options_.free_ridge * variables[k * per_group_ + q_ + i];
    }
  std::size_t at = num_ * per_group_;
  for (std::size_t k = 0; k < num_ && num_ > 1; ++k) g[at++] = step.responsibility[k] - data.voters.total_weight() * p.weights[k];
  for (std::size_t o = 0; o < objective_.tie_orders().size(); ++o) g[at++] = objective_.tie_counts()[o] - sums.tie_expected[o];
  for (std::size_t j = 0; j < by_exponent.size(); ++j, ++at) g[at] = by_exponent[j] * exponents[j] - exponent_ridge * variables[at];
  return value;
}

Structured fit_structured(const Dataset& given, const Parameters& plain, double strength, const StructureOptions& options,
                          int iterations, double tolerance, bool standard_errors, const Run& run) {
  if (options.utilities.empty() != options.items.empty())
    throw UsageError("--items FILE and --utilities FORMULA go together: a table of the items, and which of its columns matter");
  if (options.dampening != Dampening::off && given.rankings.has_ties())
    throw DataError(fmt::format("{}: --dampening takes rankings without ties only; break the ties first", given.source));
  const std::size_t choices = most_choices(given);
  if (options.dampening != Dampening::off && choices < 2)
    throw DataError(fmt::format("{}: --dampening: every ranking is a single choice, so there are no later ones", given.source));
  Dataset data = given;
  if (!data.voters.given()) make_rows_voters(data);
  Structured result;
  RowMatrix x(static_cast<Eigen::Index>(data.num_items()), 0);
  std::vector<double> scale;
  if (!options.utilities.empty()) {
    result.items = read_item_design(options.items, options.utilities, data.items);
    result.warnings = result.items->warnings;
    x = result.items->x;
    for (Eigen::Index j = 0; j < x.cols(); ++j) {
      x.col(j).array() -= x.col(j).mean();
      const double deviation = std::sqrt(x.col(j).squaredNorm() / static_cast<double>(x.rows()));
      scale.push_back(deviation > 0.0 ? deviation : 1.0);
      x.col(j) /= scale.back();
    }
    const Eigen::Index rank = Eigen::MatrixXd(x).colPivHouseholderQr().rank();
    if (rank < x.cols() && !options.free_utilities)
      throw DataError(fmt::format("--utilities: {} columns, but only {} of them tell the {} items apart; leave some out", x.cols(),
                                  rank, x.rows()));
  }
  const Objective objective(data, plain.num_components(), strength, resolve_threads(run.threads));
  const StructuredObjective structured(objective, options, choices - 1, x);
  std::vector<double> variables = structured.start(plain);
  const double total = std::max(1.0, given.rankings.total_weight());
  const std::vector<double> metric(structured.size(), static_cast<double>(data.num_items()) / (10.0 * total));
  const auto value = [&](const std::vector<double>& at, std::vector<double>& gradient) {
    // Far out nothing is learned, and exponentials must stay numbers.
    for (const double one : at)
      if (!(std::abs(one) < 60.0)) return -infinity;
    return structured.evaluate(at, &gradient);
  };
  std::vector<double> gradient;
  lbfgs_maximise(value, variables, metric, std::max(iterations, 100),
                 tolerance * std::max(1.0, std::abs(structured.evaluate(variables, nullptr))));
  structured.evaluate(variables, nullptr, &result.loglik);
  const std::size_t num = plain.num_components(), n = data.num_items(), q = static_cast<std::size_t>(x.cols());

  // Largest group first.
  Parameters unsorted = structured.unpack(variables, &result.exponents);
  std::vector<std::size_t> order(num);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return unsorted.weights[a] > unsorted.weights[b]; });
  std::vector<double> sorted = variables;
  for (std::size_t k = 0; k < num; ++k) {
    std::copy_n(&variables[order[k] * structured.per_group()], structured.per_group(), &sorted[k * structured.per_group()]);
    if (num > 1) sorted[num * structured.per_group() + k] = variables[num * structured.per_group() + order[k]];
    if (structured.num_lists() > 1)
      std::copy_n(&variables[structured.first_exponent() + order[k] * (choices - 1)], choices - 1,
                  &sorted[structured.first_exponent() + k * (choices - 1)]);
  }
  variables = std::move(sorted);
  result.parameters = structured.unpack(variables, &result.exponents);
  result.num_stages = choices - 1;
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t j = 0; j < q; ++j) result.coefficients.push_back(variables[k * structured.per_group() + j] / scale[j]);
  const std::size_t utilities = q == 0 ? n - 1 : q + (options.free_utilities ? n - 1 : 0);
  result.num_parameters =
      static_cast<std::int64_t>(num * utilities + num - 1 + objective.tie_orders().size() + structured.num_lists() * (choices - 1));

  const double none = std::numeric_limits<double>::quiet_NaN();
  result.coefficient_errors.assign(result.coefficients.size(), none);
  result.exponent_errors.assign(result.exponents.size(), none);
  result.utility_errors.assign(num * n, none);
  if (standard_errors && structured.size() <= 600) {
    // Central differences of the exact gradient; directions that the likelihood does not see are left out of the inverse.
    const std::size_t size = structured.size();
    Eigen::MatrixXd information(index(size), index(size));
    constexpr double h = 1e-4;
    for (std::size_t j = 0; j < size; ++j) {
      std::vector<double> up = variables, down = variables, high, low;
      up[j] += h;
      down[j] -= h;
      structured.evaluate(up, &high);
      structured.evaluate(down, &low);
      for (std::size_t i = 0; i < size; ++i) information(index(i), index(j)) = (low[i] - high[i]) / (2.0 * h);
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(0.5 * (information + information.transpose()));
    Eigen::VectorXd inverse = eigen.eigenvalues();
    const double largest = inverse.maxCoeff();
    for (double& one : inverse) one = one > 1e-7 * largest ? 1.0 / one : 0.0;
    const Eigen::MatrixXd covariance = eigen.eigenvectors() * inverse.asDiagonal() * eigen.eigenvectors().transpose();
    const auto error = [&](const Eigen::VectorXd& direction) {
      return std::sqrt(std::max(0.0, direction.dot(covariance * direction)));
    };
    for (std::size_t k = 0; k < num; ++k) {
      for (std::size_t j = 0; j < q; ++j) {
        const auto at = index(k * structured.per_group() + j);
        result.coefficient_errors[k * q + j] = std::sqrt(std::max(0.0, covariance(at, at))) / scale[j];
      }
      for (std::size_t i = 0; i < n; ++i) {
        Eigen::VectorXd direction = Eigen::VectorXd::Zero(index(size));
        for (std::size_t other = 0; other < n; ++other) {
          const double by = (other == i ? 1.0 : 0.0) - 1.0 / static_cast<double>(n);
          for (std::size_t j = 0; j < q; ++j) direction[index(k * structured.per_group() + j)] += by * x(index(other), index(j));
          if (q == 0) direction[index(k * n + other)] += by;
          if (q > 0 && options.free_utilities) direction[index(k * structured.per_group() + q + other)] += by;
        }
        result.utility_errors[k * n + i] = error(direction);
      }
    }
    for (std::size_t j = 0; j < result.exponents.size(); ++j) {
      const auto at = index(structured.first_exponent() + j);
      result.exponent_errors[j] = result.exponents[j] * std::sqrt(std::max(0.0, covariance(at, at)));
    }
  }
  result.parameters.center_all();
  return result;
}

}  // namespace caucus::pl_mixture
