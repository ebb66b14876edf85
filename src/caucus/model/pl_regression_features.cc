#include "caucus/model/pl_regression_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"

namespace caucus {

namespace {

std::size_t num_values(const Column& column) { return column.is_numeric() ? column.numbers.size() : column.texts.size(); }
bool is_missing(const Column& column, std::size_t row) {
  return column.is_numeric() ? std::isnan(column.numbers[row]) : column.texts[row].empty();
}
// A code such as 3 and the text "3" are the same level.
std::string level_of(const Column& column, std::size_t row) {
  return column.is_numeric() ? fmt::format("{}", column.numbers[row]) : column.texts[row];
}

[[noreturn]] void refuse_missing(const Column& column, std::size_t row) {
  throw DataError(
      fmt::format("row {}, column '{}': the value is missing; --missing drop leaves such rows out, --missing mean takes the "
                  "column's mean (or most common level)",
                  row + 1, column.name));
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "bumps(x, 5)" -> five gauss() formulas centered at the quantiles 0.1, 0.3, .., 0.9 of the standardised covariate, each as wide as
// the mean distance of the centers.
std::optional<std::vector<std::string>> expand_bumps(const std::string& text, const std::vector<std::string>& names,
                                                     const RowMatrix& x, const std::vector<Covariate>& covariates) {
  if (!text.starts_with("bumps(") || !text.ends_with(")")) return std::nullopt;
  const std::string inside = text.substr(6, text.size() - 7);
  const std::size_t comma = inside.rfind(',');
  if (comma == std::string::npos)
    throw UsageError(fmt::format("features: '{}': expected bumps(covariate, number) or bumps(all, number)", text));
  const std::string name = split_formulas(inside.substr(0, comma)).empty() ? "" : split_formulas(inside.substr(0, comma))[0];
  std::string count_text = inside.substr(comma + 1);
  count_text.erase(std::remove(count_text.begin(), count_text.end(), ' '), count_text.end());
  const std::int64_t count = detail::parse_integer("features: bumps", count_text);
  if (count < 2 || count > 100) throw UsageError(fmt::format("features: '{}': the number of bumps is outside [2, 100]", text));
  std::vector<std::string> formulas;
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (covariates[j].categorical || (name != "all" && name != names[j] && name != fmt::format("x{}", j + 1))) continue;
    std::vector<double> values(static_cast<std::size_t>(x.rows()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = x(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
    std::sort(values.begin(), values.end());
    std::vector<double> centers;
    for (std::int64_t m = 0; m < count; ++m) {
      const double quantile = (static_cast<double>(m) + 0.5) / static_cast<double>(count);
      centers.push_back(values[static_cast<std::size_t>(quantile * static_cast<double>(values.size()))]);
    }
    const double width = std::max((centers.back() - centers.front()) / static_cast<double>(count - 1), 0.1);
    centers.erase(std::unique(centers.begin(), centers.end()), centers.end());
    for (const double center : centers) formulas.push_back(fmt::format("gauss(`{}`, {:.6g}, {:.6g})", names[j], center, width));
  }
  if (formulas.empty()) throw UsageError(fmt::format("features: '{}': there is no numeric covariate '{}'", text, name));
  return formulas;
}

}  // namespace

FeatureMap FeatureMap::learn(std::span<const Column> columns, const FeatureRequest& request, std::vector<std::string>& warnings) {
  if (columns.empty()) throw DataError("there are no covariates: the table needs at least one column besides the target");
  for (const std::string& name : request.categorical)
    if (std::none_of(columns.begin(), columns.end(), [&](const Column& column) { return column.name == name; }))
      throw UsageError(fmt::format("categorical: there is no covariate '{}'", name));
  const std::size_t num_rows = num_values(columns[0]);
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < num_rows; ++row) {
    bool complete = true;
    for (const Column& column : columns) {
      if (!is_missing(column, row)) continue;
      if (request.missing == MissingValues::error) refuse_missing(column, row);
      complete = false;
    }
    if (complete || request.missing == MissingValues::mean) rows.push_back(row);
  }
  if (rows.empty()) throw DataError("no row is complete; --missing mean keeps rows with missing values");

  FeatureMap map;
  map.missing_ = request.missing;
  for (const Column& column : columns) {
    if (column.is_numeric() && !contains(request.categorical, column.name)) {
      double sum = 0.0, count = 0.0, squares = 0.0;
      for (const std::size_t row : rows) {
        if (is_missing(column, row)) continue;
        if (!std::isfinite(column.numbers[row]))
          throw DataError(fmt::format("row {}, column '{}': {} is not a finite number", row + 1, column.name, column.numbers[row]));
        sum += column.numbers[row];
        ++count;
      }
      if (count == 0.0) throw DataError(fmt::format("column '{}' has no value at all; leave it out with --ignore", column.name));
      const double mean = sum / count;
      // A missing value stands as the mean, so it counts in the divisor.
      for (const std::size_t row : rows)
        if (!is_missing(column, row)) squares += (column.numbers[row] - mean) * (column.numbers[row] - mean);
      double scale = std::sqrt(squares / static_cast<double>(rows.size()));
      if (!(scale > 1e-12 * std::max(1.0, std::abs(mean)))) {
        warnings.push_back(fmt::format("column '{}' is constant and tells nothing", column.name));
        scale = 1.0;
      }
      map.covariates_.push_back({column.name, column.name, false, {}, mean, scale});
      map.most_common_.emplace_back();
      continue;
    }
    std::map<std::string, std::size_t> counts;
    for (const std::size_t row : rows)
      if (!is_missing(column, row)) ++counts[level_of(column, row)];
    if (counts.empty()) throw DataError(fmt::format("column '{}' has no value at all; leave it out with --ignore", column.name));
    if (counts.size() > 20 && 2 * counts.size() > rows.size())
      throw DataError(fmt::format("column '{}' has {} different texts in {} rows: an identifier? leave it out with --ignore {}",
                                  column.name, counts.size(), rows.size(), column.name));
    const auto most =
        std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [level, count] : counts) {
      map.covariates_.push_back({column.name + "=" + level, column.name, true, level, 0.0, 1.0});
      map.most_common_.push_back(most->first);
    }
  }
  std::vector<std::string> formulas;
  EncodedRows encoded;
  for (const std::string& text : request.formulas) {
    for (const std::string& one : split_formulas(text)) {
      if (one.starts_with("bumps(") && encoded.rows.empty()) encoded = map.encode(columns, request.missing);
      if (const auto bumps = expand_bumps(one, map.covariate_names(), encoded.x, map.covariates_))
        formulas.insert(formulas.end(), bumps->begin(), bumps->end());
      else
        formulas.push_back(one);
    }
  }
  map.finish(formulas);
  return map;
}

FeatureMap FeatureMap::from_parts(std::vector<Covariate> covariates, std::vector<std::string> most_common_levels,
                                  const std::vector<std::string>& formulas, MissingValues missing) {
  FeatureMap map;
  map.covariates_ = std::move(covariates);
  map.most_common_ = std::move(most_common_levels);
  map.most_common_.resize(map.covariates_.size());
  map.missing_ = missing;
  map.finish(formulas);
  return map;
}

std::vector<std::string> FeatureMap::covariate_names() const {
  std::vector<std::string> names;
  for (const Covariate& covariate : covariates_) names.push_back(covariate.name);
  return names;
}

void FeatureMap::finish(const std::vector<std::string>& formulas) {
  for (const Covariate& one : covariates_)
    if (!one.categorical) features_.push_back({fmt::format("exp({})", one.name), FeatureKind::exp, one.name, one.mean, one.scale});
  for (const Covariate& one : covariates_)
    if (!one.categorical)
      features_.push_back({fmt::format("exp(-{})", one.name), FeatureKind::exp_minus, one.name, one.mean, one.scale});
  for (const Covariate& one : covariates_)
    if (one.categorical) features_.push_back({one.name, FeatureKind::indicator, one.name, 0.0, 1.0});
  const std::vector<std::string> names = covariate_names();
  for (const std::string& text : formulas) {
    formulas_.push_back(Formula::parse(text, names));
    formula_texts_.push_back(formulas_.back().to_string(names));
    features_.push_back({formula_texts_.back(), FeatureKind::formula, {}, 0.0, 1.0});
  }
  features_.push_back({"offset", FeatureKind::offset, {}, 0.0, 1.0});
}

EncodedRows FeatureMap::encode(std::span<const Column> columns, std::optional<MissingValues> missing) const {
  const MissingValues policy = missing.value_or(missing_);
  std::vector<const Column*> sources;  // by covariate
  std::vector<std::string> lacking;
  for (const Covariate& covariate : covariates_) {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == covariate.column; });
    if (found == columns.end()) {
      if (!contains(lacking, covariate.column)) lacking.push_back(covariate.column);
      continue;
    }
    if (!covariate.categorical && !found->is_numeric()) {
      const auto text = std::find_if(found->texts.begin(), found->texts.end(), [](const std::string& cell) {
        double value = 0.0;
        const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        return !cell.empty() && (error != std::errc() || end != cell.data() + cell.size());
      });
      throw DataError(fmt::format("column '{}' was numeric in the training table, but holds '{}' here", found->name,
                                  text == found->texts.end() ? "text" : *text));
    }
    sources.push_back(&*found);
  }
  if (!lacking.empty())
    throw DataError(fmt::format("the model needs the column{} '{}', which the table lacks", lacking.size() == 1 ? "" : "s",
                                fmt::join(lacking, "', '")));
  EncodedRows encoded;
  const std::size_t num_rows = columns.empty() ? 0 : num_values(columns[0]);
  for (std::size_t row = 0; row < num_rows; ++row) {
    bool complete = true;
    for (const Column* column : sources) {
      if (!is_missing(*column, row)) continue;
      if (policy == MissingValues::error) refuse_missing(*column, row);
      complete = false;
      if (policy == MissingValues::drop) break;
    }
    if (complete || policy == MissingValues::mean) encoded.rows.push_back(row);
  }
  if (encoded.rows.size() < num_rows)
    encoded.warnings.push_back(
        fmt::format("{} of {} rows have missing values and were left out", num_rows - encoded.rows.size(), num_rows));
  encoded.x.resize(static_cast<Eigen::Index>(encoded.rows.size()), static_cast<Eigen::Index>(covariates_.size()));
  std::size_t unknown = 0;
  std::string example;
  for (std::size_t j = 0; j < covariates_.size();) {
    const Covariate& covariate = covariates_[j];
    std::size_t end = j + 1;
    while (covariate.categorical && end < covariates_.size() && covariates_[end].categorical &&
           covariates_[end].column == covariate.column)
      ++end;
    for (std::size_t i = 0; i < encoded.rows.size(); ++i) {
      const std::size_t row = encoded.rows[i];
      const bool absent = is_missing(*sources[j], row);
      const auto at = [&](std::size_t column) -> double& {
        return encoded.x(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(column));
      };
      if (!covariate.categorical) {
        const double value = absent ? covariate.mean : sources[j]->numbers[row];
        if (!std::isfinite(value))
          throw DataError(fmt::format("row {}, column '{}': {} is not a finite number", row + 1, covariate.column, value));
        at(j) = (value - covariate.mean) / covariate.scale;
        continue;
      }
      const std::string level = absent ? most_common_[j] : level_of(*sources[j], row);
      bool known = false;
      for (std::size_t l = j; l < end; ++l) {
        const bool same = covariates_[l].level == level;
        at(l) = same ? 1.0 : 0.0;
        known |= same;
      }
      if (!known && unknown++ == 0) example = fmt::format("'{}' in column '{}', row {}", level, covariate.column, row + 1);
    }
    j = end;
  }
  if (unknown > 0)
    encoded.warnings.push_back(
        fmt::format("{} value{} that the training table did not have (first: {}) count as none of the known levels", unknown,
                    unknown == 1 ? "" : "s", example));
  return encoded;
}

