// Tables with one line per ranking of a file, to be joined with it: what score and assign write.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/io/file_writer.h"

namespace caucus {

// row,weight,HEADS...,COLUMNS...: `row` counts all rankings of the file from 1, blank ones too, whose cells under HEADS are empty;
// then the file's other columns under their own names ("data.NAME" where HEADS has the name). `append` writes the cells of a row of
// data.rankings, each after a comma.
void write_row_table(const Dataset& data, const std::vector<std::string>& heads,
                     const std::function<void(std::string& out, std::size_t row)>& append, TextSink& sink);

// voter,weight,HEADS...,COLUMNS...: one line per voter, then the voters' own columns; those whose rankings are all blank come last,
// with empty cells. `append` writes the cells of a voter.
void write_voter_table(const Dataset& data, const std::vector<std::string>& heads,
                       const std::function<void(std::string& out, std::size_t voter)>& append, TextSink& sink);

// A value of a covariate as text; empty where it is missing.
std::string covariate_text(const Column& column, std::size_t row);

}  // namespace caucus
