// Names of items as they turn up in a text, and ballot rows on their way into a data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

// Name -> id in order of first sight. Open addressing over xxhash; a lookup allocates nothing.
class ItemIndex {
 public:
  static constexpr ItemId none = static_cast<ItemId>(-1);

  ItemId find(std::string_view name) const;
  // The id of the name, a new one where it was never seen.
  ItemId insert(std::string_view name);
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  std::size_t slot_of(std::string_view name, std::uint32_t hash) const;
  void grow();

  std::vector<std::string> names_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::uint32_t> table_;  // id + 1; 0 = free
};

// The number of an item in the file -> id. Dense for small numbers, hashed for large ones, so that a number of a billion costs
// nothing.
class NumberIndex {
 public:
  static constexpr ItemId none = ItemIndex::none;

  std::span<const ItemId> dense() const { return dense_; }  // ids of the small numbers; none where there is no such item
  ItemId find(std::uint64_t number) const {
    if (number < dense_.size()) return dense_[number];
    if (large_.empty()) return none;
    const auto found = large_.find(number);
    return found == large_.end() ? none : found->second;
  }
  void insert(std::uint64_t number, ItemId id);

 private:
  static constexpr std::uint64_t dense_limit = 1U << 16;
  std::vector<ItemId> dense_;
  std::unordered_map<std::uint64_t, ItemId> large_;
};

// One ballot at a time, checked for repeated items, into the builder. Ballots that list or count nothing keep their place apart.
class BallotRows {
 public:
  BallotRows() = default;
  explicit BallotRows(const Scratch& scratch) : builder_(scratch) {}
  void begin() {
    items_.clear();
    ends_.clear();
    group_begin_ = 0;
    ties_ = false;
    ++stamp_;
  }
  // False where the ballot lists the item already; then nothing is added.
  bool push(ItemId item) {
    if (item >= seen_.size()) seen_.resize(static_cast<std::size_t>(item) + 1 + seen_.size() / 2, 0);
    if (seen_[item] == stamp_) return false;
    seen_[item] = stamp_;
    items_.push_back(item);
    return true;
  }
  // Ends a tie-group. Items since the last end are tied; an empty group is nothing.
  void end_group() {
    if (items_.size() - group_begin_ > 1) {
      ends_.resize(group_begin_, 1);
      ends_.resize(items_.size(), 0);
      ends_.back() = 1;
      ties_ = true;
    }
    group_begin_ = items_.size();
  }
  std::size_t size() const { return items_.size(); }
  // The groups pushed so far, last first.
  void reverse_groups();
  // Adds the ballot, as a blank one where it lists nothing or its weight is 0. A ballot without end_group() has no ties.
  void finish(double weight) {
    if (items_.empty() || weight == 0.0) {
      blank(weight);
      return;
    }
    if (ties_) ends_.resize(items_.size(), 1);
    builder_.append(items_, weight, ties_ ? std::span<const std::uint8_t>(ends_) : std::span<const std::uint8_t>{});
  }
  // A row without a ranking.
  void blank(double weight) {
    blanks_.push_back({builder_.num_rows() + blanks_.size(), weight});
    blank_weight_ += weight;
    num_zero_ += weight == 0.0 ? 1 : 0;
  }

  // A whole ballot without ties, each item at most once: the caller writes it to room() and checks it with marks().
  struct Strict {
    ItemId* room;
    std::uint64_t* marks;  // by item: the last ballot that listed it
    std::uint64_t stamp;   // of this ballot
  };
  Strict begin_strict(std::size_t num_items) {  // bounds the ids
    if (seen_.size() < num_items) seen_.resize(num_items, 0);
    return {builder_.room(num_items), seen_.data(), ++stamp_};
  }
  void finish_strict(std::size_t size, double weight) { builder_.written(size, weight); }

  double blank_weight() const { return blank_weight_; }  // of ballots that list nothing
  std::size_t num_zero() const { return num_zero_; }     // rows of weight 0
  bool any_blank() const { return blank_weight_ > 0.0 || num_zero_ > 0; }
  RankingSetBuilder& builder() { return builder_; }
  // The rankings so far, for readers that hand them over before the end; the places of blank ones are forgotten.
  RankingSet take() {
    blanks_.clear();
    return builder_.build();
  }
  // All that was added, into the data set.
  void build(Dataset& data) {
    data.rankings = builder_.build();
    data.blanks = std::move(blanks_);
  }

 private:
  std::vector<ItemId> items_;
  std::vector<std::uint8_t> ends_;  // filled from the first tie on
  std::size_t group_begin_ = 0;
  bool ties_ = false;
  std::vector<std::uint64_t> seen_;  // the last ballot that listed the item
  std::uint64_t stamp_ = 0;
  std::vector<BlankRow> blanks_;
  double blank_weight_ = 0.0;
  std::size_t num_zero_ = 0;
  RankingSetBuilder builder_;
};

// The values of blank rows out of columns that hold one value per row of the file: `covariates` keep the others.
void split_blank_rows(Dataset& data);

// Does a come before b where runs of digits count as numbers: "j2" before "j10".
bool natural_less(std::string_view a, std::string_view b);

// Sorts the items of a data set by name (natural_less) and renumbers the rankings.
void sort_items(Dataset& data);

// Names in the order given, made valid: UTF-8, not empty (the number instead), distinct (" (2)" appended). Says in `warnings`
// what it did.
std::vector<std::string> settle_names(const std::vector<std::string>& names, const std::vector<std::string>& fallback,
                                      std::vector<std::string>& warnings);

}  // namespace caucus
