// A sum of weighted logarithms of numbers of moderate size; those of weight one wait as a product, so that most take no logarithm.
#pragma once

#include <cmath>

namespace caucus {

class LogSum {
 public:
  void add(double weight, double value) {
    if (weight != 1.0 || value < 1e-50 || value > 1e50) {
      sum_ += weight * std::log(value);
      return;
    }
    product_ *= value;
    if (product_ < 1e-200 || product_ > 1e200) sum_ += std::log(product_), product_ = 1.0;
  }
  double total() const { return sum_ + std::log(product_); }

 private:
  double sum_ = 0.0, product_ = 1.0;
};

}  // namespace caucus
