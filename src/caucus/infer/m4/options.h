// Options of the multiplicative mixture.
#pragma once

#include <optional>

#include "caucus/base/options.h"

namespace caucus {

enum class M4Method { exact, cccp, sgd, searchpi };
template <>
inline constexpr std::array<std::string_view, 4> enum_names<M4Method>{"exact", "cccp", "sgd", "searchpi"};

enum class M4Normalizer { paper, exact };
template <>
inline constexpr std::array<std::string_view, 2> enum_names<M4Normalizer>{"paper", "exact"};

struct M4Options {
  int components = 2;
  M4Method method = M4Method::exact;
  M4Normalizer normalizer = M4Normalizer::paper;
  int restarts = 10;
  int iterations = 200;
  double tolerance = 1e-8;
  double step = 0.05;
  double decay = 2.0;

  static constexpr auto fields() {
    using O = M4Options;
    return std::tuple{field("components", &O::components, 1, 50, "number of groups"),
                      field("method", &O::method, "how weights and dispersions are solved"),
                      field("normalizer", &O::normalizer, "the paper's product formula, or the sum over all rankings"),
                      field("restarts", &O::restarts, 1, 100000, "number of starts from k-means"),
                      field("iterations", &O::iterations, 1, 1e9, "most rounds of one start"),
                      field("tolerance", &O::tolerance, 0.0, 1.0, "relative fall of the objective that counts as converged"),
                      field("step", &O::step, 0.0, 1e6, "sgd: first step size"),
                      field("decay", &O::decay, 0.0, 10.0, "sgd: step size falls like i^-decay")};
  }
};

}  // namespace caucus
