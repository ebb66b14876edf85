// The readers behind read_dataset, one per family of formats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caucus/io/io.h"
#include "caucus/io/items.h"
#include "caucus/io/source.h"

namespace caucus {

// Each throws DataError with up to 20 diagnostics. They leave Dataset::source to the caller.
Dataset read_preflib(const Source& source, const ReadOptions& options);
Dataset read_preflib_old(const Source& source, const ReadOptions& options);
Dataset read_blt(const Source& source, const ReadOptions& options);
Dataset read_csv(const Source& source, const ReadOptions& options, Format format);
Dataset read_jsonl(const Source& source, const ReadOptions& options);

// Guesses from content, then extension; automatic for a table, whose flavour its header tells.
Format guess_format(const Source& source);

// The meaning of unlisted items where neither the user nor the file says.
Unranked default_unranked(Format format);

// Warnings with a count, in words.
void warn_empty_ballots(const BallotRows& rows, std::vector<std::string>& warnings);

}  // namespace caucus
