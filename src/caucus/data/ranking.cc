#include "caucus/data/ranking.h"

#include <algorithm>
#include <cstring>
#include <limits>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus {

bool RankingView::has_ties() const {
  if (group_ends_ == nullptr) return false;
  return std::any_of(group_ends_, group_ends_ + items_.size(), [](std::uint8_t flag) { return flag == 0; });
}

bool operator==(RankingView a, RankingView b) {
  if (!std::ranges::equal(a.items_, b.items_)) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a.ends_group(i) != b.ends_group(i)) return false;
  return true;
}

RankingSet::RankingSet(const RankingArrays& arrays)
    : offsets_(Buffer<std::uint64_t>::borrow(arrays.offsets, arrays.owner)),
      items_(Buffer<ItemId>::borrow(arrays.items, arrays.owner)),
      group_ends_(Buffer<std::uint8_t>::borrow(arrays.group_ends, arrays.owner)),
      weights_(Buffer<double>::borrow(arrays.weights, arrays.owner)),
      row_rankings_(Buffer<std::uint32_t>::borrow(arrays.row_rankings, arrays.owner)),
      row_weights_(Buffer<double>::borrow(arrays.row_weights, arrays.owner)),
      total_weight_(arrays.total_weight),
      scratch_(arrays.scratch) {}

RankingSet RankingSet::with_weights(std::vector<double> weights) const {
  RankingSet copy;
  copy.offsets_ = offsets_;
  copy.items_ = items_;
  copy.group_ends_ = group_ends_;
  copy.scratch_ = scratch_;
  copy.weights_ = Buffer<double>(std::span<const double>(weights));
  for (double weight : copy.weights_) copy.total_weight_ += weight;
  return copy;
}

RankingSet RankingSet::part(std::size_t begin, std::size_t end) const {
  RankingArrays arrays;
  arrays.offsets = offsets().subspan(begin, end - begin + 1);
  arrays.items = items();
  arrays.group_ends = group_ends();
  arrays.weights = weights().subspan(begin, end - begin);
  for (const double weight : arrays.weights) arrays.total_weight += weight;
  arrays.owner = std::shared_ptr<const void>(std::shared_ptr<const void>(), this);
  return RankingSet(arrays);
}

RankingSet RankingSet::select_rows(std::span<const std::size_t> rows) const {
  RankingSetBuilder builder;
  for (std::size_t row : rows) builder.add((*this)[row_ranking(row)], row_weight(row));
  return builder.build();
}

void RankingSet::renumber(std::span<const ItemId> new_ids) {
  items_.own();
  for (ItemId& item : items_) item = new_ids[item];
  if (group_ends_.empty()) return;
  // Inside a tie-group ids ascend.
  for (std::size_t begin = 0, i = 0; i < items_.size(); ++i) {
    if (group_ends_[i] == 0) continue;
    if (i > begin) std::sort(items_.begin() + begin, items_.begin() + i + 1);
    begin = i + 1;
  }
}

std::size_t RankingSet::memory_bytes() const {
  return offsets_.capacity() * sizeof(std::uint64_t) + items_.capacity() * sizeof(ItemId) + group_ends_.capacity() +
         (weights_.capacity() + row_weights_.capacity()) * sizeof(double) + row_rankings_.capacity() * sizeof(std::uint32_t);
}

RankingSetBuilder::RankingSetBuilder() = default;
RankingSetBuilder::RankingSetBuilder(const Scratch& scratch) {
  if (scratch.folder.empty()) return;
  set_.scratch_ = scratch;
  set_.offsets_ = Buffer<std::uint64_t>::in_folder(scratch.folder, scratch.least);
  set_.offsets_.push_back(0);
  set_.items_ = Buffer<ItemId>::in_folder(scratch.folder, scratch.least);
  set_.group_ends_ = Buffer<std::uint8_t>::in_folder(scratch.folder, scratch.least);
  set_.weights_ = Buffer<double>::in_folder(scratch.folder, scratch.least);
  set_.row_rankings_ = Buffer<std::uint32_t>::in_folder(scratch.folder, scratch.least);
  set_.row_weights_ = Buffer<double>::in_folder(scratch.folder, scratch.least);
}
RankingSetBuilder::~RankingSetBuilder() = default;
RankingSetBuilder::RankingSetBuilder(RankingSetBuilder&&) noexcept = default;
RankingSetBuilder& RankingSetBuilder::operator=(RankingSetBuilder&&) noexcept = default;

std::size_t RankingSetBuilder::num_rows() {
  flush();
  return set_.num_rows();
}

std::size_t RankingSetBuilder::num_distinct() {
  flush();
  return set_.size();
}

namespace {

// Short rows, as most are, without a call and without a branch for each item.
bool same_items(const ItemId* a, const ItemId* b, std::size_t size) {
  constexpr std::size_t few = 16;
  if (size > few) return std::memcmp(a, b, size * sizeof(ItemId)) == 0;
  std::uint64_t differences = 0;
  std::size_t i = 0;
  for (; i + 2 <= size; i += 2) {
    std::uint64_t one = 0, other = 0;
    std::memcpy(&one, a + i, sizeof one);
    std::memcpy(&other, b + i, sizeof other);
    differences |= one ^ other;
  }
  if (i < size) differences |= a[i] ^ b[i];
  return differences == 0;
}

}  // namespace

