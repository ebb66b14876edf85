#include "caucus/result/fitted_model.h"

#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"

namespace caucus {

void FittedModel::log_prob(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const {
  const std::size_t k = num_components();
  std::vector<double> joint(count * k);
  log_joint(data, first, count, joint);
  for (std::size_t i = 0; i < count; ++i) out[i] = log_sum_exp(std::span(joint).subspan(i * k, k));
}

std::vector<double> log_probs(const FittedModel& model, const Dataset& data, int threads) {
  std::vector<double> out(data.rankings.size());
  const Blocks blocks(out.size());
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    const std::size_t begin = blocks.begin(b), count = blocks.end(b) - begin;
    model.log_prob(data, begin, count, std::span(out).subspan(begin, count));
  });
  return out;
}

std::vector<double> memberships(const FittedModel& model, const Dataset& data, int threads) {
  const std::size_t k = model.num_components();
  std::vector<double> out(data.rankings.size() * k);
  const Blocks blocks(data.rankings.size());
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    const std::size_t begin = blocks.begin(b), count = blocks.end(b) - begin;
    const auto joint = std::span(out).subspan(begin * k, count * k);
    model.log_joint(data, begin, count, joint);
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = joint.subspan(i * k, k);
      const double total = log_sum_exp(row);
      for (double& value : row) value = std::exp(value - total);
    }
  });
  return out;
}

}  // namespace caucus
