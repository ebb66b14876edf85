#pragma once

#include <memory>

#include "caucus/infer/family.h"

namespace caucus {

// Dirichlet process mixtures of generalized Mallows models (Meila & Chen 2010).
std::unique_ptr<Family> make_dp_mallows_family();

}  // namespace caucus