bool RankingSetBuilder::same_as_stored(std::size_t index, std::uint64_t from, std::uint32_t size) const {
  const std::uint64_t begin = set_.offsets_[index];
  if (set_.offsets_[index + 1] - begin != size) return false;
  if (!same_items(set_.items_.data() + begin, set_.items_.data() + from, size)) return false;
  return set_.group_ends_.empty() || std::memcmp(set_.group_ends_.data() + begin, set_.group_ends_.data() + from, size) == 0;
}

namespace {

// Products of 128 bits folded to 64, 16 bytes at a time (the scheme of wyhash). Most rows are shorter than what a general hash is
// made for.
std::uint32_t hash_of(const ItemId* items, std::size_t size) {
  constexpr std::uint64_t first = 0x9e3779b97f4a7c15ULL, second = 0xe7037ed1a0b428dbULL;
  __extension__ using Wide = unsigned __int128;
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t state = first ^ (size * second);
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, items + i, 8);
    std::memcpy(&high, items + i + 2, 8);
    state = fold(low ^ first ^ state, high ^ second);
  }
  if (i < size) {
    const std::uint64_t a = items[i], b = i + 1 < size ? items[i + 1] : 0, c = i + 2 < size ? items[i + 2] : 0;
    state = fold((a << 32 | b) ^ first ^ state, c ^ second);
  }
  const std::uint64_t hash = fold(state ^ second, first);
  return static_cast<std::uint32_t>(hash >> 32 ^ hash);
}

bool has_tie(std::span<const std::uint8_t> group_ends) {
  return !group_ends.empty() && std::memchr(group_ends.data(), 0, group_ends.size()) != nullptr;
}

// A canonical form, so that equal rankings are equal arrays: ties sorted inside their group.
void sort_groups(std::span<ItemId> items, std::span<const std::uint8_t> group_ends) {
  for (std::size_t begin = 0, i = 0; i < items.size(); ++i) {
    if (group_ends[i] == 0) continue;
    std::sort(items.begin() + static_cast<std::ptrdiff_t>(begin), items.begin() + static_cast<std::ptrdiff_t>(i + 1));
    begin = i + 1;
  }
}

}  // namespace

void RankingSetBuilder::grow_table() {
  std::size_t size = std::max<std::size_t>(1024, table_.size() * 2);
  // As many distinct rankings as this share of all rows; later rows repeat earlier ones more often, so it is no underestimate.
  if (const std::size_t rows = set_.num_rows(); rows > 0 && expected_rows_ > rows) {
    const double expected = static_cast<double>(set_.size()) / static_cast<double>(rows) * static_cast<double>(expected_rows_);
    while (static_cast<double>(size) < 4.0 / 3.0 * expected && size < table_.size() * 64) size *= 2;
  }
  table_ = {};
  table_ = Buffer<std::uint32_t>::zeros(size);
  const auto mask = static_cast<std::uint32_t>(size - 1);
  constexpr std::size_t ahead = 16;  // slots lie anywhere in the table: they are asked for before they are needed
  for (std::size_t index = 0; index < hashes_.size(); ++index) {
    const std::uint32_t hash = hashes_[index];
    if (index + ahead < hashes_.size()) __builtin_prefetch(&table_[hashes_[index + ahead] & mask], 1);
    std::size_t slot = hash & mask;
    while (table_[slot] != 0) slot = (slot + 1) & mask;
    table_[slot] = (hash & ~mask) | static_cast<std::uint32_t>(index + 1);
  }
}

std::size_t RankingSetBuilder::add(std::span<const ItemId> items, double weight, std::span<const std::uint8_t> group_ends) {
  append(items, weight, group_ends);
  flush();
  return last_index_;
}

void RankingSetBuilder::append(std::span<const ItemId> items, double weight, std::span<const std::uint8_t> group_ends) {
  // Where it is known how many rows will come, their room is taken at once: it costs nothing before it is written to.
  constexpr std::size_t most_ahead = std::size_t{1} << 26;
  if (expected_rows_ > 0 && set_.items_.capacity() == 0 && items.size() <= most_ahead / expected_rows_)
    set_.items_.reserve(expected_rows_ * items.size() + 1);
  ItemId* const row = room(items.size());
  std::copy(items.begin(), items.end(), row);
  std::uint32_t hash = 0;
  if (has_tie(group_ends)) {
    sort_groups({row, items.size()}, group_ends);
    set_.group_ends_.resize(waiting_end_, 1);
    set_.group_ends_.append(group_ends);
    hash = static_cast<std::uint32_t>(XXH3_64bits(group_ends.data(), group_ends.size_bytes()));
  }
  wait(items.size(), weight, hash ^ hash_of(row, items.size()));
}

void RankingSetBuilder::written(std::size_t size, double weight) {
  wait(size, weight, hash_of(set_.items_.data() + waiting_end_, size));
}

