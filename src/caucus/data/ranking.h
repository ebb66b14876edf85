// Rankings in memory: orderings best first, in compressed rows, with a weight each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/data/scratch.h"

namespace caucus {

using ItemId = std::uint32_t;  // 0-based position in Dataset::items

// What it means that a ranking does not list an item. The two give different likelihoods.
enum class Unranked : std::uint8_t {
  last,    // a ballot: unlisted items are below all listed ones, in unknown order
  absent,  // a race: unlisted items did not take part
};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<Unranked>{"last", "absent"};

// One ranking, not owned. Items of a tie-group are adjacent and in ascending order.
class RankingView {
 public:
  RankingView(std::span<const ItemId> items, const std::uint8_t* group_ends = nullptr) : items_(items), group_ends_(group_ends) {}

  std::size_t size() const { return items_.size(); }
  ItemId operator[](std::size_t position) const { return items_[position]; }
  std::span<const ItemId> items() const { return items_; }

  // Does a tie-group end at this position? Always, where the set has no ties.
  bool ends_group(std::size_t position) const { return group_ends_ == nullptr || group_ends_[position] != 0; }
  bool has_ties() const;
  // One flag per item, 1 where a tie-group ends; empty: no ties in the set.
  std::span<const std::uint8_t> group_ends() const {
    return group_ends_ == nullptr ? std::span<const std::uint8_t>{} : std::span(group_ends_, items_.size());
  }

  // Calls visit(std::span<const ItemId> group) for each tie-group, best first.
  template <class Visit>
  void for_each_group(Visit&& visit) const {
    for (std::size_t begin = 0, i = 0; i < items_.size(); ++i) {
      if (!ends_group(i)) continue;
      visit(items_.subspan(begin, i + 1 - begin));
      begin = i + 1;
    }
  }

  friend bool operator==(RankingView a, RankingView b);

 private:
  std::span<const ItemId> items_;
  const std::uint8_t* group_ends_;  // one flag per item; nullptr: no ties
};

// The arrays of a set, where they lie in memory that `owner` keeps: a mapped file.
struct RankingArrays {
  std::span<const std::uint64_t> offsets;
  std::span<const ItemId> items;
  std::span<const std::uint8_t> group_ends;  // empty: no ties
  std::span<const double> weights;
  std::span<const std::uint32_t> row_rankings;  // empty: row i is ranking i
  std::span<const double> row_weights;
  double total_weight = 0.0;
  std::shared_ptr<const void> owner;
  Scratch scratch;
};

// Distinct rankings with weights, plus the rows they came from.
//
// A *row* is a ranking as listed in the file; equal rows are merged into one distinct ranking whose
// weight is their sum. Fits loop over distinct rankings; score and assign report rows.
class RankingSet {
 public:
  RankingSet() : offsets_{0} {}
  // A set over borrowed arrays, which the caller has checked: what the builder promises holds for them. Takes no memory.
  explicit RankingSet(const RankingArrays& arrays);

  std::size_t size() const { return weights_.size(); }
  bool empty() const { return weights_.empty(); }
  RankingView operator[](std::size_t i) const {
    const std::uint64_t begin = offsets_[i];
    return {{items_.data() + begin, offsets_[i + 1] - begin}, group_ends_.empty() ? nullptr : group_ends_.data() + begin};
  }
  double weight(std::size_t i) const { return weights_[i]; }
  std::size_t length(std::size_t i) const { return offsets_[i + 1] - offsets_[i]; }
  double total_weight() const { return total_weight_; }

  // The raw arrays, for batch kernels: ranking i is items()[offsets()[i] .. offsets()[i+1]).
  std::span<const ItemId> items() const { return {items_.data(), items_.size()}; }
  std::span<const std::uint64_t> offsets() const { return {offsets_.data(), offsets_.size()}; }
  std::span<const double> weights() const { return {weights_.data(), weights_.size()}; }
  std::span<const std::uint8_t> group_ends() const {  // empty: no ties in the set
    return {group_ends_.data(), group_ends_.size()};
  }
  bool has_ties() const { return !group_ends_.empty(); }

  std::size_t num_rows() const { return row_weights_.empty() ? weights_.size() : row_weights_.size(); }
  std::size_t row_ranking(std::size_t row) const { return row_rankings_.empty() ? row : row_rankings_[row]; }
  std::span<const std::uint32_t> row_rankings() const {  // empty: row i is ranking i
    return {row_rankings_.data(), row_rankings_.size()};
  }
  std::span<const double> row_weights() const { return {row_weights_.data(), row_weights_.size()}; }
  bool is_borrowed() const { return items_.is_borrowed(); }
  // Where large arrays that are made from the rankings go.
  const Scratch& scratch() const { return scratch_; }
  double row_weight(std::size_t row) const { return row_weights_.empty() ? weights_[row] : row_weights_[row]; }

