// What a reader must know before leaning on the groups, gravest first, in words without jargon.
#include <fmt/format.h>

#include <algorithm>

#include "caucus/report/parts.h"

namespace caucus::report {

namespace {

// The largest R-hat of any chain quantity; none without chains.
std::optional<double> largest_rhat(const Json& model) {
  std::optional<double> largest = number_at(model, {"fit", "rhat_max"});
  if (const Json* found = find(model, {"posterior", "diagnostics"}); found != nullptr && found->is_object())
    for (const auto& [name, values] : found->items())
      if (const auto rhat = number_at(values, {"rhat"}); rhat && (!largest || *rhat > *largest)) largest = rhat;
  return largest;
}

}  // namespace

std::vector<std::string> caveats(const Json& model, std::size_t num_groups, const std::vector<std::string>& misfits,
                                 std::optional<double> share_sure) {
  std::vector<std::string> texts;
  const Json* reason = find(model, {"fit", "stop_reason"});
  if (reason != nullptr && (*reason == "time_limit" || *reason == "interrupted"))
    texts.push_back("The fit was stopped before it had settled: the groups may still change with more time.");
  if (const auto rhat = largest_rhat(model); rhat && *rhat >= 1.05)
    texts.push_back("Runs from different starting points do not agree with each other: run longer before leaning on the groups.");
  std::optional<double> tried = number_at(model, {"fit", "starts", "tried"}),
                        agreeing = number_at(model, {"fit", "starts", "agreeing"});
  if (!tried) tried = number_at(model, {"fit", "restarts", "finished"}), agreeing = number_at(model, {"fit", "restarts", "agreed"});
  if (tried && agreeing && *tried > 1.0 && *agreeing <= 1.0)
    texts.push_back(
        fmt::format("Only one of {:.0f} starts ended at these groups: a longer search (--restarts) may find better ones.", *tried));
  if (!misfits.empty())
    texts.push_back(
        fmt::format("The groups do not explain everything: {} in the data differ from what the model gives by more than chance.",
                    list_words(misfits)));
  if (num_groups > 1 && !model.contains("selection") && !model.contains("posterior"))
    texts.push_back(fmt::format("The number of groups, {}, was set by hand; 'caucus select' compares it with others.", num_groups));
  if (share_sure && num_groups > 1 && *share_sure < 0.3)
    texts.push_back(fmt::format("Only {} of the rankings belong to one group clearly: the groups overlap.", percent(*share_sure)));
  return texts;
}

}  // namespace caucus::report
