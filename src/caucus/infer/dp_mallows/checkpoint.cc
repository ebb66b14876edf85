#include "caucus/infer/dp_mallows/checkpoint.h"

#include <fmt/format.h>

namespace caucus::dp_mallows {

Checkpoint checkpoint_of(const Dataset& data, const Options& options, std::uint64_t seed) {
  std::string key = fmt::format("seed {}; data {}", seed, digest(data));
  if (data.voters.share()) {  // who cast what bears on the draws, and is not in the digest: FNV-1a of the rows' voters
    std::uint64_t hash = 14695981039346656037U;
    for (const std::uint32_t voter : data.voters.of_row) hash = (hash ^ voter) * 1099511628211U;
    key += fmt::format("; voters {:x}", hash);
  }
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
