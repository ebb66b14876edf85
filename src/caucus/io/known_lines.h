// Lines of a table of battles that were met before and what became of them: such files repeat a few thousand lines a million times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus {

class KnownLines {
 public:
  struct Line {
    std::string_view text;  // without its line break
    std::uint64_t hash = 0;
  };
  struct Row {
    std::array<ItemId, 2> battle{};  // the better item first
    bool tied = false;
    double weight = 0.0;
  };

  // Off from the moment on that most lines turn out to be new.
  bool on() const { return on_; }
  // The first lines of a text, those that have a line break: what find() will touch is fetched ahead. Until the next call.
  std::span<const Line> look_ahead(std::string_view text);
  // nullptr where the line is new; then keep() may tell what became of it.
  const Row* find(const Line& line);
  void keep(const Line& line, Row row);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t size = 0;
    std::uint32_t begin = 0;  // in texts_
    std::uint32_t used = 0;
    Row row;
  };
  static constexpr std::size_t most = 1U << 17;      // lines kept
  static constexpr std::size_t longest = 1U << 12U;  // bytes of a line kept

  std::size_t slot_of(const Line& line) const;
  void grow();

  std::vector<Slot> table_;
  std::size_t size_ = 0;
  std::string texts_;
  std::array<Line, 24> ahead_;
  std::size_t found_ = 0, looked_ = 0;
  bool on_ = true;
};

}  // namespace caucus
