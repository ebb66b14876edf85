// Rankings that go by in pieces: for methods that need counts of them and not all of them at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/io/io.h"

namespace caucus {

// Reads a file or a pipe in blocks of a fixed size, so that the memory needed does not depend on the number of rankings. JSON lines
// whose first line names the items, and PrefLib files with a header, not packed; anything else is read whole first and handed over
// as one piece. Same messages and line numbers as read_dataset().
//
// What has gone by can be asked for again: complete rankings are also written to an unnamed file, one to four bytes per item and
// at most eight per weight. It takes room on the disk of its folder, not in memory (where the folder is on a disk).
class RankingStream {
 public:
  static constexpr std::size_t block_bytes = 1U << 20;

  // Throws NoInputError, IoError, DataError. "-" is standard input.
  static RankingStream open(const std::string& path, const ReadOptions& options, const std::string& spool_folder,
                            std::size_t block = block_bytes);
  RankingStream(RankingStream&&) noexcept;
  RankingStream& operator=(RankingStream&&) noexcept;
  ~RankingStream();

  std::size_t num_items() const;
  // The next piece, equal rankings in it merged; false at the end. The first time round, the end is where DataError is thrown
  // that lists what is wrong with the text.
  bool next(RankingSet& piece);
  // Back to the first piece. Before the end was reached, or where some ranking was not a complete order: throws std::logic_error.
  void rewind();
  bool in_memory() const;  // it could not be read in blocks

  // From here on: once next() has said false.
  //
  // All but the rankings: items, what unlisted ones mean, warnings, source. The rankings are empty.
  const Dataset& head() const;
  std::string digest() const;  // RowDigest of the rows
  double total_weight() const;

 private:
  struct State;
  explicit RankingStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace caucus
