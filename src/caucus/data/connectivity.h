// Who can be reached from whom along "beats": the Plackett-Luce maximum is finite if and only if this
// graph is strongly connected (Ford 1957; Hunter 2004, assumption 1).
#pragma once

#include <string>
#include <vector>

#include "caucus/base/workers.h"
#include "caucus/data/dataset.h"

namespace caucus {

// How a strong component lies to the largest one.
enum class Side { inside, above, below, apart };

struct Connectivity {
  bool strongly_connected = true;
  int num_components = 0;
  std::vector<int> component_of_item;  // 0-based, numbered by first item
  std::vector<int> component_sizes;
  int largest = 0;  // the largest component, the first of equals

  // Of each item to the largest component: above it (beats it, never the other way round), below it, or
  // not comparable with it (apart).
  std::vector<Side> side_of_item;
};

// An edge runs from each item to every item ranked below it in some ranking; a tie links both ways. An
// unlisted item is below all listed ones under Unranked::last and takes no part under Unranked::absent.
// O(total length + n log n) time with one chain edge per adjacent pair; unlisted items are reached
// through a segment tree, so no ballot costs O(n).
Connectivity connectivity(const Dataset& data, const Workers& workers = 1);

// One sentence that names the items outside the largest component, at most `shown` of each side; empty
// when strongly connected.
std::string describe(const Connectivity& connectivity, const Dataset& data, std::size_t shown = 5);

}  // namespace caucus
