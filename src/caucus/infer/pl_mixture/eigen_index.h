// Eigen counts in signed numbers.
#pragma once

#include <Eigen/Core>
#include <cstddef>

namespace caucus::pl_mixture {

inline Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

}  // namespace caucus::pl_mixture
