#include "caucus/infer/pl_mixture/pieces.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace caucus::pl_mixture {

namespace {

// Pairs of items that a ranking lists one after the other within a piece, ascending, with the weight of such rankings.
struct Links {
  std::vector<ItemId> first, second;
  std::vector<double> weight;

  std::pair<ItemId, ItemId> pair(std::size_t j) const { return {first[j], second[j]}; }
  void add(std::pair<ItemId, ItemId> pair, double value) {
    first.push_back(pair.first);
    second.push_back(pair.second);
    weight.push_back(value);
  }
  static Links merged(const Links& one, const Links& two) {
    Links all;
    for (std::size_t a = 0, b = 0; a < one.weight.size() || b < two.weight.size();) {
      const bool from_one = b == two.weight.size() || (a < one.weight.size() && one.pair(a) <= two.pair(b));
      const bool from_two = a == one.weight.size() || (b < two.weight.size() && two.pair(b) <= one.pair(a));
      all.add(from_one ? one.pair(a) : two.pair(b), (from_one ? one.weight[a] : 0.0) + (from_two ? two.weight[b] : 0.0));
      a += from_one ? 1 : 0;
      b += from_two ? 1 : 0;
    }
    return all;
  }
};
auto parts(IsA<Links> auto& links) { return std::tie(links.first, links.second, links.weight); }

// Comparisons of a component, walked once for the cuts and once for the links.
class ComponentComparisons {
 public:
  ComponentComparisons(const Objective& objective, const Parameters& parameters, std::span<const double> posterior,
                       double one_ballot, std::size_t k)
      : data_(objective.data()),
        objective_(objective),
        posterior_(posterior),
        one_ballot_(one_ballot),
        num_(parameters.num_components()),
        k_(k),
        rank_(data_.num_items()) {
    const auto utilities = parameters.component(k);
    by_rank_.resize(rank_.size());
    std::iota(by_rank_.begin(), by_rank_.end(), std::size_t{0});
    std::ranges::stable_sort(by_rank_, [&](std::size_t a, std::size_t b) { return utilities[a] > utilities[b]; });
    for (std::size_t r = 0; r < by_rank_.size(); ++r) rank_[by_rank_[r]] = r;
  }

  // The segment of each item between cuts that hardly any choice crosses upwards.
  std::vector<std::size_t> segments() const {
    const std::size_t n = rank_.size();
    // At a stage where the best item there has rank b and one of rank r > b is chosen, every cut between them is crossed.
    const std::vector<double> starts = parallel_fold(
        objective_.blocks(), objective_.workers().without_journal(), [&] { return std::vector<double>(n + 1, 0.0); },
        [&](std::vector<double>& part, std::size_t begin, std::size_t end) { add_starts(begin, end, part); },
        [](std::vector<double>& total, const std::vector<double>& part) {
          for (std::size_t r = 0; r < total.size(); ++r) total[r] += part[r];
        });
    const std::vector<bool> runs_off = tied_cuts();
    std::vector<std::size_t> segment(n, 0);
    double crossing = 0.0;
    std::size_t current = 0;
    for (std::size_t r = 0; r < n; ++r) {
      segment[by_rank_[r]] = current;
      crossing += starts[r];
      if (crossing < few_comparisons || runs_off[r]) ++current;
    }
    return segment;
  }
  // Of a block of rankings.
  void add_starts(std::size_t first, std::size_t last, std::vector<double>& starts) const {
    const std::size_t n = rank_.size();
    std::vector<std::size_t> listed_in(n, 0), best_left;
    for_each_ranking(first, last, [&](std::size_t i, RankingView ranking, double weight) {
      std::size_t best = n;
      if (data_.unranked == Unranked::last && ranking.size() < n) {
        for (ItemId item : ranking.items()) listed_in[item] = i + 1;
        best = 0;
        while (listed_in[by_rank_[best]] == i + 1) ++best;
      }
      best_left.assign(ranking.size(), best);
      for (std::size_t p = ranking.size(); p-- > 0;) best_left[p] = best = std::min(best, rank_[ranking[p]]);
      std::size_t begin = 0;
      ranking.for_each_group([&](std::span<const ItemId> group) {
        std::size_t lowest = 0;  // a tie links both ways, so its lowest member counts
        for (ItemId item : group) lowest = std::max(lowest, rank_[item]);
        starts[best_left[begin]] += weight;
        starts[lowest] -= weight;
        begin += group.size();
      });
    });
  }

  // With ties a cut may be crossed and the items above it still run off, the strengths of ties with them: cut r (after the item of
  // that rank) is true where moving all above it up, and log delta_t by some e_t, lowers no choice. README, "Groups that come
  // apart". O(n total length orders).
  std::vector<bool> tied_cuts() const {
    const std::size_t n = rank_.size();
    std::vector<bool> runs_off(n, false);
    if (!data_.rankings.has_ties()) return runs_off;
    std::vector<std::size_t> orders{1};
    std::size_t length = 0;
    for_each_ranking(0, sources_.size(), [&](std::size_t, RankingView ranking, double) {
      ranking.for_each_group([&](std::span<const ItemId> group) {
        if (std::ranges::find(orders, group.size()) == orders.end()) orders.push_back(group.size());
      });
      length += ranking.size();
    });
    constexpr std::size_t most_orders = 30, most_work = 1'000'000'000;
    if (orders.size() > most_orders || n * length * orders.size() > most_work) return runs_off;
    for (std::size_t r = 0; r + 1 < n; ++r) runs_off[r] = lowers_no_choice(r, orders);
    return runs_off;
  }

