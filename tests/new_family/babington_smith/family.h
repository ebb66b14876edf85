#pragma once

#include <memory>

#include "caucus/infer/family.h"

namespace caucus {

// Mixtures of Babington Smith models (1950): P(ranking) is proportional to the product over its pairs of exp(strength), one
// strength for each ordered pair. A family of nothing but this folder: tests/new_family shows that no other file has to know it.
std::unique_ptr<Family> make_babington_smith_family();

}  // namespace caucus
