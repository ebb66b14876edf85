#pragma once

#include <memory>

#include "caucus/infer/family.h"

namespace caucus {

// Kernel density of partial rankings (Lebanon & Mao 2008).
std::unique_ptr<Family> make_kde_family();
// Exponential blurring mean-shift (Meila & Bao 2008).
std::unique_ptr<Family> make_ebms_family();

}  // namespace caucus
