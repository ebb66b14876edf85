// The family "pl".
#pragma once

#include <memory>

#include "caucus/infer/family.h"

namespace caucus {

std::unique_ptr<Family> make_pl_mixture_family();

}  // namespace caucus
