// Features by formula: "exp(x1 + x2)", "gauss(age, 0.5, 1) * exp(-income)".
//
// Arithmetic (+ - * / ^), numbers, covariates by name (odd names in `backquotes`; x1, x2, ... by position where no covariate
// bears that name) and exp, log, sqrt, abs, min, max, gauss(x, center, width) = exp(-((x - center) / width)^2 / 2).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caucus {

class Formula {
 public:
  // Throws UsageError that shows the place.
  static Formula parse(std::string_view text, std::span<const std::string> names);

  double value(std::span<const double> x) const { return value(root_, x); }
  // The logarithm of the value, without overflow for products of exp() and gauss(). NaN where the value is negative.
  double log_value(std::span<const double> x) const { return log_value(root_, x); }
  // The formula with covariates by name, as parse() reads it.
  std::string to_string(std::span<const std::string> names) const { return to_string(root_, names, 0); }

 private:
  friend class FormulaParser;
  enum class Op { number, variable, add, subtract, multiply, divide, power, negate, exp, log, sqrt, abs, min, max, gauss };
  struct Node {
    Op op;
    double number = 0.0;
    std::size_t variable = 0;
    std::vector<std::size_t> arguments;
  };

  double value(std::size_t node, std::span<const double> x) const;
  double log_value(std::size_t node, std::span<const double> x) const;
  std::string to_string(std::size_t node, std::span<const std::string> names, int outer) const;

  std::vector<Node> nodes_;
  std::size_t root_ = 0;
};

// Cuts "exp(x1); gauss(x2, 0, 1)" at semicolons and at commas outside parentheses.
std::vector<std::string> split_formulas(std::string_view text);

}  // namespace caucus
