#include "caucus/evaluate/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"

namespace caucus {

namespace {
template <class Score>
double mean_over_rows(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels,
                      Score&& score) {
  if (labels.empty()) return 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i) total += score(probabilities.subspan(i * num_classes, num_classes), labels[i]);
  return total / static_cast<double>(labels.size());
}
}  // namespace

double misclassification(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels) {
  return mean_over_rows(probabilities, num_classes, labels,
                        [](std::span<const double> row, std::uint32_t label) { return most_probable(row) == label ? 0.0 : 1.0; });
}

double log_loss(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels) {
  return mean_over_rows(probabilities, num_classes, labels,
                        [](std::span<const double> row, std::uint32_t label) { return -std::log(std::max(row[label], 1e-15)); });
}

double brier_score(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels) {
  return mean_over_rows(probabilities, num_classes, labels, [](std::span<const double> row, std::uint32_t label) {
    double sum = 0.0;
    for (std::size_t k = 0; k < row.size(); ++k) sum += (row[k] - (k == label ? 1.0 : 0.0)) * (row[k] - (k == label ? 1.0 : 0.0));
    return sum;
  });
}

std::vector<RocPoint> roc_curve(std::span<const double> scores, std::span<const std::uint8_t> positive) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto num_positive =
      static_cast<double>(std::count_if(positive.begin(), positive.end(), [](std::uint8_t p) { return p != 0; }));
  const double num_negative = static_cast<double>(positive.size()) - num_positive;
  if (num_positive == 0.0 || num_negative == 0.0) return {};
  std::vector<RocPoint> curve{{infinity, 0.0, 0.0}};
  double hits = 0.0, alarms = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    (positive[order[i]] != 0 ? hits : alarms) += 1.0;
    if (i + 1 < order.size() && scores[order[i + 1]] == scores[order[i]]) continue;
    curve.push_back({scores[order[i]], alarms / num_negative, hits / num_positive});
  }
  return curve;
}

double auc(std::span<const double> scores, std::span<const std::uint8_t> positive) {
  const std::vector<RocPoint> curve = roc_curve(scores, positive);
  if (curve.empty()) return 0.5;
  double area = 0.0;
  for (std::size_t i = 1; i < curve.size(); ++i)
    area += (curve[i].false_positive_rate - curve[i - 1].false_positive_rate) * 0.5 *
            (curve[i].true_positive_rate + curve[i - 1].true_positive_rate);
  return area;
}

double auc(std::span<const double> probabilities, std::size_t num_classes, std::span<const std::uint32_t> labels) {
  double total = 0.0, count = 0.0;
  std::vector<double> scores(labels.size());
  std::vector<std::uint8_t> positive(labels.size());
  for (std::size_t k = num_classes == 2 ? 1 : 0; k < num_classes; ++k) {
    for (std::size_t i = 0; i < labels.size(); ++i)
      scores[i] = probabilities[i * num_classes + k], positive[i] = labels[i] == k ? 1 : 0;
    const auto hits = static_cast<std::size_t>(std::count(positive.begin(), positive.end(), std::uint8_t{1}));
    if (hits == 0 || hits == labels.size()) continue;
    total += auc(scores, positive);
    count += 1.0;
  }
  return count > 0.0 ? total / count : 0.5;
}

std::vector<CalibrationBin> calibration_curve(std::span<const double> probabilities, std::size_t num_classes,
                                              std::span<const std::uint32_t> labels, std::size_t num_bins) {
  std::vector<CalibrationBin> bins(num_bins);
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (std::size_t k = 0; k < num_classes; ++k) {
      const double value = probabilities[i * num_classes + k];
      CalibrationBin& bin =
          bins[std::min(num_bins - 1, static_cast<std::size_t>(std::max(0.0, value) * static_cast<double>(num_bins)))];
      bin.mean_predicted += value;
      bin.observed += labels[i] == k ? 1.0 : 0.0;
      ++bin.count;
    }
  std::erase_if(bins, [](const CalibrationBin& bin) { return bin.count == 0; });
  for (CalibrationBin& bin : bins) {
    bin.mean_predicted /= static_cast<double>(bin.count);
    bin.observed /= static_cast<double>(bin.count);
  }
  return bins;
}

double calibration_error(std::span<const CalibrationBin> curve) {
  double total = 0.0, count = 0.0;
  for (const CalibrationBin& bin : curve) {
    total += static_cast<double>(bin.count) * std::abs(bin.observed - bin.mean_predicted);
    count += static_cast<double>(bin.count);
  }
  return count > 0.0 ? total / count : 0.0;
}

}  // namespace caucus
