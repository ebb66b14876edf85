#pragma once

#include <memory>

#include "caucus/infer/family.h"

namespace caucus {

std::unique_ptr<Family> make_m4_family();

}  // namespace caucus
