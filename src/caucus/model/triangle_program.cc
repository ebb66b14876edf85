#include "caucus/model/triangle_program.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/clones.h"

namespace caucus::detail {

namespace {

constexpr double feasibility = 1e-7;
constexpr double least_violation = 1e-6;
constexpr double least_pivot = 1e-9;

// Row i of the matrix gets factor[i] times `row` added.
CAUCUS_CLONES void add_outer_product(double* matrix, std::size_t stride, std::size_t size, const double* factor,
                                     const double* row) {
  for (std::size_t i = 0; i < size; ++i, matrix += stride) {
    const double f = factor[i];
    if (f == 0.0) continue;
    for (std::size_t l = 0; l < size; ++l) matrix[l] += f * row[l];
  }
}

// A row of the inverse times a vector, and its squared length. Eight sums side by side, whatever the processor.
CAUCUS_CLONES void multiply(const double* row, std::size_t size, const double* vector, double& product, double& length) {
  double dot[8] = {}, square[8] = {};
  std::size_t l = 0;
  for (; l + 8 <= size; l += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const double value = row[l + lane];
      dot[lane] += value * vector[l + lane];
      square[lane] += value * value;
    }
  for (; l < size; ++l) dot[0] += row[l] * vector[l], square[0] += row[l] * row[l];
  product = ((dot[0] + dot[4]) + (dot[1] + dot[5])) + ((dot[2] + dot[6]) + (dot[3] + dot[7]));
  length = ((square[0] + square[4]) + (square[1] + square[5])) + ((square[2] + square[6]) + (square[3] + square[7]));
}

std::uint64_t scrambled(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ value >> 27) * 0x94D049BB133111EBull;
  return value ^ value >> 31;
}

}  // namespace

bool PivotBudget::spend(std::size_t basis_size) {
  nodes += 1 + (basis_size * basis_size >> 15);
  return nodes <= max_nodes && !(stop && stop());
}

TriangleProgram::TriangleProgram(std::size_t num_items, std::vector<double> cost, double shift)
    : num_items_(num_items),
      cost_(std::move(cost)),
      moved_cost_(cost_),
      lower_(cost_.size(), 0.0),
      upper_(cost_.size(), 1.0),
      x_(cost_.size()),
      place_(cost_.size(), none),
      alpha_(cost_.size(), 0.0) {
  double mean = 0.0;
  for (double value : cost_) mean += std::abs(value) / static_cast<double>(cost_.size());
  for (std::size_t j = 0; j < cost_.size(); ++j) {
    const std::uint64_t bits = scrambled((j + 1) * 0x9E3779B97F4A7C15ull);
    const double by = shift * mean * (0.5 + 0.5 * static_cast<double>(bits >> 11) * 0x1p-53);
    const bool up = cost_[j] > 0.0 || (cost_[j] == 0.0 && (bits & 1) != 0);
    moved_cost_[j] += up ? by : -by;
  }
  reset();
}

void TriangleProgram::reset() {
  for (std::uint32_t j : variables_) place_[j] = none;
  for (std::uint32_t r : held_) row_place_[r] = none;
  variables_.clear();
  held_.clear();
  dual_.clear();
  length_.clear();
  reduced_ = moved_cost_;
  for (std::size_t j = 0; j < x_.size(); ++j) x_[j] = reduced_[j] >= 0.0 ? lower_[j] : upper_[j];
}

void TriangleProgram::restrict_to(std::span<const double> lower, std::span<const double> upper) {
  lower_.assign(lower.begin(), lower.end());
  upper_.assign(upper.begin(), upper.end());
  for (std::size_t j = 0; j < x_.size(); ++j)
    if (place_[j] == none) x_[j] = reduced_[j] >= 0.0 ? lower_[j] : upper_[j];
  solve_point(true);
}

