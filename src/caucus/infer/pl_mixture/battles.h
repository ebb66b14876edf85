// Rankings of two items each and one group: the data are counts for each pair that met, so the likelihood, its gradient and its
// information are sums over pairs, however many rankings there are, and a fit is a few Newton steps. Bradley & Terry (1952), with
// ties Davidson (1970).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/infer/pl_mixture/parameters.h"
#include "caucus/model/decompositions.h"

namespace caucus::pl_mixture {

class Battles {
 public:
  struct Pair {
    ItemId first, second;
    double wins_first, wins_second, ties;
    double total() const { return wins_first + wins_second + ties; }
  };

  // Nothing where a ranking has more than two items, or says something of those that it does not list.
  static std::optional<Battles> of(const Dataset& data);
  // The same rankings by other weights.
  Battles with_weights(std::span<const double> weights) const;

  std::span<const Pair> pairs() const { return pairs_; }
  bool has_ties() const { return total_ties_ > 0.0; }
  // Does "beats" lead from each item to each other? A tie leads both ways (data/connectivity.h).
  bool strongly_connected() const;

  // Variables: utilities, and log delta where the parameters have it. `strength`: pseudo-comparisons as in Objective.
  struct Value {
    double objective = 0.0;
    Eigen::VectorXd gradient;
  };
  Value evaluate(const Parameters& parameters, double strength) const;
  Eigen::MatrixXd information(const Parameters& parameters, double strength) const;  // minus the Hessian

  // The information at `parameters`, factored, the mean of the utilities held where no prior holds it.
  Cholesky metric(const Parameters& parameters, double strength) const;
  // Moves to the maximum, which is near: steps by the factor given as long as they get there fast, then by one of its own. False
  // where they do not get there; then nothing is said of the parameters. From the maximum it is less than 1e-4 standard errors.
  bool refine(const Cholesky& metric, double strength, Parameters& parameters) const;

 private:
  std::size_t num_items_ = 0;
  std::vector<Pair> pairs_;
  // Of each distinct ranking: the pair, and which of its counts.
  struct Place {
    std::uint32_t pair;
    std::uint32_t count;
  };
  static constexpr std::uint32_t says_nothing = 3;
  std::shared_ptr<const std::vector<Place>> places_;
  double total_ties_ = 0.0;

  void count(std::span<const double> weights);
};

}  // namespace caucus::pl_mixture
