#include "caucus/data/connectivity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <tuple>

#include "caucus/base/parallel.h"

namespace caucus {

namespace {

using Node = std::uint32_t;
struct Edge {
  Node from, to;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

// Edges with duplicates dropped, while they are few in kind: a bitmap for moderate n, sorting beyond.
class EdgeSet {
 public:
  explicit EdgeSet(std::size_t num_items) : num_items_(num_items) {
    if (num_items <= 8192) seen_.assign(num_items * num_items, false);
  }
  void add(Node from, Node to) {
    if (!seen_.empty()) {
      if (seen_[from * num_items_ + to]) return;
      seen_[from * num_items_ + to] = true;
    } else if (edges_.size() >= compact_at_) {
      compact();
      compact_at_ = std::max<std::size_t>(2 * edges_.size(), compact_at_);
    }
    edges_.push_back({from, to});
  }
  std::vector<Edge> take() {
    compact();
    return std::move(edges_);
  }

 private:
  void compact() {
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }
  std::size_t num_items_;
  std::vector<bool> seen_;
  std::vector<Edge> edges_;
  std::size_t compact_at_ = std::size_t{1} << 20;
};

struct Graph {
  std::vector<std::uint64_t> begin;
  std::vector<Node> to;
  std::size_t size() const { return begin.size() - 1; }
};

Graph make_graph(std::size_t num_nodes, const std::vector<Edge>& edges, bool reversed = false) {
  Graph graph;
  graph.begin.assign(num_nodes + 1, 0);
  for (const Edge& edge : edges) ++graph.begin[(reversed ? edge.to : edge.from) + 1];
  for (std::size_t v = 0; v < num_nodes; ++v) graph.begin[v + 1] += graph.begin[v];
  graph.to.resize(edges.size());
  auto next = graph.begin;
  for (const Edge& edge : edges) graph.to[next[reversed ? edge.to : edge.from]++] = reversed ? edge.from : edge.to;
  return graph;
}

// Tarjan's strongly connected components, without recursion.
std::vector<int> strong_components(const Graph& graph) {
  constexpr int unseen = -1;
  const std::size_t n = graph.size();
  std::vector<int> index(n, unseen), low(n, 0), component(n, unseen);
  std::vector<Node> stack, path;
  std::vector<std::uint64_t> next(graph.begin.begin(), graph.begin.end() - 1);
  int counter = 0, found = 0;
  for (Node root = 0; root < n; ++root) {
    if (index[root] != unseen) continue;
    path.push_back(root);
    index[root] = low[root] = counter++;
    stack.push_back(root);
    while (!path.empty()) {
      const Node v = path.back();
      if (next[v] < graph.begin[v + 1]) {
        const Node w = graph.to[next[v]++];
        if (index[w] == unseen) {
          index[w] = low[w] = counter++;
          stack.push_back(w);
          path.push_back(w);
        } else if (component[w] == unseen) {
          low[v] = std::min(low[v], index[w]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[v]);
      if (low[v] != index[v]) continue;
      for (bool more = true; more;) {
        const Node w = stack.back();
        stack.pop_back();
        component[w] = found;
        more = w != v;
      }
      ++found;
    }
  }
  return component;
}

std::vector<bool> reach(const Graph& graph, Node from) {
  std::vector<bool> seen(graph.size(), false);
  std::vector<Node> queue{from};
  seen[from] = true;
  while (!queue.empty()) {
    const Node v = queue.back();
    queue.pop_back();
    for (std::uint64_t e = graph.begin[v]; e < graph.begin[v + 1]; ++e) {
      const Node w = graph.to[e];
      if (seen[w]) continue;
      seen[w] = true;
      queue.push_back(w);
    }
  }
  return seen;
}

}  // namespace

namespace {

// What rankings say of the graph.
struct Found {
  std::vector<Node> from, to;  // edges, ascending
  // For each item that ends some ballot: the items listed in every ballot it ends. All others it beats.
  std::vector<std::uint8_t> ends_ballot;
  std::vector<std::vector<ItemId>> always_listed;

  std::vector<Edge> edges() const {
    std::vector<Edge> all;
    for (std::size_t i = 0; i < from.size(); ++i) all.push_back({from[i], to[i]});
    return all;
  }
  void set_edges(const std::vector<Edge>& all) {
    from.clear();
    to.clear();
    for (const Edge& edge : all) from.push_back(edge.from), to.push_back(edge.to);
  }
  void ends(ItemId item, const std::vector<ItemId>& listed) {
    auto& always = always_listed[item];
    if (ends_ballot[item] == 0) {
      ends_ballot[item] = 1;
      always = listed;
    } else if (always.size() > 1) {
      std::vector<ItemId> common;
      std::ranges::set_intersection(always, listed, std::back_inserter(common));
      always.swap(common);
    }
  }
  void merge(const Found& other) {
    std::vector<Edge> all;
    std::ranges::set_union(edges(), other.edges(), std::back_inserter(all));
    set_edges(all);
    for (std::size_t i = 0; i < ends_ballot.size(); ++i)
      if (other.ends_ballot[i] != 0) ends(static_cast<ItemId>(i), other.always_listed[i]);
  }
};
auto parts(IsA<Found> auto& found) { return std::tie(found.from, found.to, found.ends_ballot, found.always_listed); }

void look_at(const Dataset& data, std::size_t begin, std::size_t end, Found& found) {
  const std::size_t n = data.num_items();
  const RankingSet& rankings = data.rankings;
  EdgeSet chain(n);
  std::vector<ItemId> sorted;
  for (std::size_t i = begin; i < end; ++i) {
    if (!(rankings.weight(i) > 0.0)) continue;
    const RankingView ranking = rankings[i];
    bool first = true;
    ItemId previous = 0;
    ranking.for_each_group([&](std::span<const ItemId> group) {
      if (!first) chain.add(previous, group[0]);
      for (std::size_t j = 0; j + 1 < group.size(); ++j) chain.add(group[j], group[j + 1]);
      if (group.size() > 1) chain.add(group.back(), group[0]);
      previous = group.back();
      first = false;
    });
    if (first || data.unranked == Unranked::absent || ranking.size() == n) continue;
    sorted.assign(ranking.items().begin(), ranking.items().end());
    std::sort(sorted.begin(), sorted.end());
    found.ends(previous, sorted);
  }
  found.set_edges(chain.take());
}

}  // namespace

Connectivity connectivity(const Dataset& data, const Workers& workers) {
  const std::size_t n = data.num_items();
  // A block keeps a bit for each pair of items.
  const Found seen = parallel_fold(
      Blocks(data.rankings.size(), std::max<std::size_t>(4096, n * n / 8)), workers,
      [&] {
        return Found{{}, {}, std::vector<std::uint8_t>(n, 0), std::vector<std::vector<ItemId>>(n)};
      },
      [&](Found& part, std::size_t begin, std::size_t end) { look_at(data, begin, end, part); },
      [](Found& total, const Found& part) { total.merge(part); });
  const std::vector<std::uint8_t>& ends_ballot = seen.ends_ballot;
  const std::vector<std::vector<ItemId>>& always_listed = seen.always_listed;

  // Nodes: items 0..n-1, then the inner nodes of a binary tree whose leaves are the items: tree node t in
  // 1..size-1 is graph node n + t, leaf size + i is item i.
  std::vector<Edge> edges = seen.edges();
  std::size_t num_nodes = n;
  if (std::ranges::find(ends_ballot, std::uint8_t{1}) != ends_ballot.end()) {
    num_nodes = 2 * n + 1;
    const auto node_of = [n](std::size_t t) { return static_cast<Node>(t >= n ? t - n : n + t); };
    for (std::size_t t = 1; t < n; ++t) {
      edges.push_back({node_of(t), node_of(2 * t)});
      edges.push_back({node_of(t), node_of(2 * t + 1)});
    }
    const auto link_range = [&](Node from, std::size_t begin, std::size_t end) {
      for (std::size_t l = begin + n, r = end + n; l < r; l /= 2, r /= 2) {
        if (l % 2 == 1) edges.push_back({from, node_of(l++)});
        if (r % 2 == 1) edges.push_back({from, node_of(--r)});
      }
    };
    for (std::size_t a = 0; a < n; ++a) {
      if (ends_ballot[a] == 0) continue;
      std::size_t begin = 0;
      for (ItemId item : always_listed[a]) {
        link_range(static_cast<Node>(a), begin, item);
        begin = item + 1;
      }
      link_range(static_cast<Node>(a), begin, n);
    }
  }

  const Graph graph = make_graph(num_nodes, edges);
  const std::vector<int> raw = strong_components(graph);
  Connectivity result;
  result.component_of_item.assign(n, 0);
  std::vector<int> renumber(num_nodes + 1, -1);
  for (std::size_t i = 0; i < n; ++i) {
    int& label = renumber[static_cast<std::size_t>(raw[i])];
    if (label < 0) {
      label = result.num_components++;
      result.component_sizes.push_back(0);
    }
    result.component_of_item[i] = label;
    ++result.component_sizes[static_cast<std::size_t>(label)];
  }
  result.strongly_connected = result.num_components <= 1;
  result.side_of_item.assign(n, Side::inside);
  if (result.strongly_connected) return result;

  result.largest = static_cast<int>(std::ranges::max_element(result.component_sizes) - result.component_sizes.begin());
  const auto root =
      static_cast<Node>(std::ranges::find(result.component_of_item, result.largest) - result.component_of_item.begin());
  const std::vector<bool> down = reach(graph, root);
  const std::vector<bool> up = reach(make_graph(num_nodes, edges, true), root);
  for (std::size_t i = 0; i < n; ++i) {
    if (result.component_of_item[i] == result.largest) continue;
    result.side_of_item[i] = up[i] ? Side::above : down[i] ? Side::below : Side::apart;
  }
  return result;
}

std::string describe(const Connectivity& found, const Dataset& data, std::size_t shown) {
  if (found.strongly_connected) return {};
  std::vector<std::string> parts;
  const auto name = [&](Side side, std::string_view text) {
    std::vector<std::string> names;
    std::size_t count = 0;
    for (std::size_t i = 0; i < data.num_items(); ++i) {
      if (found.side_of_item[i] != side) continue;
      if (++count <= shown) names.push_back("'" + data.items[i] + "'");
    }
    if (count == 0) return;
    std::string part = fmt::format("{}", fmt::join(names, ", "));
    if (count > shown) part += fmt::format(" and {} more", count - shown);
    parts.push_back(fmt::format("{} {}", part, text));
  };
  name(Side::above, "never lost to the rest, not even indirectly");
  name(Side::below, "never beat the rest, not even indirectly");
  name(Side::apart, "cannot be compared with the rest");
  return fmt::format("the comparison graph is not strongly connected: {}", fmt::join(parts, "; "));
}

}  // namespace caucus