std::size_t TriangleProgram::separate() {
  const std::size_t n = num_items_;
  struct Found {
    double broken;
    Row row;
  };
  const std::size_t most = 30 * n;
  std::size_t count = 0;
  std::vector<Found> found;
  const auto worse_last = [](const Found& a, const Found& b) {
    return a.broken != b.broken ? a.broken > b.broken : a.row.pair < b.row.pair;
  };
  const auto keep_most = [&] {
    if (found.size() <= most) return;
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(most), found.end(), worse_last);
    found.resize(most);
  };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      const std::size_t ij = pair(i, j), jj = pair(j, j + 1), ii = pair(i, j + 1);  // x_jk and x_ik lie side by side over k
      for (std::size_t k = j + 1; k < n; ++k) {
        const std::size_t jk = jj + (k - j - 1), ik = ii + (k - j - 1);
        const double sum = x_[ij] + x_[jk] - x_[ik];
        if (sum >= -least_violation && sum <= 1.0 + least_violation) continue;
        const std::array<std::uint32_t, 3> pairs{static_cast<std::uint32_t>(ij), static_cast<std::uint32_t>(jk),
                                                 static_cast<std::uint32_t>(ik)};
        ++count;
        if (sum > 1.0)
          found.push_back({sum - 1.0, {pairs, -1.0, -1.0}});
        else
          found.push_back({-sum, {pairs, 1.0, 0.0}});
        if (found.size() >= 8 * most) keep_most();
      }
    }
  if (found.empty()) return 0;
  keep_most();
  std::sort(found.begin(), found.end(), worse_last);
  std::size_t kept = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (row_place_[r] == none && slack(rows_[r]) > 0.5) continue;
    rows_[kept] = rows_[r];
    row_place_[kept] = row_place_[r];
    if (row_place_[kept] != none) held_[row_place_[kept]] = static_cast<std::uint32_t>(kept);
    ++kept;
  }
  rows_.resize(kept);
  row_place_.resize(kept);
  for (const Found& each : found) {
    rows_.push_back(each.row);
    row_place_.push_back(none);
  }
  return count;
}

bool TriangleProgram::choose_leaving(Choice& choice) const {
  double best = 0.0;
  const auto consider = [&](double broken, double length, Leaving kind, std::size_t index) {
    if (!(broken > feasibility)) return;
    const double score = broken * broken / length;
    if (score > best) best = score, choice = {kind, index, broken};
  };
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (row_place_[r] != none) continue;
    const double broken = -slack(rows_[r]);
    if (!(broken > feasibility)) continue;
    double length = 1.0;
    for (std::uint32_t p : rows_[r].pair)
      if (place_[p] != none) length += length_[place_[p]];
    consider(broken, length, Leaving::row, r);
  }
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const std::uint32_t j = variables_[i];
    consider(lower_[j] - x_[j], length_[i], Leaving::below, i);
    consider(x_[j] - upper_[j], length_[i], Leaving::above, i);
  }
  return best > 0.0;
}

// Where the dual of the leaving row or bound grows by t, those of R fall by t rho and reduced costs fall by t alpha.
void TriangleProgram::multipliers_of(const Choice& choice) {
  const std::size_t size = variables_.size();
  rho_.assign(size, 0.0);
  touched_.clear();
  const auto touch = [&](std::uint32_t p, double value) {
    if (alpha_[p] == 0.0) touched_.push_back(p);
    alpha_[p] += value;
    if (alpha_[p] == 0.0) alpha_[p] = 1e-300;  // stays marked
  };
  if (choice.kind == Leaving::row) {
    const Row& row = rows_[choice.index];
    for (std::size_t e = 0; e < 3; ++e) {
      const std::uint32_t p = row.pair[e];
      if (place_[p] == none) {
        touch(p, row.coefficient(e));
        continue;
      }
      const double* const inverse = inverse_row(place_[p]);
      for (std::size_t l = 0; l < size; ++l) rho_[l] += row.coefficient(e) * inverse[l];
    }
  } else {
    const double sign = choice.kind == Leaving::below ? 1.0 : -1.0;
    const double* const inverse = inverse_row(choice.index);
    for (std::size_t l = 0; l < size; ++l) rho_[l] = sign * inverse[l];
  }
  for (std::size_t l = 0; l < size; ++l) {
    if (std::abs(rho_[l]) < 1e-11) {
      rho_[l] = 0.0;
      continue;
    }
    const Row& row = rows_[held_[l]];
    for (std::size_t e = 0; e < 3; ++e)
      if (place_[row.pair[e]] == none) touch(row.pair[e], -rho_[l] * row.coefficient(e));
  }
}

