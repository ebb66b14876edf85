// Items renamed, merged and left out after reading, the same way for every format.
#pragma once

#include "caucus/data/dataset.h"
#include "caucus/io/io.h"

namespace caucus {

// Does any option change the items once they are read?
bool edits_items(const ReadOptions& options);

// In this order: merge, rename, drop and exclude (names as they then are), items_only. A ranking that lists a merged item twice
// keeps its first place; one that lists nothing any more is blank. Throws UsageError for a rule without '=' and for a new name that
// another item has; warns of rules that match nothing, unless they come from a model file.
void edit_items(Dataset& data, const ReadOptions& options);

// Asks about items that are probably none: names such as "overvote 2", columns such as "age".
void question_items(Dataset& data, const ReadOptions& options);

}  // namespace caucus
