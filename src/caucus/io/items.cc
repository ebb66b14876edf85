#include "caucus/io/items.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "caucus/io/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus {

namespace {
std::uint32_t hash_of(std::string_view name) { return static_cast<std::uint32_t>(XXH3_64bits(name.data(), name.size())); }
}  // namespace

std::size_t ItemIndex::slot_of(std::string_view name, std::uint32_t hash) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  while (table_[slot] != 0 && !(hashes_[table_[slot] - 1] == hash && names_[table_[slot] - 1] == name)) slot = (slot + 1) & mask;
  return slot;
}

ItemId ItemIndex::find(std::string_view name) const {
  if (table_.empty()) return none;
  const std::uint32_t entry = table_[slot_of(name, hash_of(name))];
  return entry == 0 ? none : entry - 1;
}

ItemId ItemIndex::insert(std::string_view name) {
  if (names_.size() * 2 >= table_.size()) grow();
  const std::uint32_t hash = hash_of(name);
  const std::size_t slot = slot_of(name, hash);
  if (table_[slot] != 0) return table_[slot] - 1;
  names_.emplace_back(name);
  hashes_.push_back(hash);
  table_[slot] = static_cast<std::uint32_t>(names_.size());
  return table_[slot] - 1;
}

void ItemIndex::grow() {
  table_.assign(std::max<std::size_t>(64, table_.size() * 2), 0);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    std::size_t slot = hashes_[i] & mask;
    while (table_[slot] != 0) slot = (slot + 1) & mask;
    table_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

void NumberIndex::insert(std::uint64_t number, ItemId id) {
  if (number >= dense_limit) {
    large_[number] = id;
    return;
  }
  if (number >= dense_.size()) dense_.resize(number + 1, none);
  dense_[number] = id;
}

void BallotRows::reverse_groups() {
  std::reverse(items_.begin(), items_.end());
  if (!ties_) return;
  // An end at i in the old order is an end at size - 2 - i in the new one; the last position always ends.
  ends_.resize(items_.size(), 1);
  ends_.pop_back();
  std::reverse(ends_.begin(), ends_.end());
  ends_.push_back(1);
}

void split_blank_rows(Dataset& data) {
  data.blank_covariates.clear();
  if (data.blanks.empty()) return;
  const auto split = [&](auto& all, auto& blank) {
    if (all.empty()) return;
    std::size_t end = 0;
    for_each_file_row(
        data,
        [&](std::size_t row, std::size_t) {
          if (end != row) all[end] = std::move(all[row]);
          ++end;
        },
        [&](std::size_t row, std::size_t) { blank.push_back(std::move(all[row])); });
    all.resize(end);
  };
  for (Column& column : data.covariates) {
    Column& blank = data.blank_covariates.emplace_back();
    blank.name = column.name;
    split(column.numbers, blank.numbers);
    split(column.texts, blank.texts);
  }
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto run = [](std::string_view text, std::size_t& at) {
        while (at < text.size() && text[at] == '0') ++at;
        const std::size_t begin = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return text.substr(begin, at - begin);
      };
      const std::string_view number_a = run(a, i);
      const std::string_view number_b = run(b, j);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
    } else {
      const auto byte_a = static_cast<unsigned char>(a[i++]);
      const auto byte_b = static_cast<unsigned char>(b[j++]);
      if (byte_a != byte_b) return byte_a < byte_b;
    }
  }
  if (i < a.size() || j < b.size()) return i >= a.size();
  return a < b;  // "01" and "1"
}

void sort_items(Dataset& data) {
  std::vector<ItemId> order(data.items.size());
  std::iota(order.begin(), order.end(), ItemId{0});
  std::ranges::sort(order, [&](ItemId a, ItemId b) { return natural_less(data.items[a], data.items[b]); });
  std::vector<ItemId> new_ids(order.size());
  std::vector<std::string> sorted;
  sorted.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    new_ids[order[i]] = static_cast<ItemId>(i);
    sorted.push_back(std::move(data.items[order[i]]));
  }
  data.items = std::move(sorted);
  data.rankings.renumber(new_ids);
}

std::vector<std::string> settle_names(const std::vector<std::string>& names, const std::vector<std::string>& fallback,
                                      std::vector<std::string>& warnings) {
  std::vector<std::string> settled;
  settled.reserve(names.size());
  std::unordered_set<std::string> taken;
  std::size_t num_converted = 0;
  std::size_t num_repeated = 0;
  std::string example;
  for (std::size_t i = 0; i < names.size(); ++i) {
    bool converted = false;
    std::string name = names[i].empty() ? fallback[i] : to_utf8(names[i], converted);
    num_converted += converted ? 1 : 0;
    if (!taken.insert(name).second) {
      if (num_repeated++ == 0) example = name;
      std::string distinct;
      for (std::size_t k = 2; distinct.empty() || !taken.insert(distinct).second; ++k) distinct = fmt::format("{} ({})", name, k);
      name = std::move(distinct);
    }
    settled.push_back(std::move(name));
  }
  if (num_converted > 0) warnings.push_back(fmt::format("{} names are not UTF-8 and were read as Windows-1252", num_converted));
  if (num_repeated > 0)
    warnings.push_back(
        fmt::format("{} names stand for several items, such as {}; a number was appended", num_repeated, show_text(example)));
  return settled;
}

}  // namespace caucus
