#include "caucus/result/fitted_model.h"

#include <atomic>
#include <boost/math/special_functions/gamma.hpp>  // std::lgamma writes a global: no good on several threads
#include <chrono>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/result/voter_scores.h"

namespace caucus {

void FittedModel::log_prob(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const {
  const std::size_t k = num_components();
  std::vector<double> joint(count * k);
  log_joint(data, first, count, joint);
  for (std::size_t i = 0; i < count; ++i) out[i] = log_sum_exp(std::span(joint).subspan(i * k, k));
}

void FittedModel::log_components(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const {
  log_joint(data, first, count, out);
  const std::size_t k = num_components();
  std::vector<double> log_weights;
  for (const Group& group : groups()) log_weights.push_back(std::log(group.weight));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < k; ++c) {
      double& value = out[i * k + c];
      value = log_weights[c] > -infinity ? value - log_weights[c] : 0.0;
    }
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

std::optional<std::vector<double>> log_probs_unless(const std::function<bool()>& stop, const FittedModel& model,
                                                    const Dataset& data, int threads) {
  std::vector<double> out(data.rankings.size());
  const Blocks blocks(out.size());
  std::atomic<bool> stopped = false;
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    // Pieces that take a moment each, whatever a ranking costs: some models begin a piece with work of its own.
    std::size_t piece = 1;
    for (std::size_t begin = blocks.begin(b), end = begin; begin < blocks.end(b); begin = end) {
      if (stopped || stop()) {
        stopped = true;
        return;
      }
      const auto begun = std::chrono::steady_clock::now();
      end = std::min(begin + piece, blocks.end(b));
      model.log_prob(data, begin, end - begin, std::span(out).subspan(begin, end - begin));
      if (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(20)) piece *= 2;
    }
  });
  if (stopped) return std::nullopt;
  return out;
}

bool counts_voters(const FittedModel& model, const Dataset& data) {
  return data.voters.share() || (data.voters.given() && model.membership() != nullptr);
}

std::vector<double> voter_joint(const FittedModel& model, const Dataset& data, int threads) {
  const std::size_t k = model.num_components();
  const Voters& voters = data.voters;
  std::vector<double> of_ranking(data.rankings.size() * k), joint;
  const Blocks rankings(data.rankings.size());
  parallel_for(rankings.count(), threads, [&](std::size_t b) {
    const std::size_t begin = rankings.begin(b), count = rankings.end(b) - begin;
    model.log_components(data, begin, count, std::span(of_ranking).subspan(begin * k, count * k));
  });
  if (model.membership() != nullptr) {
    joint = model.membership()->log_weights_of_voters(data);
  } else {
    const std::vector<Group> groups = model.profile();
    joint.resize(voters.size() * k);
    for (std::size_t v = 0; v < voters.size(); ++v)
      for (std::size_t c = 0; c < k; ++c) joint[v * k + c] = std::log(groups[c].weight);
  }
  const Blocks blocks(voters.size());
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    for (std::size_t v = blocks.begin(b); v < blocks.end(b); ++v)
      for (std::size_t j = voters.rankings.begin[v]; j < voters.rankings.begin[v + 1]; ++j)
        for (std::size_t c = 0; c < k; ++c)
          joint[v * k + c] += voters.rankings.count(j) * of_ranking[voters.rankings.other[j] * k + c];
  });
  return joint;
}

std::vector<double> voter_log_probs(const FittedModel& model, const Dataset& data, int threads) {
  if (const auto* own = dynamic_cast<const VoterScores*>(&model)) return own->log_probs_of_voters(data, threads);
  const std::size_t k = model.num_components();
  const std::vector<double> joint = voter_joint(model, data, threads);
  std::vector<double> out(data.voters.size());
  for (std::size_t v = 0; v < out.size(); ++v) out[v] = log_sum_exp(std::span(joint).subspan(v * k, k));
  return out;
}

std::vector<double> voter_memberships(const FittedModel& model, const Dataset& data, int threads) {
  const std::size_t k = model.num_components();
  std::vector<double> joint = voter_joint(model, data, threads);
  for (std::size_t v = 0; v < data.voters.size(); ++v) {
    const auto row = std::span(joint).subspan(v * k, k);
    const double total = log_sum_exp(row);
    for (double& value : row) value = std::exp(value - total);
  }
  return joint;
}

namespace {

// The mean over those who cast a ranking, by their weight and how often they did.
std::vector<double> mean_of_casters(std::span<const double> of_voter, const Dataset& data, std::size_t k) {
  std::vector<double> result(data.rankings.size() * k, 0.0);
  const Incidence& casters = data.voters.casters;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    double total = 0.0;
    for (std::size_t j = casters.begin[i]; j < casters.begin[i + 1]; ++j) {
      const double weight = data.voters.weights[casters.other[j]] * casters.count(j);
      total += weight;
      for (std::size_t c = 0; c < k; ++c) result[i * k + c] += weight * of_voter[casters.other[j] * k + c];
    }
    for (std::size_t c = 0; c < k; ++c) result[i * k + c] /= total;
  }
  return result;
}

}  // namespace

std::vector<double> memberships(const FittedModel& model, const Dataset& data, int threads) {
  const std::size_t k = model.num_components();
  if (counts_voters(model, data)) return mean_of_casters(voter_memberships(model, data, threads), data, k);
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
  double total = 0.0;
  if (counts_voters(model, data)) {
    const std::vector<double> of_voter = voter_log_probs(model, data, threads);
    for (std::size_t v = 0; v < of_voter.size(); ++v) total += data.voters.weights[v] * of_voter[v];
    return total;
  }
  const std::vector<double> log_prob = log_probs(model, data, threads);
  for (std::size_t i = 0; i < log_prob.size(); ++i) total += data.rankings.weight(i) * log_prob[i];
  return total;
}

double membership_entropy(std::span<const double> memberships, std::span<const double> weights, std::size_t num_components) {
  double entropy = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < num_components; ++k)
      if (const double p = memberships[i * num_components + k]; p > 0.0) entropy -= weights[i] * p * std::log(p);
  return entropy;
}

double membership_entropy(const FittedModel& model, const Dataset& data, int threads) {
  if (counts_voters(model, data))
    return membership_entropy(voter_memberships(model, data, threads), data.voters.weights, model.num_components());
  return membership_entropy(memberships(model, data, threads), data.rankings.weights(), model.num_components());
}

}  // namespace caucus
