// The writers behind write_dataset. Each appends to the sink and says what its format could not hold.
#pragma once

#include <string>
#include <vector>

#include "caucus/io/file_writer.h"
#include "caucus/io/io.h"

namespace caucus {

using Lost = std::vector<std::string>;

void write_preflib(const Dataset& data, TextSink& sink, const std::string& file_name, std::string extension, Lost& lost);
void write_preflib_old(const Dataset& data, TextSink& sink, Lost& lost);
void write_blt(const Dataset& data, TextSink& sink, Lost& lost);
void write_jsonl(const Dataset& data, TextSink& sink, Lost& lost);
void write_columnar(const Dataset& data, TextSink& sink, Lost& lost);
// `format` is one of the CSV flavours.
void write_csv(const Dataset& data, TextSink& sink, Format format, char delimiter, Lost& lost);

// What several formats share.
void lose_covariates(const Dataset& data, Lost& lost);
void lose_unranked(const Dataset& data, Format format, Lost& lost);
bool has_fractional_weights(const Dataset& data);
bool all_rankings_complete(const Dataset& data);

}  // namespace caucus