  // Choices between items of one piece, by piece.
  std::vector<double> choices_within(const std::vector<std::size_t>& piece, std::size_t num_pieces) const {
    return parallel_fold(
        objective_.blocks(), objective_.workers().without_journal(), [&] { return std::vector<double>(num_pieces, 0.0); },
        [&](std::vector<double>& part, std::size_t begin, std::size_t end) { add_choices(begin, end, piece, part); },
        [](std::vector<double>& total, const std::vector<double>& part) {
          for (std::size_t p = 0; p < total.size(); ++p) total[p] += part[p];
        });
  }

  // Splits pieces whose items were never compared with each other. Where unlisted items rank last, a choice compares all.
  std::vector<std::size_t> linked(const std::vector<std::size_t>& piece) const {
    if (data_.unranked == Unranked::last) return piece;
    constexpr double weakest_link = 1e-3 * few_comparisons;
    const std::size_t n = piece.size();
    const Links links = parallel_fold(
        objective_.blocks(), objective_.workers().without_journal(), [] { return Links{}; },
        [&](Links& part, std::size_t begin, std::size_t end) { part = links_of(begin, end, piece); },
        [](Links& total, const Links& part) { total = Links::merged(total, part); });
    std::vector<std::size_t> root(n);
    std::iota(root.begin(), root.end(), std::size_t{0});
    const auto find = [&](std::size_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    for (std::size_t j = 0; j < links.weight.size(); ++j)
      if (links.weight[j] >= weakest_link) root[find(links.second[j])] = find(links.first[j]);
    for (std::size_t i = 0; i < n; ++i) root[i] = find(i);
    return root;
  }

 private:
  void add_choices(std::size_t first, std::size_t last, const std::vector<std::size_t>& piece, std::vector<double>& choices) const {
    std::vector<std::size_t> sizes(choices.size(), 0), left(choices.size());
    for (std::size_t own : piece) ++sizes[own];
    for_each_ranking(first, last, [&](std::size_t, RankingView ranking, double weight) {
      if (data_.unranked == Unranked::last) {
        left = sizes;
      } else {
        std::ranges::fill(left, 0);
        for (ItemId item : ranking.items()) ++left[piece[item]];
      }
      ranking.for_each_group([&](std::span<const ItemId> group) {
        for (ItemId item : group)
          if (left[piece[item]] > 1) choices[piece[item]] += weight / static_cast<double>(group.size());
        for (ItemId item : group) --left[piece[item]];
      });
    });
  }

  Links links_of(std::size_t first, std::size_t last, const std::vector<std::size_t>& piece) const {
    std::map<std::pair<ItemId, ItemId>, double> links;
    std::vector<ItemId> last_of_piece(piece.size());
    std::vector<std::size_t> seen_in(piece.size(), 0);
    for_each_ranking(first, last, [&](std::size_t i, RankingView ranking, double weight) {
      for (ItemId item : ranking.items()) {
        const std::size_t own = piece[item];
        if (seen_in[own] == i + 1) links[std::minmax(last_of_piece[own], item)] += weight;
        seen_in[own] = i + 1;
        last_of_piece[own] = item;
      }
    });
    Links result;
    for (const auto& [pair, weight] : links) result.add(pair, weight);
    return result;
  }

  // Is there an e with e_t - e_s <= |T and B| / s - min(t, |R and B|) / t for every choice of T, s = |T|, from R and every order t
  // up to |R|, where B are the items to rank r? Such bounds on differences can be met unless they add up to less than zero around a
  // cycle.
  bool lowers_no_choice(std::size_t r, const std::vector<std::size_t>& orders) const {
    const std::size_t num = orders.size(), n = rank_.size();
    std::vector<double> bound(num * num, infinity);
    // What is left out weighs less than the comparisons that count as none.
    const double least = few_comparisons / static_cast<double>(data_.rankings.size());
    constexpr double less_than_zero = -1e-9;
    const bool refused = any_ranking(0, sources_.size(), [&](std::size_t, RankingView ranking, double weight) {
      if (weight < least) return false;
      bool alone = false;  // this ranking is enough: most cuts are settled by the first few
      std::size_t left = ranking.size(), above = 0;
      for (ItemId item : ranking.items()) above += rank_[item] <= r ? 1 : 0;
      if (data_.unranked == Unranked::last) left = n, above = r + 1;
      ranking.for_each_group([&](std::span<const ItemId> group) {
        std::size_t chosen = 0;
        for (ItemId item : group) chosen += rank_[item] <= r ? 1 : 0;
        const auto own = static_cast<std::size_t>(std::ranges::find(orders, group.size()) - orders.begin());
        const double share = static_cast<double>(chosen) / static_cast<double>(group.size());
        for (std::size_t t = 0; t < num; ++t) {
          if (orders[t] > left) continue;
          const double best = static_cast<double>(std::min(orders[t], above)) / static_cast<double>(orders[t]);
          bound[own * num + t] = std::min(bound[own * num + t], share - best);
        }
        alone = alone || bound[own * num + own] < less_than_zero;
        left -= group.size();
        above -= chosen;
      });
      return alone;
    });
    if (refused) return false;
    for (std::size_t via = 0; via < num; ++via)
      for (std::size_t from = 0; from < num; ++from)
        for (std::size_t to = 0; to < num; ++to)
          bound[from * num + to] = std::min(bound[from * num + to], bound[from * num + via] + bound[via * num + to]);
    for (std::size_t t = 0; t < num; ++t)
      if (bound[t * num + t] < less_than_zero) return false;
    return true;
  }

  // Those that say something, in the order of a pass: of the others nothing follows here.
  template <class Visit>
  void for_each_ranking(std::size_t begin, std::size_t end, Visit&& visit) const {
    any_ranking(begin, end, [&](std::size_t i, RankingView ranking, double weight) {
      visit(i, ranking, weight);
      return false;
    });
  }
  // Until one says yes.
  template <class Visit>
  bool any_ranking(std::size_t begin, std::size_t end, Visit&& visit) const {
    for (std::size_t r = begin; r < end; ++r) {
      const std::size_t i = sources_[r];
      if (const double weight = data_.rankings.weight(i) / one_ballot_ * posterior_[objective_.membership_of(r) * num_ + k_];
          weight > 0.0 && visit(i, data_.rankings[i], weight))
        return true;
    }
    return false;
  }

  const Dataset& data_;
  const Objective& objective_;
  std::span<const std::uint32_t> sources_ = objective_.sources();
  std::span<const double> posterior_;
  double one_ballot_;
  std::size_t num_, k_;
  std::vector<std::size_t> rank_, by_rank_;  // 0: largest utility
};

// Numbers of equal keys, by first appearance.
template <class Key>
std::vector<std::size_t> numbered(const std::vector<Key>& keys) {
  std::map<Key, std::size_t> number;
  std::vector<std::size_t> result;
  for (const Key& key : keys) result.push_back(number.emplace(key, number.size()).first->second);
  return result;
}

}  // namespace

std::size_t Pieces::num_pieces() const { return piece_of_item.empty() ? 0 : *std::ranges::max_element(piece_of_item) + 1; }

std::span<const std::size_t> Pieces::reference() const {
  return blocks.empty() ? std::span<const std::size_t>() : std::span<const std::size_t>(blocks.front());
}

std::vector<std::size_t> Pieces::unbounded() const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < piece_of_item.size(); ++i)
    if (!std::ranges::binary_search(reference(), i)) result.push_back(i);
  return result;
}

