// Utilities with structure: later choices that are noisier (dampening.h), and utilities that follow from what is known of the
// items, u_k = Z beta_k and by choice a free part d_k with a ridge. The objective as a function of all variables at once; the
// weights of the groups may depend on the voter (membership_logit.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/infer/pl_mixture/dampening.h"
#include "caucus/infer/pl_mixture/item_design.h"
#include "caucus/infer/pl_mixture/objective.h"

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

// What the options ask of the data, read and checked before anything is fitted.
struct Structure {
  StructureOptions options;
  std::size_t num_stages = 0;       // of each list of exponents; 0: no dampening
  std::optional<ItemDesign> items;  // what is known of them, in the columns' own units
  RowMatrix x;                      // the same centered and scaled; no columns where nothing is known
  std::vector<double> scale;        // of the columns of x
};
// Throws UsageError, DataError.
Structure make_structure(const Dataset& data, const StructureOptions& options);

// Variables: per group utilities, or coefficients of the scaled columns and free parts; those of the weights (logits, or the
// coefficients of what is known of a voter); logs of tie strengths; logs of exponents.
class StructuredObjective {
 public:
  // The data of the objective have voters (make_rows_voters). Both must outlive it.
  StructuredObjective(const Objective& objective, const Structure& structure);

  std::size_t size() const { return first_exponent() + lists_ * stages_; }
  // Objective and its gradient. O(t^2) per ballot and group with exponents, since sums differ by stage.
  double evaluate(const std::vector<double>& variables, std::vector<double>* gradient, double* loglik = nullptr) const;
  std::vector<double> voter_memberships(const std::vector<double>& variables) const;
  // Weights are the mean over the voters where they depend on them.
  Parameters unpack(const std::vector<double>& variables, std::vector<double>* exponents = nullptr) const;
  std::vector<double> start(const Parameters& plain) const;
  // The variables of another objective of the same structure: tie strengths by their order, and coefficients of voters in its own
  // columns.
  std::vector<double> start(const StructuredObjective& other, const std::vector<double>& variables,
                            const std::vector<double>& weight_variables) const;
  // After the groups changed places: new group k was order[k].
  std::vector<double> permuted(const std::vector<double>& variables, std::span<const std::size_t> order) const;

  const Objective& objective() const { return objective_; }
  std::size_t per_group() const { return per_group_; }
  std::size_t first_weight() const { return num_ * per_group_; }
  std::size_t first_tie() const { return first_weight() + objective_.num_weight_variables(); }
  std::size_t first_exponent() const { return first_tie() + objective_.tie_orders().size(); }
  std::size_t num_lists() const { return lists_; }
  std::size_t num_parameters() const;

 private:
  struct Sums;
  std::span<const double> list_of(const std::vector<double>& exponents, std::size_t group) const;
  std::vector<double> ranking_logs(const Parameters& p, const std::vector<double>& exponents) const;
  Objective::VoterStep voter_step(const Parameters& p, const std::vector<double>& exponents) const;
  double penalty(const std::vector<double>& variables, const Parameters& p) const;
  // Wins, what is expected of them, and derivatives by the exponents.
  Sums sums_of(const Parameters& p, const std::vector<double>& exponents, std::span<const double> memberships) const;

  const Objective& objective_;
  const Structure& structure_;
  std::size_t n_, num_, q_, per_group_, stages_, lists_;
};

}  // namespace caucus::pl_mixture
