#include "caucus/infer/pl_mixture/batch.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "caucus/base/parallel.h"
#include "caucus/infer/pl_mixture/thread_limits.h"

namespace caucus::pl_mixture {

namespace {

struct Shape {
  std::uint32_t length = 0, stages = 0;
  bool implicit = false;
  auto key() const { return std::tuple(implicit, stages, length); }
};

Shape shape_of(std::size_t length, std::size_t num_items, Unranked unranked) {
  const auto listed = static_cast<std::uint32_t>(length);
  if (unranked == Unranked::absent || length == num_items) return {listed, listed == 0 ? 0 : listed - 1, false};
  if (length == 0) return {};
  // A short rest is listed too: no subtraction, no cancellation, and little longer.
  if (2 * (num_items - length) <= length)
    return {static_cast<std::uint32_t>(num_items), listed == num_items ? listed - 1 : listed, false};
  return {listed, listed, true};
}

template <class Item>
void fill_items(const Dataset& data, const Batch& batch, std::vector<Item>& out) {
  const std::size_t n = data.num_items();
  std::size_t total = 0;
  for (const auto& group : batch.groups) total += group.count * group.length;
  out.reserve(total);
  std::vector<std::uint32_t> mark(n, 0);
  std::uint32_t stamp = 0;
  for (const auto& group : batch.groups) {
    for (std::size_t r = group.first; r < group.first + group.count; ++r) {
      const auto listed = data.rankings[batch.source[r]].items();
      for (ItemId item : listed) out.push_back(static_cast<Item>(item));
      if (listed.size() == group.length) continue;
      ++stamp;
      for (ItemId item : listed) mark[item] = stamp;
      for (std::size_t i = 0; i < n; ++i)
        if (mark[i] != stamp) out.push_back(static_cast<Item>(i));
    }
  }
}

}  // namespace

Batch make_batch(const Dataset& data) {
  const RankingSet& rankings = data.rankings;
  Batch batch;
  batch.num_items = data.num_items();
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const double weight = rankings.weight(i);
    if (!(weight > 0.0)) continue;
    batch.total_weight += weight;
    if (shape_of(rankings.length(i), batch.num_items, data.unranked).stages == 0)
      batch.silent_weight += weight;
    else
      order.push_back(static_cast<std::uint32_t>(i));
  }
  const auto shape = [&](std::uint32_t i) { return shape_of(rankings.length(i), batch.num_items, data.unranked); };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return shape(a).key() < shape(b).key(); });
  batch.count = order.size();
  batch.source = std::move(order);
  batch.all_complete = true;
  std::size_t begin = 0;
  batch.weights.reserve(batch.count);
  for (std::size_t r = 0; r < batch.count; ++r) {
    const Shape now = shape(batch.source[r]);
    batch.weights.push_back(rankings.weight(batch.source[r]));
    if (batch.groups.empty() || batch.groups.back().length != now.length || batch.groups.back().stages != now.stages ||
        batch.groups.back().implicit != now.implicit)
      batch.groups.push_back({r, 0, begin, now.length, now.stages, now.implicit});
    ++batch.groups.back().count;
    begin += now.length;
    batch.all_complete = batch.all_complete && !now.implicit && now.stages + 1 == batch.num_items;
    batch.max_length = std::max(batch.max_length, now.length);
  }
  if (batch.num_items <= 65536)
    fill_items(data, batch, batch.items16);
  else
    fill_items(data, batch, batch.items32);
  return batch;
}

PassSums run_pass(const Batch& batch, const PassInput& input, int threads) {
  const std::size_t size = batch.num_items * padded_components(input.num_components);
  // Partial sums cost n K numbers per block: for many items and few rankings, fewer blocks.
  const Blocks blocks(batch.count, std::max<std::size_t>(1024, 4 * batch.num_items), 64);
  const std::size_t work = batch.items16.size() + batch.items32.size();
  const int used = work * input.num_components < least_pass_for_threads ? 1 : threads;
  return parallel_fold(
      blocks, used,
      [&] {
        PassSums sums;
        sums.responsibility.assign(padded_components(input.num_components), 0.0);
        sums.wins.assign(size, 0.0);
        sums.exposure.assign(size, 0.0);
        return sums;
      },
      [&](PassSums& sums, std::size_t begin, std::size_t end) { run_block(batch, input, begin, end, sums); },
      [](PassSums& total, const PassSums& part) {
        total.loglik += part.loglik;
        for (std::size_t i = 0; i < part.responsibility.size(); ++i) total.responsibility[i] += part.responsibility[i];
        for (std::size_t i = 0; i < part.wins.size(); ++i) total.wins[i] += part.wins[i];
        for (std::size_t i = 0; i < part.exposure.size(); ++i) total.exposure[i] += part.exposure[i];
      });
}

}  // namespace caucus::pl_mixture
