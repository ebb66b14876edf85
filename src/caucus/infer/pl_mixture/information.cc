#include "caucus/infer/pl_mixture/information.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "caucus/base/parallel.h"
#include "caucus/infer/pl_mixture/battles.h"
#include "caucus/infer/pl_mixture/eigen_index.h"
#include "caucus/model/decompositions.h"

namespace caucus::pl_mixture {

namespace {

using Matrix = Eigen::MatrixXd;
using Index = Eigen::Index;

// Partial sums of Louis' formula over a block of rankings.
struct Sums {
  Matrix information;               // (K n + K) square, the lower triangle of scores' part
  std::vector<Matrix> co_presence;  // per component: sum over stages where both are there of weight / S^2
};

// Adds rankings to the sums. Scores are gathered in columns, so that their outer products are one product of matrices.
class LouisBlock {
 public:
  LouisBlock(const Objective& objective, const Parameters& parameters, const std::vector<double>& worths, Sums& sums)
      : n_(objective.num_items()),
        num_(objective.num_components()),
        parameters_(parameters),
        worths_(worths),
        sums_(sums),
        mixed_(index(num_ * n_ + num_), index(columns)),
        own_(num_, Matrix(index(n_), index(columns))) {}

  // order: all items that were there at the first stage, those chosen in `stages` stages first. q: posterior of the components.
  void add(const std::vector<ItemId>& order, std::size_t stages, double weight, const double* q) {
    if (num_ > 1) {
      mixed_.col(index(filled_)).setZero();
      for (std::size_t k = 0; k < num_; ++k)
        mixed_(index(num_ * n_ + k), index(filled_)) = std::sqrt(weight) * (q[k] - parameters_.weights[k]);
    }
    for (std::size_t k = 0; k < num_; ++k) {
      if (q[k] > 0.0 || num_ == 1)
        add_component(k, order, stages, weight, q[k]);
      else
        own_[k].col(index(filled_)).setZero();
    }
    if (num_ == 1) return;
    for (std::size_t h = 0; h < num_; ++h) {
      for (std::size_t k = 0; k <= h; ++k) {
        const double b_h = parameters_.weights[h], b_k = parameters_.weights[k];
        const double complete = (h == k ? b_h : 0.0) - b_h * b_k;
        const double squared = (h == k ? q[h] : 0.0) - q[h] * b_k - b_h * q[k] + b_h * b_k;
        sums_.information(index(num_ * n_ + h), index(num_ * n_ + k)) += weight * (complete - squared);
      }
    }
    if (++filled_ == columns) flush();
  }

  void flush() {
    if (filled_ == 0 || num_ == 1) return void(filled_ = 0);
    // + s s^T of the mixed score, - sum_k q_k s_k s_k^T of the complete-data scores.
    sums_.information.selfadjointView<Eigen::Lower>().rankUpdate(mixed_.leftCols(index(filled_)));
    for (std::size_t k = 0; k < num_; ++k) {
      auto block = sums_.information.block(index(k * n_), index(k * n_), index(n_), index(n_));
      block.selfadjointView<Eigen::Lower>().rankUpdate(own_[k].leftCols(index(filled_)), -1.0);
    }
    filled_ = 0;
  }

 private:
  static constexpr std::size_t columns = 64;

