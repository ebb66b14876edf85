// Options of the additive mixtures of Mallows and generalized Mallows models.
#pragma once

#include <optional>

#include "caucus/base/options.h"
#include "caucus/model/consensus.h"
#include "caucus/model/distances.h"
#include "caucus/model/kendall.h"

namespace caucus {

enum class MallowsStart { automatic, spectral, kmeans, random, tensor };
template <>
inline constexpr std::array<std::string_view, 5> enum_names<MallowsStart>{"auto", "spectral", "kmeans", "random", "tensor"};

enum class MallowsMethod { em, tensor };
template <>
inline constexpr std::array<std::string_view, 2> enum_names<MallowsMethod>{"em", "tensor"};

// What both families share.
struct MallowsMixtureOptions {
  int components = 1;
  ConsensusMethod consensus = ConsensusMethod::automatic;
  MallowsStart init = MallowsStart::automatic;
  std::optional<int> restarts;
  int iterations = 2000;
  double tolerance = 1e-10;
  bool accelerate = true;
  bool standard_errors = true;
  int bootstrap = 0;
};

struct MallowsOptions : MallowsMixtureOptions {
  MallowsMethod method = MallowsMethod::em;
  bool polish = true;
  Distance distance = Distance::kendall;
  std::optional<int> completions;

  static constexpr auto fields() {
    using O = MallowsOptions;
    return std::tuple{
        field("components", static_cast<int O::*>(&O::components), 1, 1000, "number of groups"),
        field("method", &O::method, "em, or tensor: two groups from counts of top-3 sets and positions (complete rankings)"),
        field("polish", &O::polish, "method tensor: EM from its result; off is the pure algorithm"),
        field("distance", &O::distance, "distance between rankings; all but kendall take complete rankings only"),
        field("consensus", static_cast<ConsensusMethod O::*>(&O::consensus),
              "how centers are found; auto is exact within a node limit"),
        field("init", static_cast<MallowsStart O::*>(&O::init), "starting points; auto takes spectral, kmeans and random in turn"),
        field("restarts", static_cast<std::optional<int> O::*>(&O::restarts), 1, 100000,
              "number of starts; auto: as many as a fixed amount of work allows, fewer where they agree"),
        field("iterations", static_cast<int O::*>(&O::iterations), 1, 1e9, "most EM iterations of one start"),
        field("tolerance", static_cast<double O::*>(&O::tolerance), 0.0, 1.0,
              "relative gain still to be had that counts as converged"),
        field("accelerate", static_cast<bool O::*>(&O::accelerate), "SQUAREM steps on weights and dispersions"),
        field("completions", &O::completions, 2, 1e6,
              "most sampled completions per ballot and group, where rankings of subsets are too long for exact probabilities; "
              "auto: a fixed amount of work"),
        field("standard-errors", static_cast<bool O::*>(&O::standard_errors), "of dispersions and weights"),
        field("bootstrap", static_cast<int O::*>(&O::bootstrap), 0, 1e6, "resamples for the stability of the consensus; 0: none")};
  }
};

struct GeneralizedMallowsOptions : MallowsMixtureOptions {
  Code code = Code::s;

  static constexpr auto fields() {
    using O = GeneralizedMallowsOptions;
    return std::tuple{
        field("components", static_cast<int O::*>(&O::components), 1, 1000, "number of groups"),
        field("code", &O::code, "stages: s, by place in the ballot (top-t allowed); v, by place in the center (complete rankings)"),
        field("consensus", static_cast<ConsensusMethod O::*>(&O::consensus),
              "how centers are found; auto is exact within a node limit"),
        field("init", static_cast<MallowsStart O::*>(&O::init), "starting points; auto takes spectral, kmeans and random in turn"),
        field("restarts", static_cast<std::optional<int> O::*>(&O::restarts), 1, 100000,
              "number of starts; auto: as many as a fixed amount of work allows, fewer where they agree"),
        field("iterations", static_cast<int O::*>(&O::iterations), 1, 1e9, "most EM iterations of one start"),
        field("tolerance", static_cast<double O::*>(&O::tolerance), 0.0, 1.0,
              "relative gain still to be had that counts as converged"),
        field("accelerate", static_cast<bool O::*>(&O::accelerate), "SQUAREM steps on weights and dispersions"),
        field("standard-errors", static_cast<bool O::*>(&O::standard_errors), "of dispersions and weights"),
        field("bootstrap", static_cast<int O::*>(&O::bootstrap), 0, 1e6, "resamples for the stability of the consensus; 0: none")};
  }
};

}  // namespace caucus
