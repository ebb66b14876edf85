// Rankings by their longest increasing subsequence, without the rankings: Schensted (1961) pairs each with two standard tableaux of
// one shape whose first row is as long as that subsequence. A shape stands for f^2 rankings, f its number of tableaux.
#pragma once

#include <cstddef>
#include <vector>

#include "caucus/base/random.h"

namespace caucus {

// A Gibbs sampler of shapes with n boxes, with chances proportional to f(shape)^2 exp(theta (first row)): a box goes with the
// chance that the largest entry of a random tableau has (Greene, Nijenhuis & Wilf 1979), and comes back with Plancherel's growth,
// tilted at the first row. Both chances are products over the contents of corners (Kerov 1993): a step costs the corners squared,
// about n / 2.
class YoungChain {
 public:
  // Grown box by box: a draw at theta = 0. num_boxes > 0.
  YoungChain(std::size_t num_boxes, RandomStream& stream);

  // One box moves. Returns the mean length of the first row given all other boxes.
  double step(double theta, RandomStream& stream);
  std::size_t first_row() const { return rows_[0]; }
  const std::vector<std::size_t>& rows() const { return rows_; }

 private:
  void find_corners();
  // Chances of the places where a box can be added, the first row first; of the corners that can go.
  void growth();
  void removal();

  std::vector<std::size_t> rows_;            // descending, none empty
  std::vector<std::size_t> outer_, inner_;   // rows where a box can be added, and where one can go
  std::vector<double> outer_at_, inner_at_;  // contents (column minus row) of the box to come, and of the box to go
  std::vector<double> chance_;
};

}  // namespace caucus
