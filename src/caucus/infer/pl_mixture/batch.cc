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

// How many rankings of each length there are in a part of the set.
struct Lengths {
  std::vector<std::uint32_t> length;
  std::vector<std::uint64_t> count;
};
auto parts(IsA<Lengths> auto& lengths) { return std::tie(lengths.length, lengths.count); }

struct Counted {
  double total = 0.0, silent = 0.0;
  std::vector<Lengths> blocks;
};
auto parts(IsA<Counted> auto& counted) { return std::tie(counted.total, counted.silent, counted.blocks); }

Blocks set_blocks(const RankingSet& rankings) { return Blocks(rankings.size(), 4096); }

// Of the rankings that say something, block by block.
Counted count_lengths(const Dataset& data, const Workers& workers) {
  const RankingSet& rankings = data.rankings;
  return parallel_fold(
      set_blocks(rankings), workers.without_journal(), [] { return Counted{}; },
      [&](Counted& part, std::size_t begin, std::size_t end) {
        std::vector<std::uint64_t> with_length;
        for (std::size_t i = begin; i < end; ++i) {
          const double weight = rankings.weight(i);
          if (!(weight > 0.0)) continue;
          part.total += weight;
          const std::size_t length = rankings.length(i);
          if (shape_of(length, data.num_items(), data.unranked).stages == 0) {
            part.silent += weight;
            continue;
          }
          if (with_length.size() <= length) with_length.resize(length + 1, 0);
          ++with_length[length];
        }
        Lengths& found = part.blocks.emplace_back();
        for (std::size_t length = 0; length < with_length.size(); ++length)
          if (with_length[length] > 0) {
            found.length.push_back(static_cast<std::uint32_t>(length));
            found.count.push_back(with_length[length]);
          }
      },
      [](Counted& all, const Counted& part) {
        all.total += part.total;
        all.silent += part.silent;
        all.blocks.insert(all.blocks.end(), part.blocks.begin(), part.blocks.end());
      });
}

// The items of a ranking, and where the shape has them those that it does not list.
template <class Item>
void write_items(std::span<const ItemId> listed, std::size_t num_items, std::size_t length, std::vector<std::uint32_t>& mark,
                 std::uint32_t stamp, Item* to) {
  for (ItemId item : listed) *to++ = static_cast<Item>(item);
  if (listed.size() == length) return;
  for (ItemId item : listed) mark[item] = stamp;
  for (std::size_t i = 0; i < num_items; ++i)
    if (mark[i] != stamp) *to++ = static_cast<Item>(i);
}

// The groups of rankings of one shape, and which of them rankings of a length belong to.
std::vector<std::size_t> lay_out_groups(const Counted& counted, const Dataset& data, Batch& batch) {
  const auto shape = [&](std::size_t length) { return shape_of(length, batch.num_items, data.unranked); };
  std::vector<std::size_t> with_length, lengths;
  for (const Lengths& block : counted.blocks)
    for (std::size_t j = 0; j < block.length.size(); ++j) {
      if (with_length.size() <= block.length[j]) with_length.resize(block.length[j] + 1, 0);
      with_length[block.length[j]] += block.count[j];
    }
  for (std::size_t length = 0; length < with_length.size(); ++length)
    if (with_length[length] > 0) lengths.push_back(length);
  // A ranking's shape follows from its length; two lengths may have one shape.
  std::ranges::stable_sort(lengths, [&](std::size_t a, std::size_t b) { return shape(a).key() < shape(b).key(); });
  batch.all_complete = true;
  std::vector<std::size_t> group_of(with_length.size(), 0);
  std::size_t begin = 0;
  for (const std::size_t length : lengths) {
    const Shape now = shape(length);
    const std::size_t count = with_length[length];
    if (batch.groups.empty() || batch.groups.back().length != now.length || batch.groups.back().stages != now.stages ||
        batch.groups.back().implicit != now.implicit)
      batch.groups.push_back({batch.count, 0, begin, now.length, now.stages, now.implicit});
    batch.groups.back().count += count;
    group_of[length] = batch.groups.size() - 1;
    batch.count += count;
    begin += count * now.length;
    batch.all_complete = batch.all_complete && !now.implicit && now.stages + 1 == batch.num_items;
    batch.max_length = std::max(batch.max_length, now.length);
  }
  return group_of;
}

