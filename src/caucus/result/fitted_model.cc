#include "caucus/result/fitted_model.h"

#include <boost/math/special_functions/gamma.hpp>  // std::lgamma writes a global: no good on several threads
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

std::vector<Group> FittedModel::profile() const {
  std::vector<Group> result = groups();
  for (std::size_t k = 0; k < result.size(); ++k) {
    Group& group = result[k];
    if (k < errors_.size()) group.errors = errors_[k];
    if (group.order.empty() && !group.utilities.empty()) group.order = order_by(group.utilities);
    // A consensus ranking is one of n!.
    if (group.order_is_parameter) group.log_discrete_values = boost::math::lgamma(static_cast<double>(items_.size()) + 1.0);
  }
  return result;
}

GroupLaw FittedModel::law(std::size_t) const { return {}; }

void FittedModel::write(Record&, std::span<Record>) const {}

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

double log_likelihood(const FittedModel& model, const Dataset& data, int threads) {
  const std::vector<double> log_prob = log_probs(model, data, threads);
  double total = 0.0;
  for (std::size_t i = 0; i < log_prob.size(); ++i) total += data.rankings.weight(i) * log_prob[i];
  return total;
}

double membership_entropy(std::span<const double> memberships, const RankingSet& rankings, std::size_t num_components) {
  double entropy = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i)
    for (std::size_t k = 0; k < num_components; ++k)
      if (const double p = memberships[i * num_components + k]; p > 0.0) entropy -= rankings.weight(i) * p * std::log(p);
  return entropy;
}

double membership_entropy(const FittedModel& model, const Dataset& data, int threads) {
  return membership_entropy(memberships(model, data, threads), data.rankings, model.num_components());
}

}  // namespace caucus