void RankingSetBuilder::wait(std::size_t size, double weight, std::uint32_t hash) {
  waiting_end_ += size;
  if (!set_.group_ends_.empty()) set_.group_ends_.resize(waiting_end_, 1);
  waiting_.push_back({weight, static_cast<std::uint32_t>(size), hash});
  if (!table_.empty()) __builtin_prefetch(&table_[hash & (table_.size() - 1)]);
  if (waiting_.size() >= batch) flush();
}

void RankingSetBuilder::flush() {
  if (waiting_.empty()) return;
  // Rows that were seen before will be compared with what is stored, far away in memory. Each step's lines are asked for while
  // those of the step before arrive.
  if (!table_.empty()) {
    const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
    const auto likely = [&](const Waiting& row) -> std::size_t {
      const std::uint32_t slot = table_[row.hash & mask];
      return ((slot ^ row.hash) & ~mask) == 0 ? slot & mask : 0;
    };
    for (const Waiting& row : waiting_)
      if (const std::size_t index = likely(row); index != 0) {
        __builtin_prefetch(set_.offsets_.data() + index - 1);
        __builtin_prefetch(set_.weights_.data() + index - 1, 1);
      }
    for (const Waiting& row : waiting_)
      if (const std::size_t index = likely(row); index != 0) {
        // A row may begin in one line of the cache and end in the next.
        const ItemId* const items = set_.items_.data() + set_.offsets_[index - 1];
        __builtin_prefetch(items);
        __builtin_prefetch(items + std::max<std::uint32_t>(row.size, 1) - 1);
      }
  }
  std::uint64_t from = set_.offsets_[set_.size()];
  for (const Waiting& row : waiting_) {
    last_index_ = insert(from, row);
    from += row.size;
  }
  waiting_.clear();
  waiting_end_ = set_.offsets_[set_.size()];
  set_.items_.resize_written(waiting_end_);
  if (!set_.group_ends_.empty()) set_.group_ends_.resize(waiting_end_);
}

std::size_t RankingSetBuilder::insert(std::uint64_t from, const Waiting& row) {
  // Three quarters full at most, so the table costs 5 to 11 bytes per distinct ranking, and the hashes 4.
  if (table_.empty() || set_.size() + set_.size() / 3 >= table_.size()) grow_table();
  const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
  const auto matches = [&](std::uint32_t entry) {
    return ((entry ^ row.hash) & ~mask) == 0 && same_as_stored((entry & mask) - 1, from, row.size);
  };
  std::size_t slot = row.hash & mask;
  while (table_[slot] != 0 && !matches(table_[slot])) slot = (slot + 1) & mask;

  const bool fresh = table_[slot] == 0;
  const std::size_t index = fresh ? set_.size() : (table_[slot] & mask) - 1;
  if (!fresh && !merged_) {
    // The first merge: from here on rows and distinct rankings differ, so rows are recorded.
    merged_ = true;
    set_.row_rankings_.resize(set_.size());
    for (std::size_t i = 0; i < set_.size(); ++i) set_.row_rankings_[i] = static_cast<std::uint32_t>(i);
    set_.row_weights_.append({set_.weights_.data(), set_.weights_.size()});
  }
  if (merged_) {
    set_.row_rankings_.push_back(static_cast<std::uint32_t>(index));
    set_.row_weights_.push_back(row.weight);
  }
  set_.total_weight_ += row.weight;
  if (!fresh) {
    set_.weights_[index] += row.weight;
    return index;
  }

  if (set_.size() >= std::numeric_limits<std::uint32_t>::max() / 2) throw DataError("more than 2 billion distinct rankings");
  table_[slot] = (row.hash & ~mask) | static_cast<std::uint32_t>(index + 1);
  hashes_.push_back(row.hash);
  // It stays where it is, or moves up to where repeated rows lay.
  const std::uint64_t to = set_.offsets_[index];
  if (to != from) {
    std::memmove(set_.items_.data() + to, set_.items_.data() + from, row.size * sizeof(ItemId));
    if (!set_.group_ends_.empty()) std::memmove(set_.group_ends_.data() + to, set_.group_ends_.data() + from, row.size);
  }
  set_.offsets_.push_back(to + row.size);
  set_.weights_.push_back(row.weight);
  return index;
}

std::size_t RankingSetBuilder::add_groups(std::span<const std::vector<ItemId>> groups, double weight) {
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (const auto& group : groups) {
    if (group.empty()) continue;
    items.insert(items.end(), group.begin(), group.end());
    ends.resize(items.size(), 0);
    ends.back() = 1;
  }
  return add(items, weight, ends);
}

RankingSet RankingSetBuilder::build() {
  flush();
  RankingSet result = std::move(set_);
  *this = RankingSetBuilder();
  // Arrays that grew by doubling hold up to twice what they need: give the rest back.
  result.offsets_.shrink_to_fit();
  result.items_.shrink_to_fit();
  result.group_ends_.shrink_to_fit();
  result.weights_.shrink_to_fit();
  result.row_rankings_.shrink_to_fit();
  result.row_weights_.shrink_to_fit();
  return result;
}

}  // namespace caucus
