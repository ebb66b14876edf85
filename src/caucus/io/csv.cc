#include "caucus/io/csv.h"

#include <algorithm>
#include <array>
#include <bit>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace caucus {

namespace {
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The first of two letters in [p, end), or the end: sixteen bytes at a time where the processor has such a step.
const char* find_either(const char* p, const char* end, char a, char b) {
#if defined(__SSE2__)
  const __m128i all_a = _mm_set1_epi8(a), all_b = _mm_set1_epi8(b);
  for (; end - p >= 16; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, all_a), _mm_cmpeq_epi8(bytes, all_b)));
    if (hits != 0) return p + std::countr_zero(static_cast<unsigned>(hits));
  }
#endif
  while (p < end && *p != a && *p != b) ++p;
  return p;
}

}  // namespace

void CsvReader::quoted_cell(std::size_t line_begin) {
  const std::size_t column = position_ - line_begin + 1;
  const std::size_t begin = ++position_;
  std::string* copy = nullptr;  // made at the first doubled quote
  std::size_t piece = begin;
  for (;;) {
    const std::size_t quote = text_.find('"', position_);
    const std::size_t end = quote == std::string_view::npos ? text_.size() : quote;
    next_line_ += static_cast<std::size_t>(
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(position_), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    const bool doubled = quote != std::string_view::npos && quote + 1 < text_.size() && text_[quote + 1] == '"';
    if (doubled) {
      if (copy == nullptr) copy = &unescaped_.emplace_back();
      copy->append(text_.substr(piece, end + 1 - piece));
      position_ = piece = quote + 2;
      continue;
    }
    unterminated_ = quote == std::string_view::npos;
    if (copy != nullptr) copy->append(text_.substr(piece, end - piece));
    cells_.push_back({copy != nullptr ? std::string_view(*copy) : text_.substr(begin, end - begin), column, true});
    position_ = unterminated_ ? end : end + 1;
    break;
  }
  // Text between the closing quote and the delimiter belongs to no format; it is kept with the cell.
  const std::size_t rest = position_;
  while (position_ < text_.size() && text_[position_] != delimiter_ && text_[position_] != '\n') ++position_;
  std::string_view tail = text_.substr(rest, position_ - rest);
  if (tail.ends_with('\r') && (position_ == text_.size() || text_[position_] == '\n')) tail.remove_suffix(1);
  tail = trimmed(tail);
  if (tail.empty()) return;
  std::string& joined = unescaped_.emplace_back(cells_.back().text);
  joined.append(tail);
  cells_.back().text = joined;
}

bool CsvReader::next() {
  for (;;) {
    cells_.clear();
    if (position_ >= text_.size()) return false;
    line_ = next_line_;
    std::size_t line_begin = position_;
    for (;;) {
      while (position_ < text_.size() && (text_[position_] == ' ' || (text_[position_] == '\t' && delimiter_ != '\t'))) ++position_;
      if (position_ < text_.size() && text_[position_] == '"') {
        quoted_cell(line_begin);
      } else {
        const std::size_t begin = position_;
        const char* const stop = find_either(text_.data() + begin, text_.data() + text_.size(), delimiter_, '\n');
        position_ = static_cast<std::size_t>(stop - text_.data());
        std::string_view cell = text_.substr(begin, position_ - begin);
        if (cell.ends_with('\r') && (position_ == text_.size() || text_[position_] == '\n')) cell.remove_suffix(1);
        cells_.push_back({trimmed(cell), begin - line_begin + 1});
      }
      if (position_ >= text_.size()) break;
      if (text_[position_++] == '\n') {
        ++next_line_;
        break;
      }
      // A delimiter as the very last byte opens one more, empty cell.
      if (position_ >= text_.size()) {
        cells_.push_back({text_.substr(position_), position_ - line_begin + 1});
        break;
      }
    }
    const bool blank = cells_.size() == 1 && cells_[0].text.empty() && !cells_[0].quoted;
    if (!blank) return true;
  }
}

char guess_delimiter(std::string_view text) {
  constexpr std::string_view candidates = ",;\t";
  std::array<std::size_t, 3> counts{};
  bool quoted = false;
  for (const char c : text.substr(0, std::min<std::size_t>(text.size(), 1U << 16))) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n') break;
    const std::size_t which = candidates.find(c);
    if (which != std::string_view::npos) ++counts[which];
  }
  return candidates[static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin())];
}

void append_csv_cell(std::string& out, std::string_view text, char delimiter) {
  // Every byte that could pass for a delimiter is quoted: readers guess it from the header.
  constexpr std::string_view special = ",;\t\"\n\r";
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  const bool quotes = !text.empty() && (is_blank(text.front()) || is_blank(text.back()) || std::ranges::any_of(text, [&](char c) {
                                          return c == delimiter || special.find(c) != std::string_view::npos;
                                        }));
  if (!quotes) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string csv_cell(std::string_view text) {
  std::string cell;
  append_csv_cell(cell, text, ',');
  return cell;
}

}  // namespace caucus
