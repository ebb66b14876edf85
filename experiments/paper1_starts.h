#pragma once

#include "harness.h"

namespace caucus::experiments {

Target paper1_starts_target();

}  // namespace caucus::experiments
