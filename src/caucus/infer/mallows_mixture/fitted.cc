#include "caucus/infer/mallows_mixture/fitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/base/word_stream.h"
#include "caucus/infer/family.h"

namespace caucus::mallows_mixture {

namespace {

// Draws in blocks of rows, a stream per block: the same rows for any number of threads. In waves, whose orders stay in the cache
// until they are counted.
template <class Stream, class Draw>
Sample draw_rows(const std::vector<std::string>& items, std::span<const double> weight, const SampleRequest& request, Draw&& draw) {
  constexpr std::size_t block = 512, wave = 16 * block;
  static_assert(SampleRequest::block % block == 0);
  const std::size_t n = items.size(), length = request.length == 0 ? n : std::min(request.length, n);
  Sample sample;
  sample.labels.resize(request.count);
  std::vector<ItemId> drawn(std::min(request.count, wave) * length);
  RankingSetBuilder builder;
  builder.expect_rows(request.count);
  for (std::size_t begin = 0; begin < request.count; begin += wave) {
    const std::size_t end = std::min(begin + wave, request.count);
    parallel_for((end - begin + block - 1) / block, request.threads, [&](std::size_t b) {
      const std::size_t first = begin + b * block;
      Stream stream(request.seed, Purpose::sample, (request.first + first) / block);
      for (std::size_t row = first; row < std::min(end, first + block); ++row) {
        const std::size_t k = weight.size() == 1 ? 0 : stream.categorical(weight);
        sample.labels[row] = static_cast<int>(k);
        draw(k, stream, std::span(drawn).subspan((row - begin) * length, length));
      }
    });
    for (std::size_t i = 0; i < end - begin; ++i) builder.append(std::span<const ItemId>(drawn).subspan(i * length, length));
  }
  sample.data.items = items;
  sample.data.rankings = builder.build();
  sample.data.source = "sample";
  return sample;
}

std::vector<Group> groups_of(const Parameters& parameters, bool by_stage) {
  std::vector<Group> result(parameters.weight.size());
  for (std::size_t k = 0; k < result.size(); ++k) {
    result[k].weight = parameters.weight[k];
    result[k].order = parameters.center[k];
    result[k].order_is_parameter = true;
    result[k].theta = parameters.theta[k];
    result[k].theta_by_stage = by_stage;
  }
  return result;
}

double log_or_minus_infinity(double weight) { return weight > 0.0 ? std::log(weight) : -infinity; }

}  // namespace

MallowsMixture::MallowsMixture(std::vector<std::string> items, Unranked unranked, Parameters parameters, Distance distance,
                               const DistanceNormalizer* normalizer)
    : FittedModel(std::move(items), unranked), parameters_(std::move(parameters)), distance_(distance) {
  for (std::size_t k = 0; k < num_components(); ++k) {
    if (distance == Distance::kendall) {
      models_.emplace_back(parameters_.center[k], parameters_.theta[k][0]);
      subsets_.emplace_back(parameters_.theta[k][0], this->items().size());
      subsets_.back().prepare(2);
      completions_.emplace_back(parameters_.center[k], parameters_.theta[k][0]);
    }
    position_.push_back(inverse_order(parameters_.center[k]));
  }
  if (distance != Distance::kendall) {
    double largest = 0.0;
    for (const auto& theta : parameters_.theta) largest = std::max(largest, theta[0]);
    normalizer_ = normalizer != nullptr ? std::make_unique<DistanceNormalizer>(normalizer->up_to(largest))
                                        : std::make_unique<DistanceNormalizer>(distance, this->items().size(), largest);
  }
}

void MallowsMixture::check(const Dataset& data) const {
  Accepts accepts{true, true, true, true, true};
  if (distance_ != Distance::kendall) accepts = {true, false, false, false, true};
  require_accepted(accepts, data,
                   distance_ == Distance::kendall ? "a Mallows model"
                                                  : fmt::format("a Mallows model under the {} distance", name_of(distance_)));
}

void MallowsMixture::log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const {
  const std::size_t num = num_components(), n = items().size();
  const bool absent = data.unranked == Unranked::absent;
  std::vector<std::uint32_t> rank(n);
  std::vector<double> log_weight(num), log_z(num);
  for (std::size_t k = 0; k < num; ++k) {
    log_weight[k] = log_or_minus_infinity(parameters_.weight[k]);
    if (normalizer_) log_z[k] = normalizer_->log_z(parameters_.theta[k][0]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const RankingView ranking = data.rankings[first + i];
    if (normalizer_) {
      // The one item a ballot may leave out is last.
      std::fill(rank.begin(), rank.end(), static_cast<std::uint32_t>(n - 1));
      for (std::size_t j = 0; j < ranking.size(); ++j) rank[ranking[j]] = static_cast<std::uint32_t>(j);
    }
    for (std::size_t k = 0; k < num; ++k) {
      double value;
      if (normalizer_) {
        value = -parameters_.theta[k][0] * static_cast<double>(rank_distance(distance_, rank, position_[k])) - log_z[k];
      } else if (absent && ranking.size() < n) {
        value = subset_probability(data, first + i, k).log_prob;
      } else {
        value = models_[k].log_prob(ranking);
      }
      joint[i * num + k] = log_weight[k] + value;
    }
  }
}

double MallowsMixture::loglik_error(const Dataset& data, int threads) const {
  if (data.unranked != Unranked::absent || normalizer_) return 0.0;
  const std::size_t num = num_components();
  const double variance = parallel_fold(
      Blocks(data.rankings.size(), 8), threads, [] { return 0.0; },
      [&](double& part, std::size_t begin, std::size_t end) {
        std::vector<double> joint(num), error(num);
        for (std::size_t i = begin; i < end; ++i) {
          if (data.rankings.length(i) == items().size()) continue;
          for (std::size_t k = 0; k < num; ++k) {
            const SubsetEstimate found = subset_probability(data, i, k);
            joint[k] = log_or_minus_infinity(parameters_.weight[k]) + found.log_prob;
            error[k] = found.standard_error;
          }
          const double total = log_sum_exp(joint);
          for (std::size_t k = 0; k < num; ++k)
            part += std::pow(data.rankings.weight(i) * std::exp(joint[k] - total) * error[k], 2);
        }
      },
      [](double& total, double part) { total += part; });
  return std::sqrt(variance);
}

Sample MallowsMixture::sample(const SampleRequest& request) const {
  if (distance_ == Distance::kendall) {
    std::vector<MallowsSampler> samplers;
    for (std::size_t k = 0; k < num_components(); ++k) samplers.emplace_back(parameters_.center[k], parameters_.theta[k][0]);
    return draw_rows<WordStream>(items(), parameters_.weight, request,
                                 [&](std::size_t k, WordStream& stream, std::span<ItemId> out) { samplers[k].draw(stream, out); });
  }
  return draw_rows<RandomStream>(items(), parameters_.weight, request,
                                 [&](std::size_t k, RandomStream& stream, std::span<ItemId> out) {
                                   draw_distance_model(distance_, parameters_.center[k], parameters_.theta[k][0], stream, out);
                                 });
}

std::vector<Group> MallowsMixture::groups() const { return groups_of(parameters_, false); }

GroupLaw MallowsMixture::law(std::size_t group) const {
  return distance_ == Distance::kendall ? mallows_law(models_[group]) : GroupLaw{};
}

void MallowsMixture::write(Record& model, std::span<Record>) const {
  if (distance_ != Distance::kendall) model.set("distance", name_of(distance_));
}

GeneralizedMallowsMixture::GeneralizedMallowsMixture(std::vector<std::string> items, Unranked unranked, Parameters parameters,
                                                     Code code)
    : FittedModel(std::move(items), unranked), parameters_(std::move(parameters)), code_(code) {
  for (std::size_t k = 0; k < num_components(); ++k) models_.emplace_back(parameters_.center[k], parameters_.theta[k], code);
}

void GeneralizedMallowsMixture::check(const Dataset& data) const {
  require_accepted({true, code_ == Code::s, false, false, true}, data,
                   fmt::format("the generalized Mallows model in code {}", name_of(code_)));
}

void GeneralizedMallowsMixture::log_joint(const Dataset& data, std::size_t first, std::size_t count,
                                          std::span<double> joint) const {
  const std::size_t num = num_components();
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < num; ++k)
      joint[i * num + k] = log_or_minus_infinity(parameters_.weight[k]) + models_[k].log_prob(data.rankings[first + i].items());
}

Sample GeneralizedMallowsMixture::sample(const SampleRequest& request) const {
  std::vector<GeneralizedMallowsSampler> samplers;
  for (std::size_t k = 0; k < num_components(); ++k) samplers.emplace_back(parameters_.center[k], parameters_.theta[k], code_);
  return draw_rows<RandomStream>(
      items(), parameters_.weight, request,
      [&](std::size_t k, RandomStream& stream, std::span<ItemId> out) { samplers[k].draw(stream, out); });
}

std::vector<Group> GeneralizedMallowsMixture::groups() const { return groups_of(parameters_, true); }

GroupLaw GeneralizedMallowsMixture::law(std::size_t group) const {
  return generalized_mallows_law(parameters_.center[group], parameters_.theta[group], code_);
}

void GeneralizedMallowsMixture::write(Record& model, std::span<Record> components) const {
  model.set("code", name_of(code_));
  for (Record& component : components) component.set("code", name_of(code_));
}

}  // namespace caucus::mallows_mixture