  void add_component(std::size_t k, const std::vector<ItemId>& order, std::size_t stages, double weight, double q) {
    const double* worths = &worths_[k * n_];
    const std::size_t length = order.size();
    left_.assign(stages + 1, 0.0);
    double rest = 0.0;
    for (std::size_t p = length; p-- > stages;) rest += worths[order[p]];
    for (std::size_t p = stages; p-- > 0;) left_[p] = rest += worths[order[p]];
    inverse_.assign(stages, 0.0);
    square_.assign(stages, 0.0);
    double sum1 = 0.0, sum2 = 0.0;
    for (std::size_t p = 0; p < stages; ++p) {
      inverse_[p] = sum1 += 1.0 / left_[p];
      square_[p] = sum2 += 1.0 / (left_[p] * left_[p]);
    }
    // Pairs are there together until the better placed leaves.
    Matrix& both = sums_.co_presence[k];
    for (std::size_t p = 0; p < length; ++p) {
      double* column = both.data() + order[p] * n_;
      const double value = weight * q * square_[std::min(p, stages - 1)];
      for (std::size_t s = p; s < length; ++s) column[order[s]] += value;
    }
    if (num_ == 1) return;
    auto score = own_[k].col(index(filled_));
    score.setZero();
    const double root = std::sqrt(weight), factor = std::sqrt(q) * root;
    for (std::size_t p = 0; p < length; ++p) {
      const double g = (p < stages ? 1.0 : 0.0) - worths[order[p]] * inverse_[std::min(p, stages - 1)];
      score[index(order[p])] = factor * g;
      mixed_(index(k * n_ + order[p]), index(filled_)) = root * q * g;
    }
    // The cross terms of utilities and weights: - q_k g_k (e_k - weights)^T.
    for (std::size_t h = 0; h < num_; ++h) {
      const double cross = weight * q * ((h == k ? 1.0 : 0.0) - parameters_.weights[h]);
      for (std::size_t i = 0; i < n_; ++i)
        sums_.information(index(num_ * n_ + h), index(k * n_ + i)) -= cross * score[index(i)] / (factor > 0.0 ? factor : 1.0);
    }
  }

