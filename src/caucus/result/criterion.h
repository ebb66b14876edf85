// By what the number of groups is chosen.
#pragma once

#include <array>
#include <string_view>

#include "caucus/base/options.h"

namespace caucus {

// ebic (Chen & Chen 2008, gamma = 1) adds to BIC twice the logarithm of the number of values that discrete parameters can take. The
// consensus rankings of Mallows models are such: BIC does not count them, so that a group too many, free to choose the best of n!
// centres, pays too little. Without consensus rankings it is BIC.
enum class Criterion { ebic, bic, aic, icl, cv, holdout };
template <>
inline constexpr std::array<std::string_view, 6> enum_names<Criterion>{"ebic", "bic", "aic", "icl", "cv", "holdout"};

}  // namespace caucus
