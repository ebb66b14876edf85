#include "caucus/result/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/data/dataset.h"
#include "caucus/model/decompositions.h"
#include "caucus/result/design_record.h"
#include "caucus/result/membership_draws.h"

namespace caucus {

std::optional<double> Membership::standard_error(std::size_t group, std::size_t column) const {
  if (group == 0 || covariance.empty()) return std::nullopt;
  const std::size_t size = (num_groups - 1) * num_columns(), at = (group - 1) * num_columns() + column;
  const double variance = covariance[at * size + at];
  return variance >= 0.0 && std::isfinite(variance) ? std::optional(std::sqrt(variance)) : std::nullopt;
}

std::vector<Membership> draw_coefficients(const Membership& membership, std::size_t count) {
  std::vector<Membership> result;
  if (membership.covariance.empty()) return result;
  const std::size_t p = membership.num_columns();
  const auto size = static_cast<Eigen::Index>((membership.num_groups - 1) * p);
  const Cholesky root(Eigen::Map<const RowMatrix>(membership.covariance.data(), size, size));
  if (!root.is_positive_definite()) return result;
  for (std::size_t d = 0; d < count; ++d) {
    RandomStream random(1, Purpose::bootstrap, d);
    Eigen::VectorXd normal(size);
    for (double& value : normal) value = random.normal();
    const Eigen::VectorXd shift = root.times_lower(normal);
    Membership& moved = result.emplace_back(membership);
    for (Eigen::Index i = 0; i < size; ++i) moved.coefficients[p + static_cast<std::size_t>(i)] += shift[i];
  }
  return result;
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
  if (!data.voters.names.empty() && data.voters.table.empty())
    for (const DesignTerm& term : design.terms())
      if (!term.arithmetic && std::ranges::find(columns, term.name, &Column::name) == columns.end())
        throw DataError(
            fmt::format("{}: the model asks for '{}' of each voter, which stands not beside the rankings; --voters FILE "
                        "names a table that has it, with a column '{}'",
                        data.source, term.name, data.voters.column));
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
  write_design(design, result);
  result.set("missing", name_of(design.missing()));
  const std::size_t p = num_columns();
  result.set("coefficients", rows_of(coefficients, p)).set("mean_weights", mean_weights);
  if (!covariance.empty()) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < coefficients.size(); ++i) errors.push_back(standard_error(i / p, i % p).value_or(std::nan("")));
    result.set("standard_errors", rows_of(errors, p)).set("covariance", rows_of(covariance, (num_groups - 1) * p));
  }
  const auto write = [&](const char* key, const std::vector<Test>& all) {
    std::vector<Record> told;
    for (const Test& test : all) {
      Record& one = told.emplace_back().set("term", test.term);
      if (!test.level.empty()) one.set("level", test.level);
      one.set("statistic", test.statistic).set("degrees", test.degrees).set("p_value", test.p_value);
    }
    if (!told.empty()) result.set(key, told);
  };
  write("tests", tests);
  write("level_tests", level_tests);
  if (ridge > 0.0) result.set("ridge", ridge);
  return result;
}

std::shared_ptr<const Membership> Membership::read(const RecordView& record, std::size_t num_groups) {
  auto membership = std::make_shared<Membership>();
  const auto missing = enum_from_name<MissingValues>(record.text("missing", "error"));
  if (!missing) record.fail("missing", "error, drop or mean");
  membership->design = CovariateDesign::from_parts(read_terms(record), true, *missing);
  membership->num_groups = num_groups;
  const std::size_t p = membership->num_columns(), size = (num_groups - 1) * p;
  membership->coefficients = flattened(record.matrix("coefficients", num_groups, p));
  membership->mean_weights = record.numbers("mean_weights", num_groups);
  if (record.has("covariance")) membership->covariance = flattened(record.matrix("covariance", size, size));
  const auto read = [&](const char* key) {
    std::vector<Test> all;
    for (const RecordView& one : record.objects(key))
      all.push_back({one.text("term"), one.number("statistic"), static_cast<int>(one.number("degrees")), one.number("p_value"),
                     one.text("level", "")});
    return all;
  };
  membership->tests = read("tests");
  membership->level_tests = read("level_tests");
  membership->ridge = record.number("ridge", 0.0);
  return membership;
}

}  // namespace caucus