// Where the items of ranking r begin; at the end, how many there are.
std::size_t items_before(const Batch& batch, std::size_t r) {
  for (const Batch::Group& group : batch.groups)
    if (r < group.first + group.count) return group.begin + (r - group.first) * group.length;
  return batch.groups.empty() ? 0 : batch.groups.back().begin + batch.groups.back().count * batch.groups.back().length;
}

}  // namespace

Batch make_batch(const Dataset& data, const Workers& workers) {
  const RankingSet& rankings = data.rankings;
  Batch batch;
  batch.num_items = data.num_items();
  const Counted counted = count_lengths(data, workers);
  batch.total_weight = counted.total;
  batch.silent_weight = counted.silent;
  const std::vector<std::size_t> group_of = lay_out_groups(counted, data, batch);
  const std::size_t stored = items_before(batch, batch.count);
  std::tie(batch.first, batch.last) =
      stored >= least_pass_for_threads ? own_range(pass_blocks(batch), workers) : std::pair(std::size_t{0}, batch.count);
  const std::size_t first = batch.first, last = batch.last;
  const auto array = [&]<class T>(Buffer<T>& to, std::size_t size, std::size_t from, std::size_t until) {
    to = batch.is_whole() ? scratch_array<T>(rankings.scratch(), size) : scratch_array<T>(rankings.scratch(), size, from, until);
  };
  array(batch.source, batch.count, first, last);
  array(batch.weights, batch.count, first, last);
  if (batch.num_items <= 65536)
    array(batch.items16, stored, items_before(batch, first), items_before(batch, last));
  else
    array(batch.items32, stored, items_before(batch, first), items_before(batch, last));

  // Sorted by counting, in the order of the set within a shape: where the rankings of each block and group go.
  const Blocks blocks = set_blocks(rankings);
  const std::size_t num_groups = batch.groups.size();
  std::vector<std::size_t> place((blocks.count() + 1) * num_groups, 0);
  for (std::size_t g = 0; g < num_groups; ++g) place[g] = batch.groups[g].first;
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    std::copy_n(&place[b * num_groups], num_groups, &place[(b + 1) * num_groups]);
    const Lengths& found = counted.blocks[b];
    for (std::size_t j = 0; j < found.length.size(); ++j) place[(b + 1) * num_groups + group_of[found.length[j]]] += found.count[j];
  }
  parallel_for(blocks.count(), workers.threads, [&](std::size_t b) {
    std::vector<std::size_t> next(place.begin() + static_cast<std::ptrdiff_t>(b * num_groups),
                                  place.begin() + static_cast<std::ptrdiff_t>((b + 1) * num_groups));
    bool mine = false;
    for (std::size_t g = 0; g < num_groups; ++g)
      mine = mine || (next[g] < last && place[(b + 1) * num_groups + g] > first && next[g] < place[(b + 1) * num_groups + g]);
    if (!mine) return;
    std::vector<std::uint32_t> mark(batch.num_items, 0);
    std::uint32_t stamp = 0;
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      const double weight = rankings.weight(i);
      const std::size_t length = rankings.length(i);
      if (!(weight > 0.0) || shape_of(length, batch.num_items, data.unranked).stages == 0) continue;
      const std::size_t g = group_of[length], at = next[g]++;
      if (at < first || at >= last) continue;
      const Batch::Group& group = batch.groups[g];
      batch.source[at] = static_cast<std::uint32_t>(i);
      batch.weights[at] = weight;
      const std::size_t to = group.begin + (at - group.first) * group.length;
      const auto listed = rankings[i].items();
      if (batch.items32.empty())
        write_items(listed, batch.num_items, group.length, mark, ++stamp, batch.items16.data() + to);
      else
        write_items(listed, batch.num_items, group.length, mark, ++stamp, batch.items32.data() + to);
    }
  });
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
