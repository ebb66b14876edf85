// What puts a voter into a group: the weights of the groups as a multinomial logit of what is known of the voter (Gormley & Murphy
// 2008).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "caucus/model/covariate_design.h"
#include "caucus/result/record.h"

namespace caucus {

struct Dataset;

class Membership {
 public:
  // The likelihood-ratio test of one term: twice the log-likelihood lost without it.
  struct Test {
    std::string term;
    double statistic = 0.0;
    int degrees = 0;
    double p_value = 1.0;
    std::string level;  // that alone against the reference; empty: the whole term
  };

  CovariateDesign design;
  std::size_t num_groups = 1;
  // P(group k | x) is proportional to exp(coefficients[k * p] . x), those of the first group zero; in the units of the columns.
  std::vector<double> coefficients;
  std::vector<double> covariance;    // of the coefficients of groups 2 to K, ((K - 1) p)^2; empty: not estimated
  std::vector<double> mean_weights;  // of the voters of the fit: for voters of whom nothing is known
  std::vector<Test> tests;
  // Of single levels of a term that matters, where the interval of the difference they make holds zero: near separation a standard
  // error is useless, and a likelihood ratio is not.
  std::vector<Test> level_tests;
  double ridge = 0.0;  // penalty on the squares of standardised coefficients, where it was needed

  std::size_t num_columns() const { return design.num_columns(); }
  std::optional<double> standard_error(std::size_t group, std::size_t column) const;
  // log P(group | x), K numbers.
  void log_weights(std::span<const double> x, std::span<double> out) const;
  // The same for every voter of the data, K numbers each. Throws DataError where a column or a value is missing.
  std::vector<double> log_weights_of_voters(const Dataset& data, std::vector<std::string>* warnings = nullptr) const;

  Record record() const;
  static std::shared_ptr<const Membership> read(const RecordView& record, std::size_t num_groups);
};

}  // namespace caucus
