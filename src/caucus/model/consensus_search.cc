#include "caucus/model/consensus_search.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <queue>
#include <unordered_map>

namespace caucus::detail {

namespace {

// Sets of up to 64 W items.
template <std::size_t W>
struct Set {
  std::array<std::uint64_t, W> words{};

  bool operator==(const Set&) const = default;
  bool test(std::size_t i) const { return words[i >> 6] >> (i & 63) & 1; }
  void insert(std::size_t i) { words[i >> 6] |= std::uint64_t{1} << (i & 63); }
  void erase(std::size_t i) { words[i >> 6] &= ~(std::uint64_t{1} << (i & 63)); }
  bool empty() const {
    return std::all_of(words.begin(), words.end(), [](std::uint64_t word) { return word == 0; });
  }
  Set operator&(const Set& other) const {
    Set result;
    for (std::size_t w = 0; w < W; ++w) result.words[w] = words[w] & other.words[w];
    return result;
  }
  Set operator|(const Set& other) const {
    Set result;
    for (std::size_t w = 0; w < W; ++w) result.words[w] = words[w] | other.words[w];
    return result;
  }
  Set without(const Set& other) const {
    Set result;
    for (std::size_t w = 0; w < W; ++w) result.words[w] = words[w] & ~other.words[w];
    return result;
  }
  std::size_t first() const {
    for (std::size_t w = 0; w < W; ++w)
      if (words[w] != 0) return 64 * w + static_cast<std::size_t>(std::countr_zero(words[w]));
    return 64 * W;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t w = 0; w < W; ++w)
      for (std::uint64_t word = words[w]; word != 0; word &= word - 1)
        visit(64 * w + static_cast<std::size_t>(std::countr_zero(word)));
  }
};

template <std::size_t W>
struct SetHash {
  std::size_t operator()(const Set<W>& set) const {
    std::uint64_t hash = 0;
    for (std::uint64_t word : set.words) {
      hash ^= word;
      hash *= 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash);
  }
};

// A cycle of majorities and the weight that any order must reverse on it.
struct Cycle {
  std::vector<std::uint16_t> items;
  double weight;
};

// Packs cycles into the margins: the weights of the cycles through an edge sum to at most its margin, so every order pays at
// least the weights of all cycles. `rest` keeps what is left, which has no cycle unless `size` is too large to look for them all.
std::vector<Cycle> pack_cycles(const Margins& margins, Margins& rest) {
  const std::size_t n = margins.size;
  rest = margins;
  std::vector<Cycle> cycles;
  const auto pack = [&](std::vector<std::uint16_t> items) {
    double weight = rest(items.back(), items.front());
    for (std::size_t i = 0; i + 1 < items.size(); ++i) weight = std::min(weight, rest(items[i], items[i + 1]));
    if (!(weight > 0.0)) return;
    rest(items.back(), items.front()) -= weight;
    for (std::size_t i = 0; i + 1 < items.size(); ++i) rest(items[i], items[i + 1]) -= weight;
    cycles.push_back({std::move(items), weight});
  };
  if (n <= 256) {
    struct Triple {
      double weight;
      std::uint16_t a, b, c;
    };
    std::vector<Triple> triples;
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = a + 1; b < n; ++b) {
        if (!(margins(a, b) > 0.0)) continue;
        for (std::size_t c = a + 1; c < n; ++c)
          if (margins(b, c) > 0.0 && margins(c, a) > 0.0)
            triples.push_back({std::min({margins(a, b), margins(b, c), margins(c, a)}), static_cast<std::uint16_t>(a),
                               static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(c)});
      }
    std::stable_sort(triples.begin(), triples.end(), [](const Triple& x, const Triple& y) { return x.weight > y.weight; });
    for (const Triple& t : triples) pack({t.a, t.b, t.c});
  }
  if (n <= 100) {
    // Longer cycles, shortest first through each edge that is left.
    std::vector<Set<2>> ahead(n);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        if (rest(a, b) > 0.0) ahead[a].insert(b);
    std::vector<std::size_t> parent(n), queue;
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        while (rest(a, b) > 0.0) {
          Set<2> reached;
          reached.insert(b);
          queue.assign(1, b);
          for (std::size_t head = 0; head < queue.size() && !reached.test(a); ++head) {
            const std::size_t from = queue[head];
            ahead[from].without(reached).for_each([&](std::size_t next) { parent[next] = from, queue.push_back(next); });
            reached = reached | ahead[from];
          }
          if (!reached.test(a)) break;
          std::vector<std::uint16_t> items;
          for (std::size_t at = a; at != b; at = parent[at]) items.push_back(static_cast<std::uint16_t>(at));
          items.push_back(static_cast<std::uint16_t>(b));
          std::reverse(items.begin(), items.end());
          pack(items);
          for (std::size_t i = 0; i < items.size(); ++i) {
            const std::size_t from = items[i], to = items[i + 1 < items.size() ? i + 1 : 0];
            if (!(rest(from, to) > 0.0)) ahead[from].erase(to);
          }
        }
  }
  return cycles;
}

