// One text read by several processes: each reads a part of its lines, and all put the parts together in their order.
#pragma once

#include <optional>
#include <string>

#include "caucus/base/bytes.h"
#include "caucus/io/io.h"
#include "caucus/io/items.h"
#include "caucus/io/source.h"

namespace caucus {

// A reader that can be made for a part of a text, and take over what others have read of the parts before.
class PartReader {
 public:
  virtual ~PartReader() = default;
  // Where lines of rankings begin: what stands before them every reader has read.
  virtual std::size_t body() const = 0;
  // May a line break inside quotes be no end of a line?
  virtual bool has_quotes() const { return false; }
  // The lines of [begin, end), which are whole. False where a part must not be read alone. Throws what reading throws.
  virtual bool read(std::size_t begin, std::size_t end) = 0;
  virtual void save(Saver& saver) = 0;
  // What another reader of the same text saved, of the lines that follow. Throws BadState.
  virtual void absorb(Loader& loader) = 0;
  virtual Dataset finish() = 0;
};
// Null where the text is of a kind that is read as a whole.
std::unique_ptr<PartReader> make_preflib_parts(const Source& source, const ReadOptions& options);
std::unique_ptr<PartReader> make_jsonl_parts(const Source& source, const ReadOptions& options);
std::unique_ptr<PartReader> make_csv_parts(const Source& source, const ReadOptions& options, Format format);

// The data set that the whole text gives, with options.ranks, into `whole`; null: this process has no use for it. All call. False
// where there is one process, the text is small or of another kind, or anything is wrong in it: then it is read as a whole, with
// the messages of that.
bool read_in_parts(const Source& source, const ReadOptions& options, Format format, Dataset* whole);

// Rows on their way between processes.
void save_rankings(const RankingSet& rankings, Saver& saver);
struct SavedRankings {
  std::vector<std::uint32_t> lengths, items, row_rankings;
  std::vector<std::uint8_t> group_ends;
  std::vector<double> weights, row_weights;

  explicit SavedRankings(Loader& loader);
  std::size_t num_rows() const { return row_weights.empty() ? weights.size() : row_weights.size(); }
  std::size_t ranking_of(std::size_t row) const { return row_rankings.empty() ? row : row_rankings[row]; }
  double weight_of(std::size_t row) const { return row_weights.empty() ? weights[row] : row_weights[row]; }
  RankingView operator[](std::size_t i) const {
    return {{items.data() + begins[i], lengths[i]}, group_ends.empty() ? nullptr : group_ends.data() + begins[i]};
  }
  // Items get other numbers, which must exist.
  void renumber(std::span<const ItemId> ids);

 private:
  std::vector<std::size_t> begins;
};
void save_rows(BallotRows& rows, Saver& saver);
// Adds them; ids[i]: the number of item i here.
void absorb_rows(BallotRows& rows, Loader& loader, std::span<const ItemId> ids);

void save_dataset(const Dataset& data, Saver& saver);
Dataset load_dataset(Loader& loader);

}  // namespace caucus
