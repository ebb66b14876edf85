// The readers behind read_dataset, one per family of formats.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/io/io.h"
#include "caucus/io/items.h"
#include "caucus/io/source.h"

namespace caucus {

// A reader that is fed piece by piece, so that neither the text nor the rankings need be in memory at once. Throws DataError once
// 20 places are wrong, or in finish() where fewer are.
class LineReader {
 public:
  virtual ~LineReader() = default;
  // Whole lines, each with its line break; the last of all may lack it.
  virtual void feed(std::string_view lines) = 0;
  virtual bool header_ended() const = 0;
  // Has the header named all items? Only then may rankings be taken before the end: their numbers stay.
  virtual bool items_known() const = 0;
  virtual std::size_t num_items() const = 0;  // so far
  // The rankings since the last call. No more than warnings about single lines is then said of them at the end.
  virtual RankingSet take() = 0;
  // Items, meaning of unlisted ones, warnings, and the rankings that were not taken. Dataset::source is left to the caller.
  virtual Dataset finish() = 0;
};
std::unique_ptr<LineReader> make_preflib_reader(const Source& start, const ReadOptions& options);
// Covariates are checked and forgotten where they are not kept.
std::unique_ptr<LineReader> make_jsonl_reader(const Source& start, const ReadOptions& options, bool keep_covariates);

// Is the text one array of objects, and not a ranking per line? Then it is read whole.
bool is_json_array(std::string_view text);

// The position behind the last line break within `limit` bytes of `position`; behind the first one after them where there is none
// within, and the end where there is no further one.
std::size_t end_of_piece(std::string_view text, std::size_t position, std::size_t limit);

// Each throws DataError with up to 20 diagnostics. They leave Dataset::source to the caller.
Dataset read_preflib(const Source& source, const ReadOptions& options);
Dataset read_preflib_old(const Source& source, const ReadOptions& options);
Dataset read_blt(const Source& source, const ReadOptions& options);
Dataset read_csv(const Source& source, const ReadOptions& options, Format format);
Dataset read_jsonl(const Source& source, const ReadOptions& options);
// The rankings stay in the file, which is mapped for as long as somebody uses them.
Dataset read_columnar(const Source& source, const ReadOptions& options);

// Guesses from content, then extension; automatic for a table, whose flavour its header tells.
Format guess_format(const Source& source);

// The meaning of unlisted items where neither the user nor the file says.
Unranked default_unranked(Format format);

// Ballots that list nothing and rows that count nothing, in words: ballots are counted, not lines.
inline constexpr std::string_view blank_ballots = "blank ballots, which list no item,";
inline constexpr std::string_view undecided = "rows without a winner";
void warn_blank_ballots(const BallotRows& rows, std::string_view what, std::vector<std::string>& warnings);

}  // namespace caucus
