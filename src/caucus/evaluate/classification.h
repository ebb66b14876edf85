// How good are predicted class probabilities? Probabilities are row-major, num_classes per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/numeric.h"  // most_probable

namespace caucus {

// Share of rows whose most probable class is not the label.
double misclassification(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels);
// Mean of -log(probability of the label), probabilities below 1e-15 counted as 1e-15.
double log_loss(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels);
// Mean over rows of the squared distance to the label's unit vector.
double brier_score(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels);

struct RocPoint {
  double threshold = 0.0;  // scores at or above it count as positive; +inf at the start
  double false_positive_rate = 0.0;
  double true_positive_rate = 0.0;
};
// From (0, 0) to (1, 1), one point per distinct score. Needs both kinds of rows, else empty. O(n log n).
std::vector<RocPoint> roc_curve(std::span<const double> scores, std::span<const std::uint8_t> positive);
// Area under it: the chance that a positive outscores a negative, ties counting half. 0.5 where a kind is missing.
double auc(std::span<const double> scores, std::span<const std::uint8_t> positive);
// Two classes: of the second. More: the mean over classes, each against the rest, of those that occur.
double auc(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels);

struct CalibrationBin {
  double mean_predicted = 0.0;
  double observed = 0.0;  // share of rows where it came true
  std::size_t count = 0;
};
// Every probability of every class is one forecast; equal-width bins, empty ones left out.
std::vector<CalibrationBin> calibration_curve(std::span<const double> probabilities, std::size_t num_classes,
                                              std::span<const std::uint32_t> labels, std::size_t num_bins = 10);
// Mean of |observed - predicted| over the forecasts of the curve.
double calibration_error(std::span<const CalibrationBin> curve);

}  // namespace caucus