  std::size_t n_, num_;
  const Parameters& parameters_;
  const std::vector<double>& worths_;
  Sums& sums_;
  Matrix mixed_;
  std::vector<Matrix> own_;
  std::size_t filled_ = 0;
  std::vector<double> left_, inverse_, square_;
};

template <class Item>
void add_block(const Batch& batch, const Buffer<Item>& items, const Objective& objective, const Parameters& parameters,
               const std::vector<double>& worths, const std::vector<double>& posterior, std::size_t begin, std::size_t end,
               Sums& sums) {
  const std::size_t n = objective.num_items();
  LouisBlock block(objective, parameters, worths, sums);
  std::vector<char> listed(n);
  std::vector<ItemId> order;
  for (const Batch::Group& group : batch.groups) {
    for (std::size_t r = std::max(begin, group.first); r < std::min(end, group.first + group.count); ++r) {
      const Item* listing = items.data() + group.begin + (r - group.first) * group.length;
      order.assign(listing, listing + group.length);
      if (group.implicit) {
        std::ranges::fill(listed, 0);
        for (ItemId item : order) listed[item] = 1;
        for (std::size_t i = 0; i < n; ++i)
          if (listed[i] == 0) order.push_back(static_cast<ItemId>(i));
      }
      block.add(order, group.stages, batch.weights[r], &posterior[batch.source[r] * objective.num_components()]);
    }
  }
  block.flush();
}

Matrix strict_information(const Objective& objective, const Parameters& parameters) {
  const std::size_t n = objective.num_items(), num = objective.num_components();
  const std::size_t size = num * n + (num > 1 ? num : 0);
  const Batch& batch = objective.whole_batch();
  std::vector<double> posterior;
  const Evaluation evaluation = objective.evaluate(parameters, &posterior);
  std::vector<double> worths(num * n);
  for (std::size_t k = 0; k < num; ++k) {
    const auto utilities = parameters.component(k);
    const double largest = *std::ranges::max_element(utilities);
    for (std::size_t i = 0; i < n; ++i) worths[k * n + i] = std::exp(std::max(utilities[i] - largest, -max_spread));
  }
  // Each block holds its own matrices: few blocks where they are large.
  const std::size_t limit = size > 500 ? 2 : size > 100 ? 8 : 16;
  Sums sums = parallel_fold(
      Blocks(batch.count, 512, limit), objective.threads(),
      [&] {
        Sums part;
        part.information = Matrix::Zero(index(num * n + num), index(num * n + num));
        part.co_presence.assign(num, Matrix::Zero(index(n), index(n)));
        return part;
      },
      [&](Sums& part, std::size_t begin, std::size_t end) {
        if (batch.items32.empty())
          add_block(batch, batch.items16, objective, parameters, worths, posterior, begin, end, part);
        else
          add_block(batch, batch.items32, objective, parameters, worths, posterior, begin, end, part);
      },
      [](Sums& total, const Sums& part) {
        total.information += part.information;
        for (std::size_t k = 0; k < part.co_presence.size(); ++k) total.co_presence[k] += part.co_presence[k];
      });
  Matrix result = sums.information.topLeftCorner(index(size), index(size));
  for (std::size_t k = 0; k < num; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      double data_expected = evaluation.expected[k * n + i];
      if (objective.strength() > 0.0) {
        const double p = 1.0 / (1.0 + std::exp(-parameters.component(k)[i]));
        data_expected -= objective.strength() * 2.0 * p;
        result(index(k * n + i), index(k * n + i)) += objective.strength() * 2.0 * p * (1.0 - p);
      }
      result(index(k * n + i), index(k * n + i)) += data_expected;
      for (std::size_t j = 0; j <= i; ++j) {
        // co_presence holds each pair once, in the column of the better placed item.
        const Matrix& both = sums.co_presence[k];
        const double value = i == j ? both(index(i), index(i)) : both(index(i), index(j)) + both(index(j), index(i));
        result(index(k * n + i), index(k * n + j)) -= worths[k * n + i] * worths[k * n + j] * value;
      }
    }
  }
  result.triangularView<Eigen::StrictlyUpper>() = result.transpose();
  return result;
}

std::vector<double> flat_gradient(const Objective& objective, const Parameters& parameters, const Evaluation& e) {
  std::vector<double> g;
  for (std::size_t j = 0; j < e.wins.size(); ++j) g.push_back(e.wins[j] - e.expected[j]);
  for (const double slope : objective.weight_gradient(e, parameters)) g.push_back(slope);
  for (std::size_t o = 0; o < objective.tie_counts().size(); ++o) g.push_back(objective.tie_counts()[o] - e.tie_expected[o]);
  return g;
}
std::vector<double> flat_gradient(const Objective& objective, const Parameters& parameters) {
  return flat_gradient(objective, parameters, objective.evaluate(parameters));
}

void shift(Parameters& parameters, std::size_t variable, double by) {
  const std::size_t utilities = parameters.utilities.size(), num = parameters.num_components();
  if (variable < utilities) {
    parameters.utilities[variable] += by;
  } else if (!parameters.gamma.empty()) {
    const std::size_t at = variable - utilities, size = parameters.gamma.size();
    (at < size ? parameters.gamma[at] : parameters.ties.log_delta[at - size]) += by;
  } else if (num > 1 && variable < utilities + num) {
    parameters.weights[variable - utilities] *= std::exp(by);
    const double total = sum(parameters.weights);
    for (double& weight : parameters.weights) weight /= total;
  } else {
    parameters.ties.log_delta[variable - utilities - (num > 1 ? num : 0)] += by;
  }
}

Matrix numerical_information(const Objective& objective, const Parameters& parameters) {
  const std::size_t size = parameters.utilities.size() + objective.num_weight_variables() + parameters.ties.orders.size();
  Matrix result(index(size), index(size));
  constexpr double step = 1e-4;
  for (std::size_t j = 0; j < size; ++j) {
    Parameters up = parameters, down = parameters;
    shift(up, j, step);
    shift(down, j, -step);
    const auto high = flat_gradient(objective, up), low = flat_gradient(objective, down);
    for (std::size_t i = 0; i < size; ++i) result(index(i), index(j)) = (low[i] - high[i]) / (2.0 * step);
  }
  return 0.5 * (result + result.transpose());
}

// Adds the constant direction of each piece, which the likelihood does not see, scaled like the rest, so that the matrix can be
// inverted. A prior sees them all.
void fix_gauge(const Objective& objective, const std::vector<Pieces>& pieces, bool fixed_weights, Matrix& information) {
  const std::size_t n = objective.num_items(), num = objective.num_components();
  for (std::size_t k = 0; k < num; ++k) {
    if (objective.strength() > 0.0) break;
    auto block = information.block(index(k * n), index(k * n), index(n), index(n));
    const double scale = std::max(block.trace() / static_cast<double>(n), 1e-300);
    std::vector<double> size(pieces[k].num_pieces(), 0.0);
    for (std::size_t piece : pieces[k].piece_of_item) size[piece] += 1.0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (const std::size_t piece = pieces[k].piece_of_item[i]; piece == pieces[k].piece_of_item[j])
          block(index(i), index(j)) += scale / size[piece];
  }
  if (num == 1 || objective.membership() != nullptr) return;
  auto block = information.block(index(num * n), index(num * n), index(num), index(num));
  if (fixed_weights) {
    information.middleRows(index(num * n), index(num)).setZero();
    information.middleCols(index(num * n), index(num)).setZero();
    block.setIdentity();
  } else {
    block.array() += std::max(block.trace() / static_cast<double>(num), 1e-300);
  }
}

// The inverse of the information; empty where it is not positive definite. A direction of which the data say next to nothing gets
// a standard error of about 30, so that the others keep theirs.
Matrix inverse_information(const Matrix& information) {
  constexpr double next_to_nothing = 1e-3;
  Matrix matrix = information;
  for (int attempt = 0; attempt < 2; ++attempt, matrix.diagonal().array() += next_to_nothing) {
    const Cholesky cholesky(matrix);
    if (cholesky.is_positive_definite() && cholesky.reciprocal_condition() > 1e-14) return cholesky.inverse();
  }
  return {};
}

// Drops items from a block, the worst first, until no error of the utilities centered on it is useless. Of two parts that nothing
// ties together the smaller goes.
void drop_useless(const Matrix& covariance, std::vector<std::size_t>& block, Pieces& pieces) {
  Eigen::VectorXd rows = Eigen::VectorXd::Zero(covariance.rows());  // sums of covariances with the block
  for (std::size_t j : block) rows += covariance.col(index(j));
  while (block.size() > 1) {
    const double size = static_cast<double>(block.size());
    double total = 0.0, largest = 0.0;
    for (std::size_t i : block) total += rows[index(i)];
    std::size_t worst = 0;
    for (std::size_t at = 0; at < block.size(); ++at) {
      const Index i = index(block[at]);
      const double variance = covariance(i, i) - 2.0 * rows[i] / size + total / (size * size);
      if (variance > largest) largest = variance, worst = at;
    }
    if (!(largest > useless_error * useless_error)) return;
    const std::size_t item = block[worst];
    rows -= covariance.col(index(item));
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(worst));
    pieces.piece_of_item[item] = pieces.num_pieces();
  }
  block.clear();
}