void Pieces::center_on_reference(std::span<double> utilities) const {
  if (blocks.empty()) return center(utilities);
  double total = 0.0;
  for (std::size_t i : reference()) total += utilities[i];
  for (double& utility : utilities) utility -= total / static_cast<double>(reference().size());
}

std::vector<Pieces> find_pieces(const Objective& objective, const Parameters& parameters, std::span<const double> posterior,
                                const Connectivity& all_comparisons, double one_ballot) {
  const std::size_t n = objective.num_items();
  std::vector<Pieces> result;
  for (std::size_t k = 0; k < parameters.num_components(); ++k) {
    const ComponentComparisons comparisons(objective, parameters, posterior, one_ballot, k);
    const std::vector<std::size_t> segment = comparisons.segments();
    std::vector<std::pair<std::size_t, int>> ordered;
    for (std::size_t i = 0; i < n; ++i) ordered.emplace_back(segment[i], all_comparisons.component_of_item[i]);
    Pieces& pieces = result.emplace_back();
    pieces.piece_of_item = numbered(comparisons.linked(numbered(ordered)));
    pieces.blocks.resize(pieces.num_pieces());
    for (std::size_t i = 0; i < n; ++i) pieces.blocks[pieces.piece_of_item[i]].push_back(i);
    std::erase_if(pieces.blocks, [&](const auto& block) { return block.size() < 2 && n > 1; });
    if (pieces.blocks.size() < 2) continue;
    const std::vector<double> choices = comparisons.choices_within(pieces.piece_of_item, pieces.num_pieces());
    std::ranges::stable_sort(pieces.blocks, std::greater(),
                             [&](const auto& block) { return choices[pieces.piece_of_item[block[0]]]; });
  }
  return result;
}

void center_on_references(const std::vector<Pieces>& pieces, Parameters& parameters) {
  for (std::size_t k = 0; k < pieces.size(); ++k) pieces[k].center_on_reference(parameters.component(k));
}

}  // namespace caucus::pl_mixture
