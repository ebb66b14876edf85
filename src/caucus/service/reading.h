// How the data of a model were read, remembered in its file so that the next data are read the same way.
#pragma once

#include <optional>
#include <string>

#include "caucus/io/io.h"
#include "caucus/result/record.h"

namespace caucus {

// "reading" of a model file: what the user stated, and what unlisted items mean; and back.
Record reading_record(const ReadOptions& options, Unranked unranked);
ReadOptions reading_of(const RecordView& reading);

// Options for data that meet a model: what is stated now, and for the rest what its file remembers. Format, columns, weights and
// contest go together: where one of them is stated, none is remembered.
struct Recalled {
  ReadOptions options;
  std::string words;  // what was remembered, as flags: "--drop 'Write-in*'"; empty: nothing
};
Recalled recall_reading(const std::optional<ReadOptions>& remembered, const ReadOptions& stated);

}  // namespace caucus
