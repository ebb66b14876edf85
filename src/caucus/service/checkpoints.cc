#include "caucus/service/checkpoints.h"

#include <fmt/format.h>

#include "caucus/base/version.h"

namespace caucus::service {

Checkpoints::Checkpoints(const JournalPlan& plan, const std::string& what, const Dataset& data, const Run& run) : run_(run) {
  if (plan.path.empty()) return;
  const std::string key = fmt::format("caucus {}; {}; seed {}; effort {}; {}", version(), what, run.seed, run.effort, digest(data));
  journal_.emplace(plan, key, run.ranks, [observer = run.observer](std::string_view message) {
    if (observer != nullptr) observer->warning(message);
  });
  scope_.emplace(*journal_, "");
  run_.journal = &*scope_;
}

std::string options_text(const OptionMap& options) {
  std::string text;
  for (const auto& [name, value] : options) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

}  // namespace caucus::service
