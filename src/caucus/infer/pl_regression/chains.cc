#include "caucus/infer/pl_regression/chains.h"

namespace caucus::pl_regression {

std::vector<double> Posterior::mean() const {
  std::vector<double> result(num_coefficients, 0.0);
  double count = 0.0;
  for (const ChainDraws& draws : chains) {
    count += static_cast<double>(draws.num_summed);
    for (std::size_t j = 0; j < num_coefficients; ++j) result[j] += draws.sum[j];
  }
  for (double& value : result) value /= std::max(count, 1.0);
  return result;
}

double Posterior::hyper_mean() const {
  double sum = 0.0, count = 0.0;
  for (const ChainDraws& draws : chains) sum += draws.hyper_sum, count += static_cast<double>(draws.num_summed);
  return sum / std::max(count, 1.0);
}

std::vector<double> Posterior::median() const {
  std::vector<double> result(num_coefficients, 0.0);
  std::vector<float> values;
  for (std::size_t j = 0; j < num_coefficients; ++j) {
    values.clear();
    for (std::size_t c = 0; c < chains.size(); ++c)
      for (std::size_t d = 0; d < num_draws(c); ++d) values.push_back(draw(c, d)[j]);
    if (values.empty()) continue;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    result[j] = static_cast<double>(*middle);
    if (values.size() % 2 == 0) result[j] = 0.5 * (result[j] + static_cast<double>(*std::max_element(values.begin(), middle)));
  }
  return result;
}

std::optional<Checkpoint> checkpoint_of(const Checkpointing& checkpoints, const ChainPlan& plan, std::size_t num_chains) {
  if (checkpoints.path.empty()) return std::nullopt;
  return Checkpoint(checkpoints.path, "regression",
                    fmt::format("{}; burnin {}; thin {}; chains {}", checkpoints.key, plan.burnin, plan.thin, num_chains));
}

}  // namespace caucus::pl_regression
