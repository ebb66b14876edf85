// Where this checkout lies.
#pragma once

#include <string>

namespace caucus::testing {

std::string source_dir();

}  // namespace caucus::testing
