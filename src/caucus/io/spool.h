// Complete rankings without ties on their way to disk and back, in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "caucus/data/ranking.h"
#include "caucus/io/descriptor.h"

namespace caucus {

// An unnamed file: gone when closed, whatever ends the program.
class Spool {
 public:
  // Throws IoError that names the folder. Every ranking lists all of the `num_items` items.
  void open(const std::string& folder, std::size_t num_items);
  void write(const RankingSet& piece);
  void rewind();
  bool read(RankingSet& piece);  // false at the end

 private:
  struct PieceHead {
    std::uint64_t size;
    std::uint64_t whole_weights;  // 1: weights are whole numbers of 32 bits
  };
  void put(const void* data, std::size_t bytes);
  bool get(void* data, std::size_t bytes);  // false where the file ends before the first byte
  template <class Number>
  void pack(const RankingSet& piece);
  template <class Number>
  void unpack(std::size_t size, std::vector<ItemId>& items);

  Descriptor file_;
  std::string folder_;
  std::size_t num_items_ = 0;
  std::vector<char> bytes_;
};

}  // namespace caucus