// The part of a symmetric matrix that belongs to some items.
Matrix part_of(const Matrix& matrix, const std::vector<std::size_t>& items) {
  Matrix result(index(items.size()), index(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i)
    for (std::size_t j = 0; j < items.size(); ++j) result(index(i), index(j)) = matrix(index(items[i]), index(items[j]));
  return result;
}

}  // namespace

double information_cost(const Objective& objective) {
  const double n = static_cast<double>(objective.num_items()), num = static_cast<double>(objective.num_components());
  const double size = num * n + num;
  if (objective.by_voter() && !objective.has_ties()) {
    const double cast = static_cast<double>(objective.data().voters.rankings.other.size());
    const double stored = static_cast<double>(objective.data().rankings.items().size());
    return 2.0 * size * num * (8.0 * cast + 4.0 * stored) + size * size * size;
  }
  if (objective.has_ties()) {
    double orders = 1.0;
    for (int order : objective.tie_orders()) orders += order;
    return 2.0 * size * static_cast<double>(objective.data().rankings.items().size()) * num * orders * 3.0 + size * size * size;
  }
  double pairs = 0.0;
  for (const Batch::Group& group : objective.layout().groups) {
    const double length = group.implicit ? n : group.length;
    pairs += static_cast<double>(group.count) * length * length / 2.0;
  }
  return num * pairs + (num > 1 ? static_cast<double>(objective.layout().count) * size * size / 4.0 : 0.0) + size * size * size;
}

