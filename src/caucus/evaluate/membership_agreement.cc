#include "caucus/evaluate/membership_agreement.h"

#include <algorithm>

#include "caucus/model/assignment.h"
#include "caucus/model/clustering.h"

namespace caucus {

MembershipAgreement membership_agreement(std::span<const double> memberships, std::size_t num_groups,
                                         std::span<const std::uint32_t> labels) {
  MembershipAgreement result;
  if (labels.empty()) return result;
  const std::size_t num_rows = labels.size(), num_known = std::size_t{*std::ranges::max_element(labels)} + 1;
  const std::size_t size = std::max(num_groups, num_known);
  std::vector<std::uint32_t> found(num_rows);
  std::vector<double> cost(size * size, 0.0);  // minus the number of rows both have in common
  for (std::size_t i = 0; i < num_rows; ++i) {
    found[i] = most_probable(memberships.subspan(i * num_groups, num_groups));
    cost[labels[i] * size + found[i]] -= 1.0;
  }
  result.variation_of_information = variation_of_information(found, labels);
  result.adjusted_rand = adjusted_rand_index(found, labels);
  const std::vector<std::size_t> partner = solve_assignment(cost, size);
  result.group_of.assign(partner.begin(), partner.begin() + static_cast<std::ptrdiff_t>(num_known));

  // The same memberships in the order of the known groups; groups without a partner have none.
  std::vector<double> matched(num_rows * size, 0.0);
  for (std::size_t i = 0; i < num_rows; ++i)
    for (std::size_t k = 0; k < size; ++k)
      if (partner[k] < num_groups) matched[i * size + k] = memberships[i * num_groups + partner[k]];
  result.misclassification = misclassification(matched, size, labels);
  result.calibration = calibration_curve(matched, size, labels);
  result.calibration_error = calibration_error(result.calibration);
  return result;
}

}  // namespace caucus
