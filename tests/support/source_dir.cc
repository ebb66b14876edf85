#include "support/source_dir.h"

namespace caucus::testing {

std::string source_dir() { return CAUCUS_SOURCE_DIR; }

}  // namespace caucus::testing
