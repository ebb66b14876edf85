#include "caucus/model/mallows_completion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/model/kendall.h"
#include "caucus/model/mallows.h"
#include "caucus/model/stage.h"

namespace caucus {

namespace {
constexpr double exact_states = 200'000.0;
}

// All in central ranks: the centre is 0, 1, 2, ...
struct CompletionSampler::Plan {
  std::vector<std::vector<ItemId>> groups;  // of the ballot, ascending inside
  std::vector<ItemId> unlisted;             // in the order of insertion
  std::size_t listed = 0;
  double log_base = 0.0;  // log of q^(strict pairs against the centre) prod_g [|A_g|]! / [items taken in]!
  double distance = 0.0;  // the strict pairs
};

struct CompletionSampler::Batch {
  std::vector<std::vector<ItemId>> row;
  std::vector<double> log_weight, distance;
  double log_mean = 0.0;  // log of the estimate of P over the base

  void resample(RandomStream& stream) {
    const std::size_t size = row.size();
    double largest = -infinity, total = 0.0, squares = 0.0;
    for (double value : log_weight) largest = std::max(largest, value);
    std::vector<double> weight(size);
    for (std::size_t c = 0; c < size; ++c) total += weight[c] = std::exp(log_weight[c] - largest), squares += weight[c] * weight[c];
    if (total * total >= 0.5 * static_cast<double>(size) * squares) return;
    // Systematic resampling.
    std::vector<std::vector<ItemId>> rows;
    std::vector<double> distances;
    const double stride = total / static_cast<double>(size);
    double at = stream.uniform() * stride, seen = 0.0;
    for (std::size_t c = 0; c < size; ++c) {
      seen += weight[c];
      for (; at < seen && rows.size() < size; at += stride) rows.push_back(row[c]), distances.push_back(distance[c]);
    }
    while (rows.size() < size) rows.push_back(rows.back()), distances.push_back(distances.back());  // rounding
    row = std::move(rows);
    distance = std::move(distances);
    std::fill(log_weight.begin(), log_weight.end(), largest + std::log(stride));
  }
};

CompletionSampler::CompletionSampler(std::span<const ItemId> centre, double theta)
    : centre_(centre.begin(), centre.end()),
      position_(inverse_order(centre)),
      theta_(theta),
      power_(2 * centre.size() + 1),
      log_q_factorials_(log_q_factorials(theta, centre.size())) {
  for (std::size_t m = 0; m < power_.size(); ++m) power_[m] = std::exp(-theta * static_cast<double>(m));
}

CompletionSampler::Plan CompletionSampler::plan(RankingView ballot, bool whole) const {
  const std::size_t n = centre_.size();
  Plan plan;
  std::vector<std::uint8_t> listed(n, 0);
  std::vector<ItemId> above;  // of the groups passed, ascending
  ballot.for_each_group([&](std::span<const ItemId> items) {
    std::vector<ItemId> group;
    for (ItemId item : items) listed[position_[item]] = 1, group.push_back(position_[item]);
    std::sort(group.begin(), group.end());
    for (ItemId rank : group)
      plan.distance += static_cast<double>(above.end() - std::upper_bound(above.begin(), above.end(), rank));
    for (ItemId rank : group) above.insert(std::upper_bound(above.begin(), above.end(), rank), rank);
    plan.log_base += log_q_factorials_[group.size()];
    plan.groups.push_back(std::move(group));
  });
  plan.listed = above.size();
  const ItemId first = above.front(), last = above.back();
  for (ItemId rank = first; rank <= last; ++rank)
    if (!listed[rank]) plan.unlisted.push_back(rank);
  // Where many are listed, those that come in are better mixed than in central order.
  if (3 * plan.listed >= n) {
    RandomStream mixed(n, Purpose::permute, plan.listed);
    mixed.shuffle(std::span<ItemId>(plan.unlisted));
  }
  if (whole) {
    for (std::size_t rank = last + std::size_t{1}; rank < n; ++rank) plan.unlisted.push_back(static_cast<ItemId>(rank));
    for (ItemId rank = first; rank-- > 0;) plan.unlisted.push_back(rank);
  }
  plan.log_base -= theta_ * plan.distance + log_q_factorials_[plan.listed + plan.unlisted.size()];
  return plan;
}

CompletionSampler::Batch CompletionSampler::run(const Plan& plan, std::size_t size, RandomStream& stream) const {
  Batch batch{std::vector<std::vector<ItemId>>(size), std::vector<double>(size, 0.0), std::vector<double>(size, plan.distance),
              0.0};
  for (std::size_t c = 0; c < size; ++c) {
    batch.row[c].reserve(centre_.size());
    for (const std::vector<ItemId>& group : plan.groups) {
      std::vector<ItemId> drawn = group;
      if (group.size() > 1) {
        draw_mallows(group, theta_, stream, drawn);
        for (std::size_t j = 1; j < drawn.size(); ++j)
          batch.distance[c] += static_cast<double>(std::count_if(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(j),
                                                                 [&](ItemId above) { return above > drawn[j]; }));
      }
      batch.row[c].insert(batch.row[c].end(), drawn.begin(), drawn.end());
    }
  }
  std::vector<double> running(centre_.size() + 1);
  std::vector<std::int32_t> cost(centre_.size() + 1);
  for (const ItemId rank : plan.unlisted) {
    for (std::size_t c = 0; c < size; ++c) {
      std::vector<ItemId>& row = batch.row[c];
      // cost[j], relative to the top place: below the first j items; those the centre puts before the newcomer agree there.
      std::int32_t top = 0, now = 0, least = 0;
      cost[0] = 0;
      for (std::size_t j = 0; j < row.size(); ++j) {
        const std::int32_t before = row[j] < rank;
        top += before;
        now += 1 - 2 * before;
        least = std::min(least, now);
        cost[j + 1] = now;
      }
      double total = 0.0;
      for (std::size_t j = 0; j <= row.size(); ++j) running[j] = total += power_[static_cast<std::size_t>(cost[j] - least)];
      batch.log_weight[c] += std::log(total) - theta_ * static_cast<double>(top + least);
      const auto places = running.begin() + static_cast<std::ptrdiff_t>(row.size());
      const auto place = std::upper_bound(running.begin(), places, stream.uniform() * total) - running.begin();
      batch.distance[c] += static_cast<double>(top + cost[static_cast<std::size_t>(place)]);
      row.insert(row.begin() + place, rank);
    }
    batch.resample(stream);
  }
  batch.log_mean = log_sum_exp(batch.log_weight) - std::log(static_cast<double>(size));
  return batch;
}

namespace {

// The mean of the batches, and the standard error of its logarithm.
SubsetEstimate combine(std::span<const double> log_means, double log_base) {
  const double count = static_cast<double>(log_means.size()), log_mean = log_sum_exp(log_means) - std::log(count);
  double spread = 0.0;
  for (double value : log_means) spread += std::pow(std::exp(value - log_mean) - 1.0, 2);
  return {log_base + log_mean, std::sqrt(spread / (count * (count - 1.0)))};
}

}  // namespace

Completions CompletionSampler::draw(RankingView ballot, std::size_t count, RandomStream& stream) const {
  const std::size_t size = (count + num_batches - 1) / num_batches;
  const Plan steps = plan(ballot, true);
  Completions result;
  std::array<double, num_batches> log_means, batch_distance{};
  std::vector<double> log_weight, distance;
  for (std::size_t b = 0; b < num_batches; ++b) {
    const Batch batch = run(steps, size, stream);
    log_means[b] = batch.log_mean;
    for (std::size_t c = 0; c < size; ++c) {
      batch_distance[b] += std::exp(batch.log_weight[c] - batch.log_mean) / static_cast<double>(size) * batch.distance[c];
      log_weight.push_back(batch.log_weight[c]);
      distance.push_back(batch.distance[c]);
      for (ItemId rank : batch.row[c]) result.order.push_back(centre_[rank]);
    }
  }
  result.probability = combine(log_means, steps.log_base);
  const double log_total = log_sum_exp(log_weight), log_batches = log_sum_exp(log_means);
  for (std::size_t c = 0; c < log_weight.size(); ++c) {
    result.share.push_back(std::exp(log_weight[c] - log_total));
    result.distance += result.share[c] * distance[c];
  }
  for (std::size_t c = 0; c < distance.size(); ++c)
    result.distance_variance += result.share[c] * std::pow(distance[c] - result.distance, 2);
  double spread = 0.0;
  for (std::size_t b = 0; b < num_batches; ++b)
    spread += std::pow(std::exp(log_means[b] - log_batches) * (batch_distance[b] - result.distance), 2);
  result.distance_error = std::sqrt(spread * num_batches / (num_batches - 1.0));
  return result;
}

SubsetEstimate CompletionSampler::probability(RankingView ballot, const SubsetProbabilities& exact, std::size_t count,
                                              RandomStream& stream) const {
  const ListedItems listed(ballot, position_);
  if (subset_states(listed) <= exact_states) return {exact(listed).value, 0.0};
  const std::size_t size = (count + num_batches - 1) / num_batches;
  const Plan steps = plan(ballot, false);
  std::array<double, num_batches> log_means;
  for (double& value : log_means) value = run(steps, size, stream).log_mean;
  const SubsetEstimate found = combine(log_means, steps.log_base);
  return {std::min(0.0, found.log_prob), found.standard_error};
}

SubsetEstimate scored_probability(RankingView ballot, const CompletionSampler& sampler, const SubsetProbabilities& exact,
                                  std::uint64_t index) {
  RandomStream stream(1, Purpose::augment, index);
  return sampler.probability(ballot, exact, 2000, stream);
}

}  // namespace caucus