  // The same rankings under other weights (E-step responsibilities, bootstrap counts, folds). Rankings
  // of weight 0 stay. Rows are dropped.
  RankingSet with_weights(std::vector<double> weights) const;
  // Rankings [begin, end), where they are: the set must outlive the part. Rows are dropped.
  RankingSet part(std::size_t begin, std::size_t end) const;
  // The rows with the given numbers as a set of their own (splits); rankings are merged again.
  RankingSet select_rows(std::span<const std::size_t> rows) const;

  // Item i becomes new_ids[i], a permutation or an injection into a larger set. In place; rows and their order stay. O(size).
  void renumber(std::span<const ItemId> new_ids);

  std::size_t memory_bytes() const;

 private:
  friend class RankingSetBuilder;

  Buffer<std::uint64_t> offsets_;
  Buffer<ItemId> items_;
  Buffer<std::uint8_t> group_ends_;
  Buffer<double> weights_;
  Buffer<std::uint32_t> row_rankings_;  // empty: row i is ranking i
  Buffer<double> row_weights_;
  double total_weight_ = 0.0;
  Scratch scratch_;
};

// Builds a RankingSet row by row, merging equal rankings by hash. Amortised O(length) per row.
class RankingSetBuilder {
 public:
  RankingSetBuilder();
  // The rankings lie where `scratch` says while they are many; the index of those seen, 9 to 15 bytes each, is in memory.
  explicit RankingSetBuilder(const Scratch& scratch);
  ~RankingSetBuilder();
  RankingSetBuilder(RankingSetBuilder&&) noexcept;
  RankingSetBuilder& operator=(RankingSetBuilder&&) noexcept;

  // Items best first, each at most once (the caller checks), weight > 0. group_ends: one flag per item, 1 where a tie-group ends
  // (the last must be 1), else 0; empty means no ties. Order inside a group is free. Returns the index of the distinct ranking.
  std::size_t add(std::span<const ItemId> items, double weight = 1.0, std::span<const std::uint8_t> group_ends = {});
  std::size_t add(RankingView ranking, double weight = 1.0) { return add(ranking.items(), weight, ranking.group_ends()); }
  // The same where the index is of no use: rows wait in small batches so that the memory their lookups touch is fetched ahead.
  // Faster by half on large sets of distinct rankings. May be mixed with add().
  void append(std::span<const ItemId> items, double weight = 1.0, std::span<const std::uint8_t> group_ends = {});
  // append() without ties and without a copy: room for up to `max_size` items, and how many of them were written there.
  // room() may be called again before written(): the row is begun anew.
  ItemId* room(std::size_t max_size) {
    set_.items_.reserve(waiting_end_ + max_size + 1);
    return set_.items_.data() + waiting_end_;
  }
  void written(std::size_t size, double weight);
  // The same from tie-groups.
  std::size_t add_groups(std::span<const std::vector<ItemId>> groups, double weight = 1.0);
  // How many rows there will be, as far as is known: the table grows to its size in fewer steps.
  void expect_rows(std::size_t rows) { expected_rows_ = rows; }

  std::size_t num_rows();
  std::size_t num_distinct();
  RankingSet build();  // leaves the builder empty

 private:
  struct Waiting {
    double weight;
    std::uint32_t size;
    std::uint32_t hash;
  };
  static constexpr std::size_t batch = 32;

  void wait(std::size_t size, double weight, std::uint32_t hash);
  std::size_t insert(std::uint64_t from, const Waiting& row);
  bool same_as_stored(std::size_t index, std::uint64_t from, std::uint32_t size) const;
  void grow_table();
  void flush();

  RankingSet set_;
  // Open addressing. A slot holds the index of a distinct ranking + 1 in its low bits, as many as the table's size needs, and the
  // bits of the hash above them: four bytes, so that more of the table stays in the cache. 0 = free.
  Buffer<std::uint32_t> table_;
  Buffer<std::uint32_t> hashes_;  // of each distinct ranking, for when the table grows
  // Rows that wait lie behind the stored ones in the arrays of set_, up to waiting_end_: those that are new stay there.
  std::vector<Waiting> waiting_;
  std::uint64_t waiting_end_ = 0;
  std::size_t last_index_ = 0;  // of the row last stored
  std::size_t expected_rows_ = 0;
  bool merged_ = false;
};

}  // namespace caucus
