#include "caucus/service/checkpoints.h"

#include <fmt/format.h>

#include "caucus/base/version.h"

namespace caucus::service {

Checkpoints::Checkpoints(const JournalPlan& plan, const std::string& what, const Dataset& data, const Run& run)
    : run_(run), observer_(run.observer) {
  if (plan.path.empty()) return;
  const std::string key =
      fmt::format("caucus {}; {}; seed {}; effort {}; {}", version(), what, run.seed, run.effort, digest(data, run.ranks));
  run_.observer = &observer_;
  journal_.emplace(
      plan, key, run.ranks, [this](std::string_view message) { observer_.warning(message); }, [this] { return should_stop(run_); });
  scope_.emplace(*journal_, "");
  run_.journal = &*scope_;
}

std::string options_text(const OptionMap& options) {
  std::string text;
  for (const auto& [name, value] : options) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

}  // namespace caucus::service