// The ratio test. Variables that are passed on the way go over to their other bounds. False: nothing stops the dual from growing,
// so no point is feasible.
bool TriangleProgram::choose_entering(double broken, Candidate& entering) {
  candidates_.clear();
  for (std::size_t l = 0; l < rho_.size(); ++l)
    if (rho_[l] > least_pivot)
      candidates_.push_back({std::max(0.0, dual_[l]) / rho_[l], rho_[l], false, static_cast<std::uint32_t>(l)});
  for (std::uint32_t p : touched_) {
    const double alpha = alpha_[p], size = std::abs(alpha);
    if (size < least_pivot || lower_[p] == upper_[p]) continue;
    const bool at_lower = x_[p] == lower_[p];
    if (at_lower == (alpha > 0.0))
      candidates_.push_back({std::max(0.0, at_lower ? reduced_[p] : -reduced_[p]) / size, size, true, p});
  }
  // Only the first few count: a heap.
  const auto later = [](const Candidate& a, const Candidate& b) {
    if (a.ratio != b.ratio) return a.ratio > b.ratio;
    if (a.pivot != b.pivot) return a.pivot < b.pivot;
    return a.variable != b.variable ? b.variable : a.index > b.index;
  };
  std::make_heap(candidates_.begin(), candidates_.end(), later);
  double slope = broken;
  flipped_ = false;
  while (!candidates_.empty()) {
    entering = candidates_.front();
    if (!entering.variable) return true;
    slope -= entering.pivot * (upper_[entering.index] - lower_[entering.index]);
    if (!(slope > least_pivot)) return true;
    std::pop_heap(candidates_.begin(), candidates_.end(), later);
    candidates_.pop_back();
    x_[entering.index] = x_[entering.index] == lower_[entering.index] ? upper_[entering.index] : lower_[entering.index];
    flipped_ = true;
  }
  return false;
}

void TriangleProgram::make_room() {
  const std::size_t size = variables_.size();
  if (size < stride_) return;
  const std::size_t stride = std::max<std::size_t>(64, stride_ + stride_ / 2 / 8 * 8);
  std::vector<double> wider(stride * stride, 0.0);
  for (std::size_t i = 0; i < size; ++i) std::copy_n(inverse_row(i), size, wider.data() + i * stride);
  inverse_ = std::move(wider);
  stride_ = stride;
}

// Row i of the inverse gets column_[i] times rho_ added. Both are sparse, as the inverse is.
void TriangleProgram::add_outer() {
  const std::size_t size = variables_.size();
  nonzero_.clear();
  changed_.clear();
  for (std::size_t l = 0; l < size; ++l)
    if (rho_[l] != 0.0) nonzero_.push_back(static_cast<std::uint32_t>(l));
  for (std::size_t i = 0; i < size; ++i) {
    const double factor = column_[i];
    if (factor == 0.0) continue;
    changed_.push_back(static_cast<std::uint32_t>(i));
    double* const row = inverse_row(i);
    for (std::uint32_t l : nonzero_) {
      const double value = row[l] + factor * rho_[l];
      row[l] = std::abs(value) < 1e-13 ? 0.0 : value;
    }
  }
}