// Battles of one group with ties; of others nothing.
std::optional<Matrix> battles_information(const Objective& objective, const Parameters& parameters) {
  constexpr double far = 100.0;  // beyond, the objective no longer follows utilities (max_spread, tie_spread)
  const auto [low, high] = std::ranges::minmax(parameters.utilities);
  if (objective.num_components() > 1 || parameters.ties.orders.size() != 1 || high - low > far) return std::nullopt;
  const std::optional<Battles> battles = Battles::of(objective.data());
  if (!battles) return std::nullopt;
  return battles->information(parameters, objective.strength());
}

Matrix observed_information(const Objective& objective, const Parameters& parameters) {
  if (std::optional<Matrix> exact = battles_information(objective, parameters)) return *std::move(exact);
  return objective.has_ties() || objective.by_voter() ? numerical_information(objective, parameters)
                                                      : strict_information(objective, parameters);
}

std::vector<double> quasi_variances(const Matrix& covariance) {
  const Index n = covariance.rows();
  if (n < 3) return {};
  Matrix contrast(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) contrast(i, j) = covariance(i, i) + covariance(j, j) - 2.0 * covariance(i, j);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      if (i != j && !(contrast(i, j) > 0.0)) return {};
  // Least squares of v_ij = q_i + q_j starts the iteration.
  const Eigen::VectorXd rows = contrast.rowwise().sum();
  const double total = rows.sum() / (2.0 * static_cast<double>(n - 1));
  Eigen::VectorXd q = (rows.array() - total) / static_cast<double>(n - 2);
  const auto loss = [&](const Eigen::VectorXd& at) {
    double sum = 0.0;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < i; ++j) {
        if (!(at[i] + at[j] > 0.0)) return infinity;
        const double e = std::log((at[i] + at[j]) / contrast(i, j));
        sum += e * e;
      }
    return sum;
  };
  if (!(loss(q) < infinity)) q = covariance.diagonal();
  double best = loss(q);
  // Gauss-Newton on the logarithms of the ratios.
  for (int iteration = 0; iteration < 50; ++iteration) {
    Matrix normal = Matrix::Zero(n, n);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) {
        const double s = q[i] + q[j], e = std::log(s / contrast(i, j)), d = 1.0 / s;
        normal(i, i) += d * d;
        normal(j, j) += d * d;
        normal(i, j) += d * d;
        normal(j, i) += d * d;
        right[i] -= d * e;
        right[j] -= d * e;
      }
    }
    const Eigen::VectorXd step = solve_symmetric(normal, right);
    double length = 1.0;
    bool better = false;
    for (int halving = 0; halving < 30 && !better; ++halving, length *= 0.5) {
      const Eigen::VectorXd trial = q + length * step;
      const double value = loss(trial);
      if (value < best) {
        better = best - value > 1e-14 * best;
        q = trial;
        best = value;
        if (!better) break;
      }
    }
    if (!better) break;
  }
  std::vector<double> result(q.data(), q.data() + n);
  for (double value : result)
    if (!std::isfinite(value)) return {};
  return result;
}

