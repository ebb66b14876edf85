#include "caucus/model/young_chain.h"

#include <cmath>

namespace caucus {

YoungChain::YoungChain(std::size_t num_boxes, RandomStream& stream) : rows_{1} {
  for (std::size_t box = 1; box < num_boxes; ++box) {
    growth();
    const std::size_t row = outer_[stream.categorical(chance_)];
    if (row == rows_.size()) rows_.push_back(0);
    ++rows_[row];
  }
}

void YoungChain::find_corners() {
  outer_.clear(), inner_.clear(), outer_at_.clear(), inner_at_.clear();
  const auto content = [](std::size_t column, std::size_t row) { return static_cast<double>(column) - static_cast<double>(row); };
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (row == 0 || rows_[row - 1] > rows_[row]) outer_.push_back(row), outer_at_.push_back(content(rows_[row], row));
    if (row + 1 == rows_.size() || rows_[row + 1] < rows_[row]) {
      inner_.push_back(row);
      inner_at_.push_back(content(rows_[row] - 1, row));
    }
  }
  outer_.push_back(rows_.size());
  outer_at_.push_back(content(0, rows_.size()));
}

// prod_j (x_i - y_j) / prod_{j != i} (x_i - x_j), x the contents of boxes to come, y of those to go; they alternate, and neighbours
// are divided by each other so that no product grows.
void YoungChain::growth() {
  find_corners();
  chance_.assign(outer_.size(), 1.0);
  for (std::size_t i = 0; i < outer_.size(); ++i) {
    double value = 1.0;
    for (std::size_t j = 0; j < inner_.size(); ++j)
      value *= (outer_at_[i] - inner_at_[j]) / (outer_at_[i] - outer_at_[j < i ? j : j + 1]);
    chance_[i] = value;
  }
}

// -prod_i (y_j - x_i) / (n prod_{l != j} (y_j - y_l)); n is the same for all.
void YoungChain::removal() {
  find_corners();
  chance_.assign(inner_.size(), 1.0);
  for (std::size_t j = 0; j < inner_.size(); ++j) {
    double value = -(inner_at_[j] - outer_at_[j]) * (inner_at_[j] - outer_at_[j + 1]);
    for (std::size_t l = 0; l < inner_.size(); ++l)
      if (l != j) value *= (inner_at_[j] - outer_at_[l < j ? l : l + 1]) / (inner_at_[j] - inner_at_[l]);
    chance_[j] = value;
  }
}

double YoungChain::step(double theta, RandomStream& stream) {
  removal();
  const std::size_t gone = inner_[stream.categorical(chance_)];
  if (--rows_[gone] == 0) rows_.pop_back();
  if (rows_.empty()) {  // one box
    rows_.push_back(1);
    return 1.0;
  }
  growth();
  double rest = 0.0;
  for (std::size_t i = 1; i < chance_.size(); ++i) rest += chance_[i];
  // exp(-theta) on the rest, not exp(theta) on the first row: no overflow.
  const double scale = std::exp(-theta), first = chance_[0] / (chance_[0] + scale * rest);
  const double mean = static_cast<double>(rows_[0]) + first;
  std::size_t row = 0;
  if (stream.uniform() >= first) {
    chance_[0] = 0.0;
    row = outer_[stream.categorical(chance_)];
  }
  if (row == rows_.size()) rows_.push_back(0);
  ++rows_[row];
  return mean;
}

}  // namespace caucus