// One pivot: duals, reduced costs, basis and inverse.
void TriangleProgram::exchange(const Choice& choice, const Candidate& entering) {
  const double step = entering.ratio;
  const std::size_t size = variables_.size();
  for (std::uint32_t p : touched_) reduced_[p] -= step * alpha_[p];
  for (std::size_t l = 0; l < size; ++l) dual_[l] -= step * rho_[l];
  column_.assign(size, 0.0);
  if (entering.variable) {
    reduced_[entering.index] = 0.0;
    for (std::size_t l = 0; l < size; ++l) {
      const Row& row = rows_[held_[l]];
      for (std::size_t e = 0; e < 3; ++e)
        if (row.pair[e] == entering.index)
          for (std::size_t i = 0; i < size; ++i) column_[i] += row.coefficient(e) * inverse_row(i)[l];
    }
  }
  if (choice.kind == Leaving::row && entering.variable) {  // one row and one column more
    make_room();
    const double pivot = alpha_[entering.index];
    for (double& value : column_) value /= pivot;
    add_outer();
    for (std::size_t i = 0; i < size; ++i) inverse_row(i)[size] = -column_[i];
    for (std::size_t l = 0; l < size; ++l) inverse_row(size)[l] = -rho_[l] / pivot;
    inverse_row(size)[size] = 1.0 / pivot;
    place_[entering.index] = row_place_[choice.index] = static_cast<std::uint32_t>(size);
    variables_.push_back(entering.index);
    held_.push_back(static_cast<std::uint32_t>(choice.index));
    dual_.push_back(step);
    changed_.push_back(static_cast<std::uint32_t>(size));
  } else if (choice.kind == Leaving::row) {  // a row for a row
    const std::size_t at = entering.index;
    const double pivot = rho_[at];
    for (std::size_t i = 0; i < size; ++i) column_[i] = -inverse_row(i)[at] / pivot;
    add_outer();
    for (std::size_t i = 0; i < size; ++i) inverse_row(i)[at] = -column_[i];
    row_place_[held_[at]] = none;
    row_place_[choice.index] = static_cast<std::uint32_t>(at);
    held_[at] = static_cast<std::uint32_t>(choice.index);
    dual_[at] = step;
  } else {
    const std::size_t at = choice.index;
    const std::uint32_t j = variables_[at];
    reduced_[j] = choice.kind == Leaving::below ? step : -step;
    x_[j] = choice.kind == Leaving::below ? lower_[j] : upper_[j];
    place_[j] = none;
    if (entering.variable) {  // a variable for a variable
      double* const row = inverse_row(at);
      const double pivot = column_[at];
      for (std::size_t l = 0; l < size; ++l) row[l] /= pivot;
      rho_.assign(row, row + size);
      for (double& value : column_) value = -value;
      column_[at] = 0.0;
      add_outer();
      changed_.push_back(static_cast<std::uint32_t>(at));
      variables_[at] = entering.index;
      place_[entering.index] = static_cast<std::uint32_t>(at);
    } else {  // one row and one column less
      const std::size_t out = entering.index, last = size - 1;
      rho_.assign(inverse_row(at), inverse_row(at) + size);
      for (std::size_t i = 0; i < size; ++i) column_[i] = -inverse_row(i)[out] / rho_[out];
      column_[at] = 0.0;
      add_outer();
      row_place_[held_[out]] = none;
      if (at != last) {
        std::copy_n(inverse_row(last), size, inverse_row(at));
        variables_[at] = variables_[last];
        place_[variables_[at]] = static_cast<std::uint32_t>(at);
        length_[at] = length_[last];
        std::replace(changed_.begin(), changed_.end(), static_cast<std::uint32_t>(last), static_cast<std::uint32_t>(at));
      }
      if (out != last) {
        for (std::size_t i = 0; i < last; ++i) inverse_row(i)[out] = inverse_row(i)[last];
        held_[out] = held_[last];
        row_place_[held_[out]] = static_cast<std::uint32_t>(out);
        dual_[out] = dual_[last];
      }
      variables_.pop_back();
      held_.pop_back();
      dual_.pop_back();
    }
  }
}

// x_B from x_N: A[R, B] x_B = b_R - A[R, N] x_N. Of all variables, or of those whose row of the inverse changed: a pivot moves no
// other, as long as no variable goes over to its other bound.
void TriangleProgram::solve_point(bool all) {
  const std::size_t size = variables_.size();
  right_.resize(size);
  length_.resize(size);
  for (std::size_t l = 0; l < size; ++l) {
    const Row& row = rows_[held_[l]];
    right_[l] = row.bound;
    for (std::size_t e = 0; e < 3; ++e)
      if (place_[row.pair[e]] == none) right_[l] -= row.coefficient(e) * x_[row.pair[e]];
  }
  if (all) {
    changed_.resize(size);
    std::iota(changed_.begin(), changed_.end(), std::uint32_t{0});
  }
  for (std::uint32_t i : changed_) multiply(inverse_row(i), size, right_.data(), x_[variables_[i]], length_[i]);
}

void TriangleProgram::solve_duals() {
  const std::size_t size = variables_.size();
  dual_.assign(size, 0.0);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t l = 0; l < size; ++l) dual_[l] += moved_cost_[variables_[i]] * inverse_row(i)[l];
  reduced_ = moved_cost_;
  for (std::size_t l = 0; l < size; ++l)
    for (std::size_t e = 0; e < 3; ++e) reduced_[rows_[held_[l]].pair[e]] -= dual_[l] * rows_[held_[l]].coefficient(e);
  for (std::uint32_t j : variables_) reduced_[j] = 0.0;
  for (std::size_t j = 0; j < x_.size(); ++j)
    if (place_[j] == none) x_[j] = reduced_[j] >= 0.0 ? lower_[j] : upper_[j];
}