Uncertainty uncertainty(const Objective& objective, const Parameters& parameters, const Matrix& information, bool fixed_weights,
                        std::vector<Pieces>& pieces) {
  const std::size_t n = objective.num_items(), num = objective.num_components();
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  Uncertainty result;
  Matrix matrix = information;
  fix_gauge(objective, pieces, fixed_weights, matrix);
  Matrix covariance = inverse_information(matrix);
  if (covariance.size() == 0) return result;
  const Index size = covariance.rows();
  // To utilities centered on their block, those of no block on the first, and to weights on their own scale.
  Matrix map = Matrix::Identity(size, size);
  for (std::size_t k = 0; k < num; ++k) {
    auto& blocks = pieces[k].blocks;
    for (auto& block : blocks) drop_useless(covariance.block(index(k * n), index(k * n), index(n), index(n)), block, pieces[k]);
    std::erase_if(blocks, [](const auto& block) { return block.empty(); });
    std::vector<std::size_t> own(n, 0);
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::size_t i : blocks[b]) own[i] = b;
    for (std::size_t i = 0; i < n && !blocks.empty(); ++i)
      for (std::size_t j : blocks[own[i]])
        map(index(k * n + i), index(k * n + j)) -= 1.0 / static_cast<double>(blocks[own[i]].size());
  }
  if (num > 1 && objective.membership() == nullptr) {
    auto block = map.block(index(num * n), index(num * n), index(num), index(num));
    for (std::size_t h = 0; h < num; ++h)
      for (std::size_t k = 0; k < num; ++k)
        block(index(h), index(k)) = parameters.weights[h] * ((h == k ? 1.0 : 0.0) - parameters.weights[k]);
    if (fixed_weights) block.setZero();
  }
  covariance = map * covariance * map.transpose();
  const auto error = [&](std::size_t i) {
    const double variance = covariance(index(i), index(i));
    return std::isfinite(variance) && variance >= -1e-9 ? std::sqrt(std::max(variance, 0.0)) : unknown;
  };
  for (auto* list : {&result.utilities, &result.quasi, &result.block_utilities, &result.block_quasi})
    list->assign(num * n, unknown);
  for (std::size_t k = 0; k < num; ++k) {
    for (std::size_t b = 0; b < pieces[k].blocks.size(); ++b) {
      std::vector<std::size_t> rows;
      for (std::size_t i : pieces[k].blocks[b]) rows.push_back(k * n + i);
      std::vector<double>&plain = b == 0 ? result.utilities : result.block_utilities,
      &quasi = b == 0 ? result.quasi : result.block_quasi;
      for (std::size_t row : rows) {
        plain[row] = error(row);
        if (std::isnan(plain[row])) return Uncertainty{};
      }
      if (rows.size() > 500) continue;
      const std::vector<double> variances = quasi_variances(part_of(covariance, rows));
      // A negative quasi-variance has no standard error: then the block has none.
      if (std::ranges::any_of(variances, [](double value) { return value < 0.0; })) continue;
      for (std::size_t at = 0; at < variances.size(); ++at) quasi[rows[at]] = std::sqrt(variances[at]);
    }
  }
  if (num > 1 && objective.membership() == nullptr)
    for (std::size_t k = 0; k < num; ++k) result.weights.push_back(error(num * n + k));
  for (std::size_t o = 0; o < parameters.ties.orders.size(); ++o)
    result.log_ties.push_back(error(num * n + objective.num_weight_variables() + o));
  result.covariance = std::move(covariance);
  result.usable = true;
  return result;
}

bool newton_step(const Objective& objective, const Matrix& information, Parameters& parameters, bool fixed_weights,
                 const std::vector<Pieces>& pieces) {
  const std::size_t n = objective.num_items(), num = objective.num_components();
  Matrix matrix = information;
  fix_gauge(objective, pieces, fixed_weights, matrix);
  const Evaluation at = objective.evaluate(parameters);
  std::vector<double> g = flat_gradient(objective, parameters, at);
  if (fixed_weights && num > 1 && objective.membership() == nullptr)
    std::fill_n(g.begin() + static_cast<std::ptrdiff_t>(num * n), num, 0.0);
  const Cholesky cholesky(matrix);
  if (!cholesky.is_positive_definite()) return false;
  const Eigen::VectorXd step = cholesky.solve(Eigen::Map<const Eigen::VectorXd>(g.data(), index(g.size())));
  if (!step.allFinite() || step.lpNorm<Eigen::Infinity>() > 1.0) return false;
  Parameters next = parameters;
  for (std::size_t j = 0; j < g.size(); ++j) shift(next, j, step[index(j)]);
  if (!(objective.evaluate(next).objective() >= at.objective())) return false;
  parameters = std::move(next);
  return true;
}

}  // namespace caucus::pl_mixture
