#pragma once

#include "harness.h"

namespace caucus::experiments {

Target paper1_starts_target();
Target paper1_supplement_target();

}  // namespace caucus::experiments
