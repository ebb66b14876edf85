// The linear program of the linear ordering problem, solved by a dual simplex method that finds its rows as it goes. Internal.
//
// An order of n items is a point x with x_ij = 1 where i goes before j, else 0 (i < j; x_ji is 1 - x_ij), free of cycles; there is
// a cycle only if there is one of three items. So an order of least cost is a whole-numbered point of least c x under
//   0 <= x_ij + x_jk - x_ik <= 1  (i < j < k),   0 <= x_ij <= 1,
// and without whole numbers this is a linear program (Groetschel, Juenger and Reinelt 1984). Of its n^3 / 3 rows few matter: they
// are added where a solution breaks them. By duality any multipliers y >= 0 of rows a x >= b bound the cost of all orders,
//   c x >= sum_r b_r y_r + sum_j min over x_j of (c - A' y)_j x_j,
// whatever rounding did to y: bounds are taken from this formula alone.
//
// The method begins at the majority relation (y = 0) and stays dual feasible, so its bound rises with each pivot and it may stop at
// any time. A basis is a set R of rows held with equality and a set B of as many variables off their bounds; the inverse of A[R, B]
// is kept dense, since it has a few hundred rows where the program has thousands, and a pivot changes it by a matrix of rank one.
// The leaving row is the one broken most by the length of its row of the inverse (steepest edge, with an upper bound of the length
// for rows outside R), and a variable whose reduced cost changes sign goes over to its other bound as long as the bound rises.
// Costs are moved a little at first, each by its own amount: cycles of pivots and most fractional vertices of ties go away.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace caucus::detail {

// What pivots may cost, counted in nodes of the search over sets: one more for every 2^15 numbers of the inverse, which is sparse.
struct PivotBudget {
  std::uint64_t& nodes;
  std::uint64_t max_nodes;
  const std::function<bool()>& stop;

  bool spend(std::size_t basis_size);
};

class TriangleProgram {
 public:
  enum class Outcome { solved, cut_off, infeasible, out_of_budget, failed };

  // cost[pair(i, j)]: of i before j, less that of j before i. `shift`: how far costs are moved, as a share of their mean size.
  TriangleProgram(std::size_t num_items, std::vector<double> cost, double shift);

  std::size_t num_pairs() const { return cost_.size(); }
  std::size_t pair(std::size_t i, std::size_t j) const { return i * (2 * num_items_ - i - 1) / 2 + j - i - 1; }  // i < j
  std::span<const double> point() const { return x_; }

  // Bounds of the variables for a part of the problem; the basis stays and is dual feasible as before.
  void restrict_to(std::span<const double> lower, std::span<const double> upper);
  // Adds rows that the point breaks by more than 1e-6, those broken most first, and lets go of rows that are slack. How many were
  // broken.
  std::size_t separate();
  // Pivots until no row is broken, or until no order in the bounds can cost less than `cutoff`.
  Outcome optimize(double cutoff, PivotBudget& budget);

  // No order within the bounds costs less, counted from the sum of min(0, cost), by the costs as given.
  double bound() const;
  // Of those reduced costs: fixing x_j at its other bound costs this much more than bound().
  std::vector<double> reduced_costs() const;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Row {  // sign (x[0] + x[1] - x[2]) >= bound
    std::array<std::uint32_t, 3> pair;
    double sign;
    double bound;
    double coefficient(std::size_t e) const { return e < 2 ? sign : -sign; }
  };
  enum class Leaving { row, below, above };
  struct Choice {
    Leaving kind;
    std::size_t index;  // of a row, or a place in the basis
    double broken;
  };
  struct Candidate {
    double ratio;
    double pivot;  // absolute
    bool variable;
    std::uint32_t index;  // a variable, or a place in the rows of the basis
  };

  double* inverse_row(std::size_t i) { return inverse_.data() + i * stride_; }
  const double* inverse_row(std::size_t i) const { return inverse_.data() + i * stride_; }
  double slack(const Row& row) const { return row.sign * (x_[row.pair[0]] + x_[row.pair[1]] - x_[row.pair[2]]) - row.bound; }
  void reset();
  bool choose_leaving(Choice& choice) const;
  void multipliers_of(const Choice& choice);
  bool choose_entering(double broken, Candidate& entering);
  void exchange(const Choice& choice, const Candidate& entering);
  void make_room();
  void add_outer();
  bool refresh();
  void solve_point(bool all);
  void solve_duals();
  bool invert();
  double bound_of(std::span<const double> multipliers) const;
  std::vector<double> best_multipliers() const;

  std::size_t num_items_;
  std::vector<double> cost_, moved_cost_, lower_, upper_, x_, reduced_;
  std::vector<std::uint32_t> place_;  // of a variable in the basis
  std::vector<Row> rows_;
  std::vector<std::uint32_t> row_place_;         // of a row among those held with equality
  std::vector<std::uint32_t> variables_, held_;  // B and R
  std::vector<double> dual_;                     // of R
  std::vector<double> inverse_;                  // of A[R, B]: rows for B, columns for R
  std::vector<double> length_;                   // squared, of a basic variable's row of the inverse
  std::size_t stride_ = 0;
  // Of one pivot: the row of the inverse, what it does to reduced costs, the entering column.
  std::vector<double> rho_, alpha_, column_, right_;
  std::vector<std::uint32_t> touched_, nonzero_, changed_;
  std::vector<Candidate> candidates_;
  bool flipped_ = false;
  std::uint64_t pivots_ = 0;
};

}  // namespace caucus::detail
