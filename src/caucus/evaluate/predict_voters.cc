#include "caucus/evaluate/predict_voters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/random.h"
#include "caucus/result/membership_draws.h"

namespace caucus {

namespace {

constexpr std::size_t num_draws = 400;

Predicted summarised(double value, std::vector<double>& draws) {
  if (draws.empty()) return {value, value, value};
  std::ranges::sort(draws);
  const auto point = [&](double q) {
    return draws[static_cast<std::size_t>(std::lround(q * static_cast<double>(draws.size() - 1)))];
  };
  return {value, std::min(value, point(0.025)), std::max(value, point(0.975))};
}

}  // namespace

std::vector<VoterPrediction> predict_voters(const FittedModel& model, const std::vector<Column>& columns, const std::string& source,
                                            std::vector<std::string>& warnings) {
  const Membership& membership = *model.membership();
  const std::vector<Group> groups = model.profile();
  const std::size_t k = membership.num_groups, p = membership.num_columns(), n = groups[0].utilities.size();
  const CovariateDesign::Encoded encoded =
      membership.design.encode(columns, [&](std::size_t row) { return fmt::format("{}: row {}", source, row + 1); });
  warnings.insert(warnings.end(), encoded.warnings.begin(), encoded.warnings.end());

  const std::vector<Membership> drawn = draw_coefficients(membership, num_draws);
  std::vector<std::vector<double>> drawn_utilities;  // [draw][group * n + item]
  for (std::size_t d = 0; d < drawn.size(); ++d) {
    RandomStream random(1, Purpose::bootstrap, num_draws + d);
    std::vector<double>& utilities = drawn_utilities.emplace_back();
    for (const Group& group : groups)
      for (std::size_t i = 0; i < n; ++i) {
        const bool known = i < group.errors.utility_errors.size() && group.errors.utility_errors[i].has_value();
        utilities.push_back(group.utilities[i] + (known ? *group.errors.utility_errors[i] * random.normal() : 0.0));
      }
  }

  std::vector<VoterPrediction> predictions;
  std::vector<double> logs(k);
  for (std::size_t row = 0; row < encoded.complete.size(); ++row) {
    const std::span<const double> x(encoded.x.data() + row * p, p);
    const auto shares = [&](const Membership& at) {
      std::vector<double> result(k);
      if (encoded.complete[row] == 0) return at.mean_weights;
      at.log_weights(x, logs);
      for (std::size_t c = 0; c < k; ++c) result[c] = std::exp(logs[c]);
      return result;
    };
    const auto utility = [&](std::span<const double> share, std::size_t item, const std::vector<double>* values) {
      double mean = 0.0;
      for (std::size_t c = 0; c < k; ++c)
        mean += share[c] * (values != nullptr ? (*values)[c * n + item] : groups[c].utilities[item]);
      return mean;
    };
    VoterPrediction one;
    const std::vector<double> best = shares(membership);
    std::vector<std::vector<double>> all;
    for (const Membership& draw : drawn) all.push_back(shares(draw));
    for (std::size_t c = 0; c < k; ++c) {
      std::vector<double> values;
      for (const auto& share : all) values.push_back(share[c]);
      one.groups.push_back(summarised(best[c], values));
    }
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> values;
      for (std::size_t d = 0; d < all.size(); ++d) values.push_back(utility(all[d], i, &drawn_utilities[d]));
      one.utilities.push_back(summarised(utility(best, i, nullptr), values));
    }
    predictions.push_back(std::move(one));
  }
  return predictions;
}

}  // namespace caucus
