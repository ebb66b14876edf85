// Options that were once called otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace caucus {

// What the option `name`, which is not among the `known` ones, is called now; empty where it never existed.
std::string_view renamed_option(std::string_view name, const std::vector<std::string>& known);

}  // namespace caucus
