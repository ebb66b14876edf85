// The one list of families.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "caucus/infer/family.h"

namespace caucus {

const std::vector<std::unique_ptr<Family>>& families();

// Throws UsageError that lists the names there are.
const Family& find_family(std::string_view name);

}  // namespace caucus
