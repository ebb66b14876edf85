// By what the number of groups is chosen.
#pragma once

#include <array>
#include <string_view>

#include "caucus/base/options.h"

namespace caucus {

// halves: the ballots are cut in two at random and every K is fitted to each half. A group is worth having if the fits to the
// halves predict the other half better with it, and both find it (docs/choosing.md). ebic (Chen & Chen 2008, gamma = 1) adds to BIC
// twice the logarithm of the number of values that discrete parameters can take. The consensus rankings of Mallows models are such:
// BIC does not count them, so that a group too many, free to choose the best of n! centers, pays too little. Without consensus
// rankings it is BIC.
enum class Criterion { halves, ebic, bic, aic, icl, cv, holdout };
template <>
inline constexpr std::array<std::string_view, 7> enum_names<Criterion>{"halves", "ebic", "bic", "aic", "icl", "cv", "holdout"};
// Does it score ballots that were held out?
constexpr bool is_heldout(Criterion criterion) {
  return criterion == Criterion::halves || criterion == Criterion::cv || criterion == Criterion::holdout;
}

}  // namespace caucus
