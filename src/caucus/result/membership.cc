#include "caucus/result/membership.h"

#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/data/dataset.h"

namespace caucus {

std::optional<double> Membership::standard_error(std::size_t group, std::size_t column) const {
  if (group == 0 || covariance.empty()) return std::nullopt;
  const std::size_t size = (num_groups - 1) * num_columns(), at = (group - 1) * num_columns() + column;
  const double variance = covariance[at * size + at];
  return variance >= 0.0 && std::isfinite(variance) ? std::optional(std::sqrt(variance)) : std::nullopt;
}

void Membership::log_weights(std::span<const double> x, std::span<double> out) const {
  for (std::size_t k = 0; k < num_groups; ++k) {
    out[k] = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j) out[k] += coefficients[k * num_columns() + j] * x[j];
  }
  const double total = log_sum_exp(out);
  for (double& value : out) value -= total;
}

std::vector<double> Membership::log_weights_of_voters(const Dataset& data, std::vector<std::string>* warnings) const {
  const std::vector<Column> columns = voter_columns(data);
  const CovariateDesign::Encoded encoded =
      design.encode(columns, [&](std::size_t voter) { return data.source + ": voter " + data.voters.name(voter); });
  if (warnings != nullptr) warnings->insert(warnings->end(), encoded.warnings.begin(), encoded.warnings.end());
  std::vector<double> result(data.voters.size() * num_groups);
  for (std::size_t v = 0; v < data.voters.size(); ++v) {
    const auto out = std::span(result).subspan(v * num_groups, num_groups);
    if (v >= encoded.complete.size() || encoded.complete[v] == 0) {
      for (std::size_t k = 0; k < num_groups; ++k) out[k] = std::log(mean_weights[k]);
      continue;
    }
    log_weights({encoded.x.data() + static_cast<Eigen::Index>(v) * encoded.x.cols(), num_columns()}, out);
  }
  return result;
}

Record Membership::record() const {
  Record result;
  result.set("formula", design.formula()).set("missing", name_of(design.missing())).set("columns", design.names());
  std::vector<Record> terms;
  for (const DesignTerm& term : design.terms()) {
    Record one;
    one.set("name", term.name);
    if (!term.levels.empty())
      one.set("levels", term.levels);
    else
      one.set("mean", term.mean);
    if (term.arithmetic) one.set("arithmetic", true);
    terms.push_back(std::move(one));
  }
  result.set("terms", terms);
  std::vector<std::vector<double>> values, errors;
  for (std::size_t k = 0; k < num_groups; ++k) {
    std::vector<double> row, error;
    for (std::size_t j = 0; j < num_columns(); ++j) {
      row.push_back(coefficients[k * num_columns() + j]);
      error.push_back(standard_error(k, j).value_or(std::nan("")));
    }
    values.push_back(std::move(row));
    errors.push_back(std::move(error));
  }
  result.set("coefficients", values).set("mean_weights", mean_weights);
  if (!covariance.empty()) {
    result.set("standard_errors", errors);
    const std::size_t size = (num_groups - 1) * num_columns();
    std::vector<std::vector<double>> rows;
    for (std::size_t i = 0; i < size; ++i)
      rows.emplace_back(covariance.begin() + static_cast<std::ptrdiff_t>(i * size),
                        covariance.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
    result.set("covariance", rows);
  }
  std::vector<Record> tested;
  for (const Test& test : tests)
    tested.push_back(
        Record().set("term", test.term).set("statistic", test.statistic).set("degrees", test.degrees).set("p_value", test.p_value));
  if (!tested.empty()) result.set("tests", tested);
  if (ridge > 0.0) result.set("ridge", ridge);
  return result;
}

std::shared_ptr<const Membership> Membership::read(const RecordView& record, std::size_t num_groups) {
  auto membership = std::make_shared<Membership>();
  std::vector<DesignTerm> terms;
  for (const RecordView& one : record.objects("terms")) {
    DesignTerm term;
    term.name = one.text("name");
    if (one.has("levels")) term.levels = one.texts("levels");
    if (one.has("levels") && term.levels.size() < 2) one.fail("levels", "two levels or more");
    term.mean = one.number("mean", 0.0);
    term.arithmetic = one.flag("arithmetic", false);
    terms.push_back(std::move(term));
  }
  const auto missing = enum_from_name<MissingValues>(record.text("missing", "error"));
  if (!missing) record.fail("missing", "error, drop or mean");
  membership->design = CovariateDesign::from_parts(std::move(terms), true, *missing);
  membership->num_groups = num_groups;
  const std::size_t p = membership->num_columns(), size = (num_groups - 1) * p;
  for (const auto& row : record.matrix("coefficients", num_groups, p))
    membership->coefficients.insert(membership->coefficients.end(), row.begin(), row.end());
  membership->mean_weights = record.numbers("mean_weights", num_groups);
  if (record.has("covariance"))
    for (const auto& row : record.matrix("covariance", size, size))
      membership->covariance.insert(membership->covariance.end(), row.begin(), row.end());
  for (const RecordView& one : record.objects("tests"))
    membership->tests.push_back(
        {one.text("term"), one.number("statistic"), static_cast<int>(one.number("degrees")), one.number("p_value")});
  membership->ridge = record.number("ridge", 0.0);
  return membership;
}

}  // namespace caucus
