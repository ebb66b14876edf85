#include "caucus/infer/dp_mallows/checkpoint.h"

#include <fmt/format.h>

namespace caucus::dp_mallows {

Checkpoint checkpoint_of(const Dataset& data, const Options& options, std::uint64_t seed) {
  std::string key = fmt::format("seed {}; data {}", seed, digest(data));
  for (const auto& [name, value] : show_options(options)) {
    // Files and the length of the run may change between parts of a run; so may what is only computed at its end.
    if (name == "sweeps" || name == "checkpoint" || name == "checkpoint-every" || name == "draws" || name == "draw-assignments" ||
        name == "draws-cmdstan" || name == "co-clustering")
      continue;
    key += fmt::format("; {} {}", name, value);
  }
  return {options.checkpoint, "dpm", std::move(key)};
}

}  // namespace caucus::dp_mallows