// The inverse from the rows, by elimination with pivots of the largest size in their columns.
bool TriangleProgram::invert() {
  const std::size_t size = variables_.size();
  std::vector<double> matrix(size * size, 0.0), inverse(size * size, 0.0), factor(size);
  for (std::size_t l = 0; l < size; ++l) {
    const Row& row = rows_[held_[l]];
    for (std::size_t e = 0; e < 3; ++e)
      if (place_[row.pair[e]] != none) matrix[l * size + place_[row.pair[e]]] += row.coefficient(e);
    inverse[l * size + l] = 1.0;
  }
  for (std::size_t c = 0; c < size; ++c) {
    std::size_t best = c;
    for (std::size_t i = c; i < size; ++i)
      if (std::abs(matrix[i * size + c]) > std::abs(matrix[best * size + c])) best = i;
    const double pivot = matrix[best * size + c];
    if (std::abs(pivot) < least_pivot) return false;
    for (std::vector<double>* rows : {&matrix, &inverse}) {
      double* const from = rows->data() + best * size;
      double* const to = rows->data() + c * size;
      if (best != c) std::swap_ranges(from, from + size, to);
      for (std::size_t l = 0; l < size; ++l) to[l] /= pivot;
    }
    for (std::size_t i = 0; i < size; ++i) factor[i] = i == c ? 0.0 : -matrix[i * size + c];
    add_outer_product(matrix.data(), size, size, factor.data(), matrix.data() + c * size);
    add_outer_product(inverse.data(), size, size, factor.data(), inverse.data() + c * size);
  }
  for (std::size_t i = 0; i < size; ++i) std::copy_n(inverse.data() + i * size, size, inverse_row(i));
  return true;
}

// The point after a pivot; where rounding shows, everything from the rows again. False: the basis is no basis.
bool TriangleProgram::refresh() {
  const auto exact = [&] {
    return std::all_of(held_.begin(), held_.end(), [&](std::uint32_t r) { return std::abs(slack(rows_[r])) < 1e-8; });
  };
  solve_point(flipped_);
  if (exact()) return true;
  solve_point(true);
  if (exact()) return true;
  if (!invert()) return false;
  solve_duals();
  solve_point(true);
  return true;
}

TriangleProgram::Outcome TriangleProgram::optimize(double cutoff, PivotBudget& budget) {
  int failures = 0;
  Choice choice{};
  Candidate entering{};
  while (choose_leaving(choice)) {
    if (!budget.spend(variables_.size())) return Outcome::out_of_budget;
    if (++pivots_ % 32 == 0 && bound_of(dual_) >= cutoff) return Outcome::cut_off;
    multipliers_of(choice);
    const bool bounded = choose_entering(choice.broken, entering);
    if (bounded) exchange(choice, entering);
    for (std::uint32_t p : touched_) alpha_[p] = 0.0;
    if (!bounded) return Outcome::infeasible;
    if (refresh()) continue;
    if (++failures > 2) return Outcome::failed;
    reset();
  }
  return Outcome::solved;
}

double TriangleProgram::bound_of(std::span<const double> multipliers) const {
  std::vector<double> reduced = cost_;
  double bound = 0.0;
  for (std::size_t l = 0; l < multipliers.size(); ++l) {
    const double dual = std::max(0.0, multipliers[l]);
    const Row& row = rows_[held_[l]];
    bound += row.bound * dual;
    for (std::size_t e = 0; e < 3; ++e) reduced[row.pair[e]] -= dual * row.coefficient(e);
  }
  for (std::size_t j = 0; j < cost_.size(); ++j)
    bound += reduced[j] * (reduced[j] > 0.0 ? lower_[j] : upper_[j]) - std::min(0.0, cost_[j]);
  return bound;
}

// Those of the basis under the costs as given, improved once for rounding, or those under the moved costs: the better ones.
std::vector<double> TriangleProgram::best_multipliers() const {
  const std::size_t size = variables_.size();
  std::vector<double> exact(size, 0.0), left(size);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < size; ++i) left[i] = cost_[variables_[i]];
    for (std::size_t l = 0; l < size; ++l)
      for (std::size_t e = 0; e < 3; ++e) {
        const std::uint32_t at = place_[rows_[held_[l]].pair[e]];
        if (at != none) left[at] -= exact[l] * rows_[held_[l]].coefficient(e);
      }
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t l = 0; l < size; ++l) exact[l] += left[i] * inverse_row(i)[l];
  }
  return bound_of(exact) >= bound_of(dual_) ? exact : dual_;
}

double TriangleProgram::bound() const { return bound_of(best_multipliers()); }

std::vector<double> TriangleProgram::reduced_costs() const {
  std::vector<double> reduced = cost_;
  const std::vector<double> multipliers = best_multipliers();
  for (std::size_t l = 0; l < multipliers.size(); ++l)
    for (std::size_t e = 0; e < 3; ++e)
      reduced[rows_[held_[l]].pair[e]] -= std::max(0.0, multipliers[l]) * rows_[held_[l]].coefficient(e);
  return reduced;
}

}  // namespace caucus::detail
