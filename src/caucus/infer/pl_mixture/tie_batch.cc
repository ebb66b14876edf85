#include "caucus/infer/pl_mixture/tie_batch.h"

#include <algorithm>

#include "caucus/base/parallel.h"
#include "caucus/infer/pl_mixture/batch.h"
#include "caucus/infer/pl_mixture/tie_kernel.h"

namespace caucus::pl_mixture {

TieBatch make_tie_batch(const Dataset& data, std::vector<int> orders) {
  const RankingSet& rankings = data.rankings;
  const std::size_t n = data.num_items();
  TieBatch batch;
  batch.num_items = n;
  batch.orders = std::move(orders);
  std::vector<std::size_t> listed_in(n, 0);
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const RankingView ranking = rankings[i];
    const bool last = data.unranked == Unranked::last;
    const bool informative = last ? ranking.size() > 0 && n > 1 : ranking.size() > 1;
    if (!(rankings.weight(i) > 0.0) || !informative) continue;
    if (last && ranking.size() < n) {
      for (ItemId item : ranking.items()) listed_in[item] = i + 1;
      for (std::size_t item = 0; item < n; ++item) {
        if (listed_in[item] == i + 1) continue;
        batch.items.push_back(static_cast<std::uint32_t>(item));
        batch.group_size.push_back(0);
        batch.completes.push_back(0);
      }
    }
    for (std::size_t end = ranking.size(); end > 0;) {
      std::size_t begin = end - 1;
      while (begin > 0 && !ranking.ends_group(begin - 1)) --begin;
      for (std::size_t p = begin; p < end; ++p) {
        batch.items.push_back(ranking[p]);
        batch.group_size.push_back(static_cast<std::uint32_t>(end - begin));
        batch.completes.push_back(p + 1 == end ? 1 : 0);
      }
      end = begin;
    }
    batch.offsets.push_back(batch.items.size());
    batch.weights.push_back(rankings.weight(i));
    batch.source.push_back(static_cast<std::uint32_t>(i));
  }
  return batch;
}

TieSums run_tie_pass(const TieBatch& batch, const TieInput& input, const Workers& workers) {
  const std::size_t lanes = padded_components(input.num_components), size = batch.num_items * lanes;
  // Partial sums cost n K numbers per block: for many items and few rankings, fewer blocks.
  const std::size_t grain = std::max<std::size_t>(256, batch.num_items);
  const Blocks blocks = input.voters == nullptr ? Blocks(batch.count(), grain) : blocks_of_voters(*input.voters, grain, 64);
  // What is kept of each ranking or voter goes to all; a journal has no room for it.
  const bool sums_only = input.posterior == nullptr && input.row_loglik == nullptr;
  Workers used = sums_only ? workers : workers.without_journal();
  TieSums total = parallel_fold(
      blocks, used,
      [&] {
        TieSums sums;
        sums.responsibility.assign(lanes, 0.0);
        sums.wins.assign(size, 0.0);
        sums.expected.assign(size, 0.0);
        sums.tie_expected.assign(batch.orders.size(), 0.0);
        return sums;
      },
      [&](TieSums& sums, std::size_t begin, std::size_t end) { run_tie_block(batch, input, begin, end, sums); },
      [](TieSums& total, const TieSums& part) {
        const auto add = [](std::vector<double>& a, const std::vector<double>& b) {
          for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
        };
        total.loglik += part.loglik;
        add(total.responsibility, part.responsibility);
        add(total.wins, part.wins);
        add(total.expected, part.expected);
        add(total.tie_expected, part.tie_expected);
      });
  if (input.posterior != nullptr) share_rows(blocks, used, input.posterior, input.num_components);
  if (input.row_loglik != nullptr) share_rows(blocks, used, input.row_loglik, 1);
  return total;
}

}  // namespace caucus::pl_mixture
