// Lives in base/, where samplers can use it too.
#pragma once

#include "caucus/base/mcmc_diagnostics.h"  // IWYU pragma: export
