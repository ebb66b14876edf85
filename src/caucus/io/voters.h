// Voters as files tell of them: a column beside the rankings, and a table with one line per voter.
#pragma once

#include "caucus/io/io.h"
#include "caucus/io/table.h"

namespace caucus {

// The voters that the options (or the file itself) ask for, and their table. Called once, when all rankings are there.
void add_voters(Dataset& data, const ReadOptions& options);

// Adds the columns of a table with one line per voter, matched by the column that names them. Voters without a line have missing
// values, and a warning counts them. Throws DataError where the table lacks that column or names a voter twice.
void join_voter_table(Dataset& data, const Table& table);

}  // namespace caucus
