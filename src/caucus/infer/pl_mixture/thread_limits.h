// Threads pay only above some work. Blocks, and so the bits, do not depend on these.
#pragma once

#include <cstddef>

namespace caucus::pl_mixture {

inline constexpr std::size_t least_pass_for_threads = 200'000;  // a pass over the data: items listed in all, times components
inline constexpr std::size_t least_sweep_for_threads = 20'000;  // a Gibbs sweep: rankings

}  // namespace caucus::pl_mixture
