#include "caucus/io/known_lines.h"

#include <cstring>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus {

namespace {

// Lines of battles are short: words of eight bytes, the last of which may cover some of the one before, and no call.
bool same_text(const char* a, const char* b, std::size_t size) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  if (size < word || size > 8 * word) return std::memcmp(a, b, size) == 0;
  std::uint64_t differences = 0;
  const auto compare = [&](std::size_t at) {
    std::uint64_t one = 0, other = 0;
    std::memcpy(&one, a + at, word);
    std::memcpy(&other, b + at, word);
    differences |= one ^ other;
  };
  for (std::size_t at = 0; at + word <= size; at += word) compare(at);
  compare(size - word);
  return differences == 0;
}

}  // namespace

std::span<const KnownLines::Line> KnownLines::look_ahead(std::string_view text) {
  std::size_t count = 0;
  const std::size_t mask = table_.size() - 1;
  for (; count < ahead_.size() && !text.empty(); ++count) {
    const auto* const end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
    if (end == nullptr) break;
    const auto size = static_cast<std::size_t>(end - text.data());
    ahead_[count] = {text.substr(0, size), XXH3_64bits(text.data(), size)};
    if (!table_.empty()) __builtin_prefetch(&table_[ahead_[count].hash & mask]);
    text.remove_prefix(size + 1);
  }
  if (!table_.empty())
    for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(texts_.data() + table_[ahead_[i].hash & mask].begin);
  return {ahead_.data(), count};
}

std::size_t KnownLines::slot_of(const Line& line) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = line.hash & mask;
  for (; table_[place].used != 0; place = (place + 1) & mask) {
    const Slot& slot = table_[place];
    if (slot.hash == static_cast<std::uint32_t>(line.hash >> 32) && slot.size == line.text.size() &&
        same_text(texts_.data() + slot.begin, line.text.data(), slot.size))
      break;
  }
  return place;
}

const KnownLines::Row* KnownLines::find(const Line& line) {
  if (++looked_ == 2 * most) {
    on_ = found_ >= most;
    found_ = looked_ = 0;
  }
  if (table_.empty()) return nullptr;
  const Slot& slot = table_[slot_of(line)];
  if (slot.used == 0) return nullptr;
  ++found_;
  return &slot.row;
}

void KnownLines::keep(const Line& line, Row row) {
  if (size_ >= most || line.text.size() > longest) return;
  if (2 * size_ >= table_.size()) grow();
  Slot& slot = table_[slot_of(line)];
  if (slot.used != 0) return;
  slot = {static_cast<std::uint32_t>(line.hash >> 32), static_cast<std::uint32_t>(line.text.size()),
          static_cast<std::uint32_t>(texts_.size()), 1, row};
  texts_ += line.text;
  ++size_;
}

void KnownLines::grow() {
  const std::vector<Slot> old = std::exchange(table_, std::vector<Slot>(table_.empty() ? 1024 : 2 * table_.size()));
  for (const Slot& slot : old) {
    if (slot.used == 0) continue;
    const std::string_view text(texts_.data() + slot.begin, slot.size);
    table_[slot_of({text, XXH3_64bits(text.data(), text.size())})] = slot;
  }
}

}  // namespace caucus
