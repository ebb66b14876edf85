// A ranking on one line: "Ann > Bo = Cy", best first, = for a tie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

// Is there a mark with a name before it? ">50K" and "<b>" have none.
inline bool has_order_mark(std::string_view text) {
  const std::size_t name = text.find_first_not_of(" \t>");
  return name != std::string_view::npos && text.find('>', name) != std::string_view::npos &&
         text.find('<') == std::string_view::npos;
}

// Calls visit(name, ends_group) for every name, best first. Blanks round names, empty names and a trailing mark are nothing.
template <class Visit>
void for_each_in_order(std::string_view text, Visit&& visit) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(">=", begin), text.size());
    std::string_view name = text.substr(begin, end - begin);
    while (!name.empty() && (name.front() == ' ' || name.front() == '\t')) name.remove_prefix(1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
    visit(name, end >= text.size() || text[end] == '>');
    begin = end + 1;
  }
}

// Takes a count off the front of "12: Ann > Bo" or "12 * Ann > Bo"; 1 where there is none.
double take_count(std::string_view& order);

// Ballots as a person types them, of the given items: "Ann > Bo = Cy", or "Ann, Bo" where no name has a comma. Names are taken in
// any case, and by their first letters where those tell. Throws DataError that names the items there are.
Dataset ballots_of(std::span<const std::string> orders, std::span<const std::string> items, Unranked unranked);

}  // namespace caucus
