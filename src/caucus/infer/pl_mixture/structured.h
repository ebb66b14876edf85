// Utilities with structure: later choices that are noisier, and utilities that follow from what is known of the items.
//
// Dampening (Benter 1994; Gormley & Murphy 2008): at stage s an item is chosen in proportion to exp(alpha_s u_i) of what is left,
// alpha_1 = 1. Item covariates: u_k = Z beta_k, columns of Z centered over the items, and by choice a free part d_k with a ridge.
// Both are fitted from where the plain mixture ended, by limited-memory BFGS on the observed log-likelihood, which never falls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/run.h"
#include "caucus/model/covariate_design.h"
#include "caucus/result/record.h"

namespace caucus::pl_mixture {
enum class Dampening { off, on, by_group };
}  // namespace caucus::pl_mixture

namespace caucus {
template <>
inline constexpr std::array<std::string_view, 3> enum_names<pl_mixture::Dampening>{"off", "on", "by-group"};
}  // namespace caucus

namespace caucus::pl_mixture {

struct StructureOptions {
  Dampening dampening = Dampening::off;
  std::string items;
  std::string utilities;
  bool free_utilities = false;
  double free_ridge = 1.0;

  static constexpr auto fields() {
    using O = StructureOptions;
    return std::tuple{
        field("dampening", &O::dampening,
              "later choices may be noisier: an exponent for every stage, the same in all groups or of each"),
        field("items", &O::items, "table with one line per item: what is known of the items (with utilities)"),
        field("utilities", &O::utilities, "what makes an item preferred: columns of the items' table, as in \"price + origin\""),
        field("free-utilities", &O::free_utilities,
              "utilities: besides what is known of an item, a free part of each with a ridge"),
        field("free-ridge", &O::free_ridge, 1e-9, 1e9, "utilities: strength of that ridge")};
  }
  bool active() const { return dampening != Dampening::off || !utilities.empty() || !items.empty(); }
};

// log P of a ranking; exponents[s - 1] is that of stage s + 1, the last one stands for all later ones. No ties.
double dampened_log_prob(RankingView ranking, Unranked unranked, std::span<const double> utilities,
                         std::span<const double> exponents);
// A random order of all items.
std::vector<ItemId> dampened_sample(RandomStream& random, std::span<const double> utilities, std::span<const double> exponents);

// What is known of the items, in the order of the data's items. Throws DataError that names items without a line.
struct ItemDesign {
  CovariateDesign design;
  RowMatrix x;  // in the columns' own units
  std::vector<std::string> warnings;
};
ItemDesign read_item_design(const std::string& path, std::string_view formula, const std::vector<std::string>& items);

struct Structured {
  Parameters parameters;          // utilities as they follow
  std::vector<double> exponents;  // [g * stages + s], one list or one per group; empty: no dampening
  std::size_t num_stages = 0;     // of each list
  std::vector<double> exponent_errors;
  std::optional<ItemDesign> items;
  std::vector<double> coefficients;        // [k * q + j], in the columns' own units
  std::vector<double> coefficient_errors;  // NaN where there are none
  std::vector<double> utility_errors;      // [k * n + i] of utilities of mean zero; NaN where there are none
  double loglik = 0.0;
  std::int64_t num_parameters = 0;
  std::vector<std::string> warnings;

  std::span<const double> exponents_of(std::size_t group) const {
    if (exponents.empty()) return {};
    const std::size_t lists = exponents.size() / num_stages;
    return std::span(exponents).subspan(lists > 1 ? group * num_stages : 0, num_stages);
  }
};

// The objective as a function of all variables, for the fit and its tests.
class StructuredObjective {
 public:
  // `data` must have voters (make_rows_voters). x: centered columns of the items, or none.
  StructuredObjective(const Objective& objective, const StructureOptions& options, std::size_t num_stages, const RowMatrix& x);
  std::size_t size() const;
  // Objective and its gradient.
  double evaluate(const std::vector<double>& variables, std::vector<double>* gradient, double* loglik = nullptr) const;
  Parameters unpack(const std::vector<double>& variables, std::vector<double>* exponents = nullptr) const;
  std::vector<double> start(const Parameters& plain) const;
  std::size_t per_group() const { return per_group_; }
  std::size_t first_exponent() const;
  std::size_t num_lists() const { return lists_; }

 private:
  const Objective& objective_;
  StructureOptions options_;
  std::size_t n_, num_, q_, per_group_, stages_, lists_;
  RowMatrix x_;
};

Structured fit_structured(const Dataset& data, const Parameters& plain, double strength, const StructureOptions& options,
                          int iterations, double tolerance, bool standard_errors, const Run& run);

}  // namespace caucus::pl_mixture
