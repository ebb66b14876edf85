// Regularization paths: the weights as a function of a, as in Figure 2 of Archambeau & Caron (2012).
#pragma once

#include <string>
#include <vector>

#include "caucus/infer/pl_regression/input.h"
#include "caucus/infer/pl_regression/options.h"
#include "caucus/infer/run.h"

namespace caucus::pl_regression {

struct PathPoint {
  std::string estimate;  // "map", "posterior-mean", "posterior-median", "variational-mean"
  double a = 1.0;
  RowMatrix lambda;  // normalised: sum 1
};

// From the largest a to the smallest, the MAP estimates each started from the one before. Gibbs runs options.sweeps
// sweeps of one chain for each a. Stops early, with the points so far, when the observer says so.
std::vector<PathPoint> regularization_path(const Input& input, const Options& options, const std::vector<double>& grid,
                                           const Run& run);

// estimate,a,class,feature,value
std::string path_csv(const std::vector<PathPoint>& path, const Input& input);
// One panel per estimate, one line per weight, a on a logarithmic axis.
std::string path_svg(const std::vector<PathPoint>& path, const Input& input);

// 10, where no weight is zero, down to 0.01 in equal steps of the logarithm.
std::vector<double> default_path_grid(int points = 19);

}  // namespace caucus::pl_regression
