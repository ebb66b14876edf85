// One extrapolation of an EM sequence: SQUAREM, Varadhan & Roland (2008), step length S3.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace caucus {

// Where the sequence x0, x1, x2 (two EM steps) is heading: x0 + 2 a r + a^2 v with r = x1 - x0, v = (x2 - x1) - r and
// a = |r| / |v|, at most `longest`. None where that is no further than x2 itself. The caller checks that the objective does not
// fall.
inline std::optional<std::vector<double>> squarem(std::span<const double> x0, std::span<const double> x1,
                                                  std::span<const double> x2, double longest) {
  double rr = 0.0, vv = 0.0;
  for (std::size_t j = 0; j < x0.size(); ++j) {
    const double r = x1[j] - x0[j], v = (x2[j] - x1[j]) - r;
    rr += r * r;
    vv += v * v;
  }
  if (!(vv > 0.0)) return std::nullopt;
  const double a = std::min(std::sqrt(rr) / std::sqrt(vv), longest);
  if (!(a > 1.0 + 1e-9)) return std::nullopt;
  std::vector<double> x(x0.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double r = x1[j] - x0[j], v = (x2[j] - x1[j]) - r;
    x[j] = x0[j] + 2.0 * a * r + a * a * v;
  }
  return x;
}

}  // namespace caucus
