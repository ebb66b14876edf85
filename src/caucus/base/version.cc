#include "caucus/base/version.h"

namespace caucus {

std::string_view version() { return CAUCUS_VERSION; }

}  // namespace caucus
