// Which caucus this is.
#pragma once

#include <string_view>

namespace caucus {

std::string_view version();  // "0.1.0"

}  // namespace caucus
