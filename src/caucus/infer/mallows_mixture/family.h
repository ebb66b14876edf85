#pragma once

#include <memory>

#include "caucus/infer/family.h"

namespace caucus {

std::unique_ptr<Family> make_mallows_family();
std::unique_ptr<Family> make_generalized_mallows_family();

}  // namespace caucus
