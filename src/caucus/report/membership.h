// What puts a voter into a group, and what a group values in an item.
#pragma once

#include <string>
#include <vector>

#include "caucus/report/parts.h"
#include "caucus/result/item_utilities.h"

namespace caucus::report {

// "membership" of a model: what puts a voter into a group; with data that have voters the shares by value and the words.
Json membership_json(const Membership& membership, const Dataset* data, std::size_t num_groups);
std::vector<std::string> membership_sentences(const Json& membership);
// "item_values" of a model: what a group values in an item.
Json item_values_json(const ItemUtilities& known, std::size_t num_groups);

}  // namespace caucus::report
