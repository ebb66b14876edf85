#include "caucus/infer/pl_mixture/batch.h"

#include <algorithm>
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
void fill_items(const Dataset& data, const Batch& batch, Buffer<Item>& out) {
  const std::size_t n = data.num_items();
  std::size_t total = 0;
  for (const auto& group : batch.groups) total += group.count * group.length;
  out = scratch_array<Item>(data.rankings.scratch(), total);
  Item* to = out.data();
  std::vector<std::uint32_t> mark(n, 0);
  std::uint32_t stamp = 0;
  for (const auto& group : batch.groups) {
    for (std::size_t r = group.first; r < group.first + group.count; ++r) {
      const auto listed = data.rankings[batch.source[r]].items();
      for (ItemId item : listed) *to++ = static_cast<Item>(item);
      if (listed.size() == group.length) continue;
      ++stamp;
      for (ItemId item : listed) mark[item] = stamp;
      for (std::size_t i = 0; i < n; ++i)
        if (mark[i] != stamp) *to++ = static_cast<Item>(i);
    }
  }
}

}  // namespace

Batch make_batch(const Dataset& data) {
  const RankingSet& rankings = data.rankings;
  Batch batch;
  batch.num_items = data.num_items();
  // A ranking's shape follows from its length; two lengths may have one shape. Sorted by counting, in the order of the set within a
  // shape.
  const auto shape = [&](std::size_t length) { return shape_of(length, batch.num_items, data.unranked); };
  std::vector<std::size_t> with_length;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const double weight = rankings.weight(i);
    if (!(weight > 0.0)) continue;
    batch.total_weight += weight;
    const std::size_t length = rankings.length(i);
    if (with_length.size() <= length) with_length.resize(length + 1, 0);
    if (shape(length).stages == 0)
      batch.silent_weight += weight;
    else
      ++with_length[length], ++batch.count;
  }
  std::vector<std::size_t> lengths;
  for (std::size_t length = 0; length < with_length.size(); ++length)
    if (with_length[length] > 0) lengths.push_back(length);
  std::ranges::stable_sort(lengths, [&](std::size_t a, std::size_t b) { return shape(a).key() < shape(b).key(); });
  batch.all_complete = true;
  std::vector<std::size_t> group_of(with_length.size(), 0), next;
  std::size_t first = 0, begin = 0;
  for (const std::size_t length : lengths) {
    const Shape now = shape(length);
    const std::size_t count = with_length[length];
    if (batch.groups.empty() || batch.groups.back().length != now.length || batch.groups.back().stages != now.stages ||
        batch.groups.back().implicit != now.implicit) {
      batch.groups.push_back({first, 0, begin, now.length, now.stages, now.implicit});
      next.push_back(first);
    }
    batch.groups.back().count += count;
    group_of[length] = batch.groups.size() - 1;
    first += count;
    begin += count * now.length;
    batch.all_complete = batch.all_complete && !now.implicit && now.stages + 1 == batch.num_items;
    batch.max_length = std::max(batch.max_length, now.length);
  }
  batch.source = scratch_array<std::uint32_t>(data.rankings.scratch(), batch.count);
  batch.weights = scratch_array<double>(data.rankings.scratch(), batch.count);
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const double weight = rankings.weight(i);
    const std::size_t length = rankings.length(i);
    if (!(weight > 0.0) || with_length[length] == 0) continue;
    const std::size_t at = next[group_of[length]]++;
    batch.source[at] = static_cast<std::uint32_t>(i);
    batch.weights[at] = weight;
  }
  if (batch.num_items <= 65536)
    fill_items(data, batch, batch.items16);
  else
    fill_items(data, batch, batch.items32);
  return batch;
}

CastRankings cast_rankings(const Voters& voters, std::span<const std::uint32_t> source, std::size_t num_rankings,
                           std::span<const Batch::Group> groups) {
  constexpr std::uint32_t silent = ~std::uint32_t{0};
  std::vector<std::uint32_t> place(num_rankings, silent);
  for (std::size_t r = 0; r < source.size(); ++r) place[source[r]] = static_cast<std::uint32_t>(r);
  CastRankings cast;
  cast.weights = voters.weights;
  const Incidence& all = voters.rankings;
  const bool once = std::ranges::all_of(all.times, [](std::uint32_t times) { return times == 1; });
  for (std::size_t v = 0; v < voters.size(); ++v) {
    for (std::size_t j = all.begin[v]; j < all.begin[v + 1]; ++j) {
      const std::uint32_t r = place[all.other[j]];
      if (r == silent) continue;
      cast.ranking.push_back(r);
      if (!once) cast.times.push_back(all.count(j));
      if (groups.empty()) continue;
      const auto after = std::ranges::upper_bound(groups, std::size_t{r}, {}, &Batch::Group::first);
      cast.group.push_back(static_cast<std::uint16_t>(after - groups.begin() - 1));
    }
    cast.begin.push_back(static_cast<std::uint32_t>(cast.ranking.size()));
  }
  return cast;
}

Blocks blocks_of_voters(const CastRankings& cast, std::size_t grain, std::size_t limit) {
  return Blocks(cast.size(), grain * cast.size() / (cast.ranking.size() + 1) + 1, limit);
}

std::size_t rankings_at_once(std::size_t numbers_each) { return std::clamp<std::size_t>(16384 / numbers_each, 1, 64); }

namespace {

// Partial sums cost n K numbers per block: for many items and few rankings, fewer blocks.
// Beyond 2^24 rankings there are more blocks, so that more than 64 cores have something to do.
std::size_t grain_of(const Batch& batch) { return std::max<std::size_t>(1024, 4 * batch.num_items); }
std::size_t most_blocks(const Batch& batch) { return std::clamp<std::size_t>(batch.count >> 18, 64, 1024); }

}  // namespace

Blocks pass_blocks(const Batch& batch) { return Blocks(batch.count, grain_of(batch), most_blocks(batch)); }

PassSums run_pass(const Batch& batch, const PassInput& input, const Workers& workers) {
  const std::size_t size = batch.num_items * padded_components(input.num_components);
  const CastRankings* const voters = input.voters;
  const Blocks blocks = voters == nullptr ? pass_blocks(batch) : blocks_of_voters(*voters, grain_of(batch), most_blocks(batch));
  const std::size_t work = voters == nullptr ? batch.items16.size() + batch.items32.size() : 2 * voters->ranking.size();
  // What is written for each ranking must be written here, and a journal has no room for it.
  const bool sums_only = input.posterior == nullptr && input.row_loglik == nullptr && input.logs == nullptr;
  const bool rows_shared = input.own_rows || (voters != nullptr && input.row_loglik == nullptr && input.logs == nullptr);
  Workers used = sums_only ? workers : rows_shared ? workers.without_journal() : Workers(workers.threads);
  if (work * input.num_components < least_pass_for_threads && !input.own_rows) used = 1;
  const PassSums total = parallel_fold(
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
  if (input.posterior != nullptr && !input.own_rows) share_rows(blocks, used, input.posterior, input.num_components);
  return total;
}

}  // namespace caucus::pl_mixture
