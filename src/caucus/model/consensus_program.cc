// Exact consensus by branch and bound on the linear program of orders: where rankings are near uniform its bound is the cost of the
// best order, or within a few units of it, while the packing of cycles is far below.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/model/consensus_search.h"
#include "caucus/model/triangle_program.h"

namespace caucus::detail {

namespace {

class Branching {
 public:
  Branching(const Margins& margins, const PairMatrix& pairs, Solved& best, double shift, PivotBudget budget)
      : margins_(margins), pairs_(pairs), best_(best), budget_(budget), program_(margins.size, costs(margins), shift) {}

  enum class End { proved, loose, stopped };

  // `loose`: all parts are done, but in some the bound falls short of an order by what costs were moved.
  End run() {
    double loose = infinity;
    open_.push_back({{}, best_.lower_bound});
    while (!open_.empty()) {
      Part part = std::move(open_.back());
      open_.pop_back();
      if (part.bound >= goal()) continue;
      restrict_to(part);
      const TriangleProgram::Outcome outcome = solve(part);
      if (outcome == TriangleProgram::Outcome::cut_off) continue;
      if (outcome == TriangleProgram::Outcome::infeasible && !part.fixed.empty()) continue;
      if (outcome != TriangleProgram::Outcome::solved) {
        double bound = std::min(part.bound, loose);
        for (const Part& other : open_) bound = std::min(bound, other.bound);
        best_.lower_bound = std::min(std::max(best_.lower_bound, bound), best_.excess);
        return End::stopped;
      }
      const std::size_t pair = most_fractional();
      if (pair == program_.num_pairs()) {
        loose = std::min(loose, part.bound);
        continue;
      }
      if (part.fixed.empty() && root_reduced_.empty()) {
        root_reduced_ = program_.reduced_costs();
        root_bound_ = program_.bound();
      }
      Part other = part;
      const bool first = program_.point()[pair] > 0.5;
      part.fixed.push_back({static_cast<std::uint32_t>(pair), first});
      other.fixed.push_back({static_cast<std::uint32_t>(pair), !first});
      open_.push_back(std::move(other));
      open_.push_back(std::move(part));
    }
    if (loose >= goal()) {
      best_.lower_bound = best_.excess;
      best_.optimal = true;
      return End::proved;
    }
    best_.lower_bound = std::min(std::max(best_.lower_bound, loose), best_.excess);
    return End::loose;
  }

 private:
  struct Fixed {
    std::uint32_t pair;
    bool first;  // the item of smaller number goes before the other
  };
  struct Part {
    std::vector<Fixed> fixed;
    double bound;
  };

  static std::vector<double> costs(const Margins& margins) {
    std::vector<double> cost;
    for (std::size_t i = 0; i < margins.size; ++i)
      for (std::size_t j = i + 1; j < margins.size; ++j) cost.push_back(margins(j, i) - margins(i, j));
    return cost;
  }

  // An order that costs less than the best one costs less than this.
  double goal() const { return best_.excess - margins_.least_gain(best_.excess); }

  void restrict_to(const Part& part) {
    lower_.assign(program_.num_pairs(), 0.0);
    upper_.assign(program_.num_pairs(), 1.0);
    for (std::size_t j = 0; j < root_reduced_.size(); ++j)
      if (root_bound_ + std::abs(root_reduced_[j]) >= goal())
        (root_reduced_[j] > 0.0 ? upper_[j] : lower_[j]) = root_reduced_[j] > 0.0 ? 0.0 : 1.0;
    for (const Fixed& fixed : part.fixed) lower_[fixed.pair] = upper_[fixed.pair] = fixed.first ? 1.0 : 0.0;
    program_.restrict_to(lower_, upper_);
  }

  // The program of a part, rows added until none is broken; good orders are looked for on the way.
  TriangleProgram::Outcome solve(Part& part) {
    while (true) {
      const TriangleProgram::Outcome outcome = program_.optimize(goal(), budget_);
      if (outcome == TriangleProgram::Outcome::infeasible || outcome == TriangleProgram::Outcome::cut_off) return outcome;
      part.bound = std::max(part.bound, program_.bound());
      if (outcome != TriangleProgram::Outcome::solved) return outcome;
      round_point();
      if (part.bound >= goal()) return TriangleProgram::Outcome::cut_off;
      if (program_.separate() == 0) return outcome;
    }
  }

  // Items by the number of those they go before, then single moves.
  void round_point() {
    const std::size_t n = margins_.size;
    std::vector<double> before(n, 0.0);
    const std::span<const double> x = program_.point();
    for (std::size_t i = 0, p = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j, ++p) before[i] += x[p], before[j] += 1.0 - x[p];
    std::vector<ItemId> order(n);
    std::iota(order.begin(), order.end(), ItemId{0});
    std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return before[a] > before[b]; });
    insertion_search(order, pairs_, budget_.stop);
    const double excess = margins_.excess_of(order);
    if (!(excess < best_.excess)) return;
    best_.excess = excess;
    best_.order.assign(order.begin(), order.end());
  }

  std::size_t most_fractional() const {
    const std::span<const double> x = program_.point();
    std::size_t best = x.size();
    double most = 1e-6;
    for (std::size_t p = 0; p < x.size(); ++p)
      if (const double part = std::min(x[p], 1.0 - x[p]); part > most) most = part, best = p;
    return best;
  }

  const Margins& margins_;
  const PairMatrix& pairs_;
  Solved& best_;
  PivotBudget budget_;
  TriangleProgram program_;
  std::vector<Part> open_;
  std::vector<double> lower_, upper_, root_reduced_;
  double root_bound_ = 0.0;
};

}  // namespace

double Margins::excess_of(std::span<const ItemId> order) const {
  double excess = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j) excess += (*this)(order[j], order[i]);
  return excess;
}

void Margins::find_unit() {
  // Sums of margins below 2^53 are exact.
  constexpr double most = 0x1p53;
  std::uint64_t divisor = 0;
  double sum = 0.0;
  unit = 0.0;
  for (double margin : value) {
    sum += margin;
    if (!(sum < most) || margin != std::floor(margin)) return;
    divisor = std::gcd(divisor, static_cast<std::uint64_t>(margin));
  }
  unit = static_cast<double>(divisor);
}

double Margins::least_gain(double excess) const { return unit > 0.0 ? unit * (1.0 - 1e-6) : 1e-12 * (1.0 + excess); }

Solved solve_by_program(const Margins& margins, const PairMatrix& pairs, Solved best, const ConsensusLimits& limits,
                        std::uint64_t max_nodes, std::uint64_t& nodes) {
  const PivotBudget budget{nodes, max_nodes, limits.stop};
  // Costs that are whole numbers are moved by less than any difference; others have few ties, and are moved by less and less.
  for (const double shift : {margins.unit > 0.0 ? 1e-4 : 1e-6, 1e-9})
    if (Branching(margins, pairs, best, shift, budget).run() != Branching::End::loose) break;
  return best;
}

}  // namespace caucus::detail
