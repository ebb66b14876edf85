#include "caucus/model/mallows_completion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "caucus/base/clones.h"
#include "caucus/base/numeric.h"
#include "caucus/model/kendall.h"
#include "caucus/model/mallows.h"
#include "caucus/model/stage.h"

namespace caucus {

namespace {
constexpr double exact_states = 200'000.0;
}

// All in central ranks: the center is 0, 1, 2, ...
struct CompletionSampler::Plan {
  std::vector<std::vector<ItemId>> groups;  // of the ballot, ascending inside
  std::vector<ItemId> unlisted;             // in the order of insertion
  std::size_t listed = 0;
  double log_base = 0.0;  // log of q^(strict pairs against the center) prod_g [|A_g|]! / [items taken in]!
  double distance = 0.0;  // the strict pairs
};

// Particles side by side, so that loops over them are wide: row[j * size + c] is the j-th item of particle c.
struct CompletionSampler::Batch {
  std::size_t size, length = 0;
  std::vector<std::int32_t> row;
  std::vector<double> log_weight, distance;
  double log_mean = 0.0;  // log of the estimate of P over the base

  // For the newcomer: disagreements above all, at the best place relative to that, and at the place chosen; the place; sums over
  // places.
  std::vector<std::int32_t> top, now, least, chosen, place;
  std::vector<double> running, target;

  Batch(std::size_t num_particles, std::size_t num_items, double start)
      : size(num_particles),
        row(num_particles * num_items),
        log_weight(num_particles, 0.0),
        distance(num_particles, start),
        top(num_particles),
        now(num_particles),
        least(num_particles),
        chosen(num_particles),
        place(num_particles),
        running(num_particles * (num_items + 1)),
        target(num_particles) {}