template <std::size_t W>
class Search {
 public:
  Search(const Margins& margins, std::vector<Cycle> cycles, std::vector<std::size_t> incumbent, double incumbent_excess,
         const ConsensusLimits& limits, std::uint64_t& nodes)
      : margins_(margins),
        cycles_(std::move(cycles)),
        limits_(limits),
        expanded_(nodes),
        beaten_by_(margins.size),
        beats_(margins.size),
        cycles_of_(margins.size),
        cycle_sets_(cycles_.size()) {
    best_.order = std::move(incumbent);
    best_.excess = incumbent_excess;
    for (std::size_t a = 0; a < margins.size; ++a)
      for (std::size_t b = 0; b < margins.size; ++b)
        if (margins(a, b) > 0.0) beats_[a].insert(b), beaten_by_[b].insert(a);
    for (std::size_t c = 0; c < cycles_.size(); ++c)
      for (std::uint16_t item : cycles_[c].items) cycle_sets_[c].insert(item), cycles_of_[item].push_back(c);
  }

  // Until `max_nodes` in all; may go on from there with more, and with a better order found elsewhere.
  Solved run(std::uint64_t max_nodes) {
    const double slack = margins_.least_gain(best_.excess);
    if (nodes_.empty()) {
      Set<W> all;
      for (std::size_t i = 0; i < margins_.size; ++i) all.insert(i);
      double bound = 0.0;
      for (const Cycle& cycle : cycles_) bound += cycle.weight;
      if (best_.excess <= bound + slack) return finish(best_.excess, true);
      push(all, 0.0, bound, none, {});
    }
    while (!open_.empty()) {
      const Open top = open_.top();
      Node& node = nodes_[top.node];
      if (node.closed || top.cost > node.cost) {
        open_.pop();
        continue;
      }
      if (top.bound >= best_.excess - slack) return finish(best_.excess, true);
      if (node.left.empty()) {
        rebuild(top.node);
        best_.excess = node.cost;
        return finish(node.cost, true);
      }
      // With hundreds of items one expansion takes milliseconds: asked every time.
      if (++expanded_ > max_nodes || (limits_.stop && limits_.stop())) return finish(top.bound, false);
      open_.pop();
      node.closed = true;
      expand(top.node, slack);
    }
    return finish(best_.excess, true);
  }

