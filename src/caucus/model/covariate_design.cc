#include "caucus/model/covariate_design.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "caucus/base/error.h"
#include "caucus/model/pl_regression_formula.h"

namespace caucus {

namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

// Cut at + outside parentheses and backquotes.
std::vector<std::string> split_terms(std::string_view formula) {
  std::vector<std::string> terms;
  int depth = 0;
  bool quoted = false;
  std::string term;
  for (const char c : formula) {
    if (c == '`') quoted = !quoted;
    if (!quoted && c == '(') ++depth;
    if (!quoted && c == ')') --depth;
    if (c == '+' && depth == 0 && !quoted) {
      terms.push_back(trimmed(term));
      term.clear();
    } else {
      term += c;
    }
  }
  terms.push_back(trimmed(term));
  return terms;
}

std::string without_quotes(const std::string& term) {
  return term.size() > 2 && term.front() == '`' && term.back() == '`' && term.find('`', 1) == term.size() - 1
             ? term.substr(1, term.size() - 2)
             : term;
}

const Column* find_column(std::span<const Column> columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

// A code such as 3 and the text "3" are the same level.
std::string level_at(const Column& column, std::size_t row) {
  return column.is_numeric() ? fmt::format("{}", column.numbers[row]) : column.texts[row];
}

struct Numeric {
  std::vector<std::string> names;
  std::vector<const Column*> columns;
};
Numeric numeric_columns(std::span<const Column> columns) {
  Numeric found;
  for (const Column& column : columns)
    if (column.is_numeric()) {
      found.names.push_back(column.name);
      found.columns.push_back(&column);
    }
  return found;
}

// The values of a term that is a number; NaN where something it needs is missing.
std::vector<double> number_values(const DesignTerm& term, std::span<const Column> columns) {
  if (!term.arithmetic) return find_column(columns, term.name)->numbers;
  const Numeric numeric = numeric_columns(columns);
  const Formula formula = Formula::parse(term.name, numeric.names);
  std::vector<double> values(columns.empty() ? 0 : columns[0].size()), x(numeric.names.size());
  for (std::size_t row = 0; row < values.size(); ++row) {
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = numeric.columns[j]->numbers[row];
    values[row] = formula.value(x);
  }
  return values;
}

}  // namespace

CovariateDesign CovariateDesign::learn(std::span<const Column> columns, std::string_view formula, MissingValues missing,
                                       bool intercept, std::string_view who, std::vector<std::string>& warnings) {
  CovariateDesign design;
  design.intercept_ = intercept;
  design.missing_ = missing;
  std::vector<std::string> there;
  for (const Column& column : columns) there.push_back(column.name);
  for (const std::string& text : split_terms(formula)) {
    if (text.empty()) throw UsageError(fmt::format("{} \"{}\": found nothing between two +, expected a column", who, formula));
    if (text == "1") continue;
    DesignTerm term;
    bool categorical = false;
    std::string name = without_quotes(text);
    if (text.starts_with("factor(") && text.ends_with(")")) {
      categorical = true;
      name = without_quotes(trimmed(text.substr(7, text.size() - 8)));
    }
    term.name = name;
    const Column* column = find_column(columns, name);
    if (std::ranges::find(design.terms_, name, &DesignTerm::name) != design.terms_.end()) continue;
    if (column == nullptr && !categorical) {
      term.arithmetic = true;
      try {
        Formula::parse(name, numeric_columns(columns).names);
      } catch (const UsageError&) {
        throw UsageError(fmt::format("{}: '{}' is neither a column nor arithmetic on numeric columns; there are: {}", who, name,
                                     fmt::join(there, ", ")));
      }
    } else if (column == nullptr) {
      throw UsageError(fmt::format("{}: no column '{}'; there are: {}", who, name, fmt::join(there, ", ")));
    }
    if (column != nullptr && (categorical || !column->is_numeric())) {
      std::map<std::string, std::size_t> counts;
      for (std::size_t row = 0; row < column->size(); ++row)
        if (!column->is_missing(row)) ++counts[level_at(*column, row)];
      if (counts.empty()) throw DataError(fmt::format("{}: column '{}' has no value at all", who, name));
      if (counts.size() > 20 && 2 * counts.size() > column->size())
        throw DataError(fmt::format("{}: column '{}' has {} different texts in {} rows: a name, not a category", who, name,
                                    counts.size(), column->size()));
      for (const auto& [level, count] : counts) term.levels.push_back(level);
      const auto most = std::ranges::max_element(term.levels, {}, [&](const std::string& level) { return counts[level]; });
      std::rotate(term.levels.begin(), most, most + 1);
    } else {
      double sum = 0.0, least = 0.0, largest = 0.0, count = 0.0;
      for (const double value : number_values(term, columns)) {
        if (std::isnan(value)) continue;
        if (!std::isfinite(value)) throw DataError(fmt::format("{}: '{}' is not finite in some row", who, name));
        least = count == 0.0 ? value : std::min(least, value);
        largest = count == 0.0 ? value : std::max(largest, value);
        sum += value;
        ++count;
      }
      if (count == 0.0) throw DataError(fmt::format("{}: '{}' has no value at all", who, name));
      term.mean = sum / count;
      if (least == largest) term.count = 0;
    }
    if (term.count == 0 || term.levels.size() == 1) {
      warnings.push_back(fmt::format("'{}' has one value only and tells nothing: it is left out", name));
      continue;
    }
    design.terms_.push_back(std::move(term));
  }
  design.number_columns();
  return design;
}

CovariateDesign CovariateDesign::from_parts(std::vector<DesignTerm> terms, bool intercept, MissingValues missing) {
  CovariateDesign design;
  design.terms_ = std::move(terms);
  design.intercept_ = intercept;
  design.missing_ = missing;
  design.number_columns();
  return design;
}

void CovariateDesign::number_columns() {
  names_.clear();
  if (intercept_) names_.emplace_back("(intercept)");
  for (DesignTerm& term : terms_) {
    term.first = names_.size();
    term.count = term.levels.empty() ? 1 : term.levels.size() - 1;
    if (term.levels.empty()) names_.push_back(term.name);
    for (std::size_t l = 1; l < term.levels.size(); ++l) names_.push_back(term.name + "=" + term.levels[l]);
  }
}

std::string CovariateDesign::formula() const {
  std::string text;
  for (const DesignTerm& term : terms_) text += (text.empty() ? "" : " + ") + term.name;
  return text.empty() ? "1" : text;
}

CovariateDesign::Encoded CovariateDesign::encode(std::span<const Column> columns,
                                                 const std::function<std::string(std::size_t)>& row_name) const {
  std::vector<std::string> lacking;
  for (const DesignTerm& term : terms_)
    if (!term.arithmetic && find_column(columns, term.name) == nullptr) lacking.push_back(term.name);
  if (!lacking.empty())
    throw DataError(fmt::format("the model needs the column{} '{}', which the data lack", lacking.size() == 1 ? "" : "s",
                                fmt::join(lacking, "', '")));
  const std::size_t num_rows = columns.empty() ? 0 : columns[0].size();
  Encoded encoded;
  encoded.x = RowMatrix::Zero(static_cast<Eigen::Index>(num_rows), static_cast<Eigen::Index>(num_columns()));
  encoded.complete.assign(num_rows, 1);
  if (intercept_) encoded.x.col(0).setOnes();
  const auto absent = [&](const DesignTerm& term, std::size_t row) {
    if (missing_ == MissingValues::error)
      throw DataError(
          fmt::format("{}: '{}' is missing; --missing drop leaves such out, --missing mean takes the mean (or the most "
                      "common level)",
                      row_name(row), term.name));
    if (missing_ == MissingValues::drop) encoded.complete[row] = 0;
  };
  std::size_t num_unseen = 0;
  std::string unseen;
  for (const DesignTerm& term : terms_) {
    const auto at = [&](std::size_t row, std::size_t j) -> double& {
      return encoded.x(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(term.first + j));
    };
    if (term.levels.empty()) {
      if (!term.arithmetic && !find_column(columns, term.name)->is_numeric())
        throw DataError(fmt::format("column '{}' was numeric when the model was fitted, but holds text here", term.name));
      const std::vector<double> values = number_values(term, columns);
      for (std::size_t row = 0; row < num_rows; ++row) {
        if (std::isnan(values[row])) absent(term, row);
        at(row, 0) = std::isnan(values[row]) ? term.mean : values[row];
      }
      continue;
    }
    const Column& column = *find_column(columns, term.name);
    for (std::size_t row = 0; row < num_rows; ++row) {
      if (column.is_missing(row)) {
        absent(term, row);
        continue;  // the most common level: zeros
      }
      const auto level = std::ranges::find(term.levels, level_at(column, row));
      if (level == term.levels.end()) {
        if (num_unseen++ == 0)
          unseen = fmt::format("'{}' in column '{}' ({}), which counts as '{}'", level_at(column, row), term.name, row_name(row),
                               term.levels[0]);
      } else if (level != term.levels.begin()) {
        at(row, static_cast<std::size_t>(level - term.levels.begin()) - 1) = 1.0;
      }
    }
  }
  for (std::size_t row = 0; row < num_rows; ++row)
    if (encoded.complete[row] == 0) encoded.x.row(static_cast<Eigen::Index>(row)).setZero();
  if (num_unseen > 0)
    encoded.warnings.push_back(
        fmt::format("{} values were not there when the model was fitted, the first of them {}", num_unseen, unseen));
  return encoded;
}

}  // namespace caucus