  void insert(std::int32_t rank, double theta, const double* power, RandomStream& stream);
  void resample(RandomStream& stream);
};

namespace {

// Below the first j items, those that the center puts before the newcomer agree with it: one disagreement fewer each, else one
// more.
CAUCUS_CLONES void count_disagreements(const std::int32_t* row, std::size_t length, std::size_t size, std::int32_t rank,
                                       std::int32_t* top, std::int32_t* now, std::int32_t* least) {
  for (std::size_t c = 0; c < size; ++c) top[c] = now[c] = least[c] = 0;
  for (std::size_t j = 0; j < length; ++j, row += size)
    for (std::size_t c = 0; c < size; ++c) {
      const std::int32_t before = row[c] < rank ? 1 : 0;
      top[c] += before;
      now[c] += 1 - 2 * before;
      least[c] = now[c] < least[c] ? now[c] : least[c];
    }
}

// running[j * size + c] = sum over places up to j of q^(disagreements - least).
CAUCUS_CLONES void sum_places(const std::int32_t* row, std::size_t length, std::size_t size, std::int32_t rank, const double* power,
                              const std::int32_t* least, std::int32_t* now, double* running) {
  for (std::size_t c = 0; c < size; ++c) now[c] = -least[c], running[c] = power[now[c]];
  for (std::size_t j = 0; j < length; ++j, row += size, running += size)
    for (std::size_t c = 0; c < size; ++c) {
      now[c] += row[c] < rank ? -1 : 1;
      running[size + c] = running[c] + power[now[c]];
    }
}

// The same by products, which are faster than a table and good while no power on the way underflows.
CAUCUS_CLONES void multiply_places(const std::int32_t* row, std::size_t length, std::size_t size, std::int32_t rank, double q,
                                   double* power, double* running) {
  const double inverse = 1.0 / q;
  for (std::size_t c = 0; c < size; ++c) running[c] = power[c];
  for (std::size_t j = 0; j < length; ++j, row += size, running += size)
    for (std::size_t c = 0; c < size; ++c) {
      power[c] *= row[c] < rank ? inverse : q;
      running[size + c] = running[c] + power[c];
    }
}

// The first place whose running sum exceeds the target, and the disagreements there relative to the top.
CAUCUS_CLONES void choose_places(const std::int32_t* row, std::size_t length, std::size_t size, std::int32_t rank,
                                 const double* running, const double* target, std::int32_t* place, std::int32_t* chosen) {
  for (std::size_t c = 0; c < size; ++c) place[c] = chosen[c] = 0;
  for (std::size_t j = 0; j < length; ++j, row += size, running += size)
    for (std::size_t c = 0; c < size; ++c) {
      const std::int32_t passed = running[c] <= target[c] ? 1 : 0;
      place[c] += passed;
      chosen[c] += passed * (row[c] < rank ? -1 : 1);
    }
}

CAUCUS_CLONES void insert_at(std::int32_t* row, std::size_t length, std::size_t size, std::int32_t rank,
                             const std::int32_t* place) {
  for (std::size_t j = length; j > 0; --j) {
    std::int32_t* const to = row + j * size;
    const std::int32_t at = static_cast<std::int32_t>(j);
    for (std::size_t c = 0; c < size; ++c) {
      const std::int32_t from_above = to[static_cast<std::ptrdiff_t>(c) - static_cast<std::ptrdiff_t>(size)];
      const std::int32_t moved = at == place[c] ? rank : from_above;
      to[c] = at < place[c] ? to[c] : moved;
    }
  }
  for (std::size_t c = 0; c < size; ++c) row[c] = place[c] == 0 ? rank : row[c];
}

}  // namespace

void CompletionSampler::Batch::insert(std::int32_t rank, double theta, const double* power, RandomStream& stream) {
  count_disagreements(row.data(), length, size, rank, top.data(), now.data(), least.data());
  if (theta * static_cast<double>(length) < 600.0) {
    for (std::size_t c = 0; c < size; ++c) target[c] = power[-least[c]];
    multiply_places(row.data(), length, size, rank, power[1], target.data(), running.data());
  } else {
    sum_places(row.data(), length, size, rank, power, least.data(), now.data(), running.data());
  }
  for (std::size_t c = 0; c < size; ++c) {
    const double total = running[length * size + c];
    log_weight[c] += std::log(total) - theta * static_cast<double>(top[c] + least[c]);
    target[c] = stream.uniform() * total;
  }
  choose_places(row.data(), length, size, rank, running.data(), target.data(), place.data(), chosen.data());
  insert_at(row.data(), length, size, rank, place.data());
  for (std::size_t c = 0; c < size; ++c) distance[c] += static_cast<double>(top[c] + chosen[c]);
  ++length;
}

// Systematic resampling once the weights are worth less than half of the particles.
void CompletionSampler::Batch::resample(RandomStream& stream) {
  double largest = -infinity, total = 0.0, squares = 0.0;
  for (double value : log_weight) largest = std::max(largest, value);
  std::vector<double> weight(size);
  for (std::size_t c = 0; c < size; ++c) total += weight[c] = std::exp(log_weight[c] - largest), squares += weight[c] * weight[c];
  if (total * total >= 0.5 * static_cast<double>(size) * squares) return;
  const double stride = total / static_cast<double>(size);
  double at = stream.uniform() * stride, seen = weight[0];
  std::vector<std::size_t> parent(size);
  for (std::size_t c = 0, from = 0; c < size; ++c, at += stride) {
    while (at >= seen && from + 1 < size) seen += weight[++from];
    parent[c] = from;
  }
  std::vector<std::int32_t> old(size);
  for (std::size_t j = 0; j < length; ++j) {
    std::copy_n(row.begin() + static_cast<std::ptrdiff_t>(j * size), size, old.begin());
    for (std::size_t c = 0; c < size; ++c) row[j * size + c] = old[parent[c]];
  }
  const std::vector<double> old_distance = distance;
  for (std::size_t c = 0; c < size; ++c) distance[c] = old_distance[parent[c]];
  std::fill(log_weight.begin(), log_weight.end(), largest + std::log(stride));
}

CompletionSampler::CompletionSampler(std::span<const ItemId> center, double theta)
    : center_(center.begin(), center.end()),
      position_(inverse_order(center)),
      theta_(theta),
      power_(2 * center.size() + 1),
      log_q_factorials_(log_q_factorials(theta, center.size())) {
  for (std::size_t m = 0; m < power_.size(); ++m) power_[m] = std::exp(-theta * static_cast<double>(m));
}

CompletionSampler::Plan CompletionSampler::plan(RankingView ballot, bool whole) const {
  const std::size_t n = center_.size();
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
  Batch batch(size, plan.listed + plan.unlisted.size(), plan.distance);
  for (const std::vector<ItemId>& group : plan.groups) {
    std::vector<ItemId> drawn = group;
    for (std::size_t c = 0; c < size; ++c) {
      if (group.size() > 1) draw_mallows(group, theta_, stream, drawn);
      for (std::size_t j = 0; j < drawn.size(); ++j) {
        batch.row[(batch.length + j) * size + c] = static_cast<std::int32_t>(drawn[j]);
        batch.distance[c] += static_cast<double>(std::count_if(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(j),
                                                               [&](ItemId above) { return above > drawn[j]; }));
      }
    }
    batch.length += group.size();
  }
  for (const ItemId rank : plan.unlisted) {
    batch.insert(static_cast<std::int32_t>(rank), theta_, power_.data(), stream);
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
      for (std::size_t j = 0; j < batch.length; ++j)
        result.order.push_back(center_[static_cast<std::size_t>(batch.row[j * size + c])]);
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
  return sampler.probability(ballot, exact, 512, stream);
}

}  // namespace caucus