  void improve(const Solved& found) {
    if (found.excess < best_.excess) best_.order = found.order, best_.excess = found.excess;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Node {
    Set<W> left;
    double cost;
    double to_go;  // the packing bound of `left`
    std::uint32_t parent;
    bool closed;
    std::vector<std::uint16_t> placed;  // from the parent to here
  };
  struct Open {
    double bound;
    double cost;
    std::uint32_t node;
    bool operator<(const Open& other) const {  // the queue pops its largest: least bound, then deepest, then oldest
      if (bound != other.bound) return bound > other.bound;
      if (cost != other.cost) return cost < other.cost;
      return node > other.node;
    }
  };

  Solved finish(double bound, bool optimal) {
    best_.lower_bound = optimal ? best_.excess : std::min(bound, best_.excess);
    best_.optimal = optimal;
    return best_;
  }

  void push(const Set<W>& left, double cost, double to_go, std::uint32_t parent, std::vector<std::uint16_t> placed) {
    const auto [found, fresh] = index_.try_emplace(left, static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) {
      nodes_.push_back({left, cost, to_go, parent, false, std::move(placed)});
    } else {
      Node& node = nodes_[found->second];
      if (node.closed || cost >= node.cost) return;  // the bound is consistent: a closed node has its least cost
      node.cost = cost;
      node.parent = parent;
      node.placed = std::move(placed);
    }
    open_.push({cost + to_go, cost, found->second});
  }

  // Cost of placing `item` first among `left`, and what it takes off the packing bound.
  void place(Set<W>& left, std::size_t item, double& cost, double& to_go) const {
    (beaten_by_[item] & left).for_each([&](std::size_t other) { cost += margins_(other, item); });
    for (std::size_t c : cycles_of_[item])
      if (cycle_sets_[c].without(left).empty()) to_go -= cycles_[c].weight;
    left.erase(item);
  }

  // The strongly connected component of the majority graph of `left` that no other item of `left` beats: some optimal order
  // starts with one of its items (extended Condorcet criterion).
  Set<W> top_component(const Set<W>& left) const {
    const auto closure = [&](std::size_t from, const std::vector<Set<W>>& edges) {
      Set<W> reached, frontier;
      reached.insert(from);
      frontier.insert(from);
      while (!frontier.empty()) {
        Set<W> next;
        frontier.for_each([&](std::size_t i) { next = next | (edges[i] & left); });
        frontier = next.without(reached);
        reached = reached | frontier;
      }
      return reached;
    };
    std::size_t start = left.first();
    while (true) {
      const Set<W> above = closure(start, beaten_by_);
      const Set<W> outside = above.without(closure(start, beats_));
      if (outside.empty()) return above;
      start = outside.first();
    }
  }

  void expand(std::uint32_t parent, double slack) {
    const Set<W> left = nodes_[parent].left;
    const double parent_cost = nodes_[parent].cost, parent_to_go = nodes_[parent].to_go;
    top_component(left).for_each([&](std::size_t item) {
      Set<W> rest = left;
      double cost = parent_cost, to_go = parent_to_go;
      place(rest, item, cost, to_go);
      if (cost + to_go >= best_.excess - slack) return;
      std::vector<std::uint16_t> placed(1, static_cast<std::uint16_t>(item));
      // Items that beat or tie all that is left cost nothing: place them at once.
      while (!rest.empty()) {
        const Set<W> component = top_component(rest);
        const std::size_t only = component.first();
        Set<W> single;
        single.insert(only);
        if (!(component == single)) break;
        place(rest, only, cost, to_go);
        placed.push_back(static_cast<std::uint16_t>(only));
      }
      push(rest, cost, std::max(to_go, 0.0), parent, std::move(placed));
    });
  }

  void rebuild(std::uint32_t leaf) {
    std::vector<std::vector<std::uint16_t>> pieces;
    for (std::uint32_t at = leaf; at != none; at = nodes_[at].parent) pieces.push_back(nodes_[at].placed);
    best_.order.clear();
    for (std::size_t i = pieces.size(); i-- > 0;) best_.order.insert(best_.order.end(), pieces[i].begin(), pieces[i].end());
  }

  const Margins& margins_;
  std::vector<Cycle> cycles_;
  const ConsensusLimits& limits_;
  std::uint64_t& expanded_;
  std::vector<Set<W>> beaten_by_, beats_;
  std::vector<std::vector<std::size_t>> cycles_of_;
  std::vector<Set<W>> cycle_sets_;
  std::vector<Node> nodes_;
  std::unordered_map<Set<W>, std::uint32_t, SetHash<W>> index_;
  std::priority_queue<Open> open_;
  Solved best_;
};

// The search over sets; where it does not end soon, the linear program; what that leaves, the search again.
template <std::size_t W>
Solved prove(const Margins& margins, const PairMatrix& pairs, std::vector<Cycle> cycles, std::vector<std::size_t> incumbent,
             double incumbent_excess, const ConsensusLimits& limits, std::uint64_t& nodes) {
  constexpr std::uint64_t worth_it = 4000;
  constexpr std::size_t most_items = 512;
  const std::uint64_t soon = std::min<std::uint64_t>(1000, 2'500'000 / (margins.size * margins.size));
  Search<W> search(margins, std::move(cycles), std::move(incumbent), incumbent_excess, limits, nodes);
  if (margins.size > most_items || nodes + soon + worth_it > limits.max_nodes) return search.run(limits.max_nodes);
  Solved found = search.run(nodes + soon);
  if (found.optimal || (limits.stop && limits.stop())) return found;
  found = solve_by_program(margins, pairs, std::move(found), limits, nodes + (limits.max_nodes - nodes) / 2, nodes);
  if (found.optimal || (limits.stop && limits.stop())) return found;
  search.improve(found);
  Solved last = search.run(limits.max_nodes);
  if (!last.optimal) last.lower_bound = std::min(std::max(last.lower_bound, found.lower_bound), last.excess);
  return last;
}

Solved solve_component(const PairMatrix& pairs, std::span<const ItemId> items, const ConsensusLimits& limits,
                       std::uint64_t& nodes) {
  const std::size_t n = items.size();
  Solved solved;
  if (n <= 2) {
    solved.order.resize(n);
    std::iota(solved.order.begin(), solved.order.end(), std::size_t{0});
    solved.optimal = true;
    return solved;
  }
  Margins margins{n, std::vector<double>(n * n, 0.0), 0.0};
  PairMatrix local(n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      local(a, b) = pairs(items[a], items[b]);
      margins(a, b) = std::max(0.0, pairs(items[a], items[b]) - pairs(items[b], items[a]));
    }
  margins.find_unit();
  if (limits.stop && limits.stop()) {  // nothing of order n^3 any more
    std::vector<ItemId> quick = borda_order(local);
    insertion_search(quick, local, limits.stop);
    solved.order.assign(quick.begin(), quick.end());
    solved.excess = margins.excess_of(quick);
    return solved;
  }
  Margins rest;
  std::vector<Cycle> cycles = pack_cycles(margins, rest);

  // Two starts for a good incumbent: Borda, and the order of what the packing left over, which has no cycles.
  std::vector<ItemId> incumbent = borda_order(local);
  insertion_search(incumbent, local, limits.stop);
  PairMatrix left_over(n);
  std::copy(rest.value.begin(), rest.value.end(), left_over.values().begin());
  std::vector<ItemId> other;
  std::vector<bool> done(n, false);
  std::vector<std::size_t> above(n, 0);  // items not yet placed that go before this one
  for (std::size_t b = 0; b < n; ++b)
    for (std::size_t a = 0; a < n; ++a) above[a] += rest(b, a) > 0.0 ? 1 : 0;
  while (other.size() < n) {
    std::size_t pick = n;
    for (std::size_t a = 0; a < n && pick == n; ++a)
      if (!done[a] && above[a] == 0) pick = a;
    if (pick == n) pick = static_cast<std::size_t>(std::find(done.begin(), done.end(), false) - done.begin());
    done[pick] = true;
    for (std::size_t a = 0; a < n; ++a) above[a] -= rest(pick, a) > 0.0 ? 1 : 0;
    other.push_back(static_cast<ItemId>(pick));
  }
  insertion_search(other, local, limits.stop);
  if (margins.excess_of(other) < margins.excess_of(incumbent)) incumbent = other;

  const double excess = margins.excess_of(incumbent);
  std::vector<std::size_t> order(incumbent.begin(), incumbent.end());
  if (n <= 64) return prove<1>(margins, local, std::move(cycles), std::move(order), excess, limits, nodes);
  if (n <= 128) return prove<2>(margins, local, std::move(cycles), std::move(order), excess, limits, nodes);
  if (n <= 256) return prove<4>(margins, local, std::move(cycles), std::move(order), excess, limits, nodes);
  if (n <= 1024) return prove<16>(margins, local, std::move(cycles), std::move(order), excess, limits, nodes);
  solved.order = std::move(order);
  solved.excess = excess;
  for (const Cycle& cycle : cycles) solved.lower_bound += cycle.weight;
  solved.optimal = solved.excess <= solved.lower_bound;
  return solved;
}

// Strongly connected components of the majority graph, each before those it beats. Tarjan (1972), without recursion.
std::vector<std::vector<ItemId>> majority_components(const PairMatrix& pairs) {
  const std::size_t n = pairs.num_items();
  std::vector<std::size_t> number(n, 0), low(n, 0), next(n, 0), stack, path;
  std::vector<bool> on_stack(n, false);
  std::vector<std::vector<ItemId>> components;
  std::size_t counter = 0;
  for (std::size_t root = 0; root < n; ++root) {
    if (number[root] != 0) continue;
    path.push_back(root);
    while (!path.empty()) {
      const std::size_t v = path.back();
      if (number[v] == 0) {
        number[v] = low[v] = ++counter;
        stack.push_back(v);
        on_stack[v] = true;
      }
      bool deeper = false;
      while (next[v] < n) {
        const std::size_t w = next[v];
        if (w == v || !(pairs(v, w) > pairs(w, v))) {
          ++next[v];
          continue;
        }
        if (number[w] == 0) {
          path.push_back(w);
          deeper = true;
          break;
        }
        if (on_stack[w]) low[v] = std::min(low[v], low[w]);
        ++next[v];
      }
      if (deeper) continue;
      path.pop_back();
      if (low[v] != number[v]) continue;
      components.emplace_back();
      std::size_t w;
      do {
        w = stack.back();
        stack.pop_back();
        on_stack[w] = false;
        components.back().push_back(static_cast<ItemId>(w));
      } while (w != v);
      std::sort(components.back().begin(), components.back().end());
    }
  }
  std::reverse(components.begin(), components.end());
  return components;
}

}  // namespace

Consensus search_consensus(const PairMatrix& pairs, const ConsensusLimits& limits) {
  Consensus result;
  result.optimal = true;
  double bound_excess = 0.0, excess = 0.0;
  for (const std::vector<ItemId>& component : majority_components(pairs)) {
    const Solved solved = solve_component(pairs, component, limits, result.nodes);
    for (std::size_t i : solved.order) result.order.push_back(component[i]);
    excess += solved.excess;
    bound_excess += solved.optimal ? solved.excess : solved.lower_bound;
    result.optimal = result.optimal && solved.optimal;
  }
  result.cost = consensus_cost(result.order, pairs);
  result.lower_bound = result.optimal ? result.cost : result.cost - (excess - bound_excess);
  return result;
}

}  // namespace caucus::detail