RowMatrix FeatureMap::features(const RowMatrix& x, std::span<const std::size_t> rows) const {
  RowMatrix w(x.rows(), static_cast<Eigen::Index>(features_.size()));
  std::vector<Eigen::Index> source(features_.size(), 0);
  for (std::size_t f = 0; f < features_.size(); ++f)
    for (std::size_t j = 0; j < covariates_.size(); ++j)
      if (covariates_[j].name == features_[f].covariate) source[f] = static_cast<Eigen::Index>(j);
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const std::span<const double> row(x.data() + i * x.cols(), static_cast<std::size_t>(x.cols()));
    std::size_t formula = 0;
    double largest = -infinity;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      double log_value = 0.0;
      switch (features_[f].kind) {
        case FeatureKind::exp:
          log_value = x(i, source[f]);
          break;
        case FeatureKind::exp_minus:
          log_value = -x(i, source[f]);
          break;
        case FeatureKind::indicator:
          log_value = x(i, source[f]) > 0.5 ? 0.0 : -infinity;
          break;
        case FeatureKind::offset:
          break;
        case FeatureKind::formula:
          log_value = formulas_[formula++].log_value(row);
          if (std::isnan(log_value) || log_value == infinity) {
            const std::size_t number = rows.empty() ? static_cast<std::size_t>(i) : rows[static_cast<std::size_t>(i)];
            throw DataError(
                fmt::format("row {}: the feature '{}' is negative or not a number; features must not be negative: wrap it in "
                            "exp(), abs() or max(0, ...)",
                            number + 1, features_[f].name));
          }
          break;
      }
      w(i, static_cast<Eigen::Index>(f)) = log_value;
      largest = std::max(largest, log_value);
    }
    // The offset keeps `largest` finite; the race does not see a common factor.
    for (Eigen::Index f = 0; f < w.cols(); ++f) w(i, f) = std::exp(w(i, f) - largest);
  }
  return w;
}

}  // namespace caucus
