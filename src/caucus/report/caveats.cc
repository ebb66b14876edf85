// What a reader must know before leaning on the groups, gravest first, in words without jargon.
#include <fmt/format.h>

#include <algorithm>

#include "caucus/report/parts.h"

namespace caucus::report {

std::vector<std::string> caveats(const FitSummary& summary, std::size_t num_groups, bool given,
                                 const std::vector<std::string>& misfits, std::optional<double> share_sure,
                                 std::string_view members) {
  std::vector<std::string> texts;
  if (was_cut_short(summary.stop_reason))
    texts.push_back("The fit was stopped before it had settled: the groups may still change with more time.");
  double rhat = 0.0;  // the worst of the chains
  if (summary.posterior)
    for (const ChainQuantity& one : summary.posterior->quantities) rhat = std::max(rhat, one.rhat.value_or(0.0));
  if (rhat >= 1.05)
    texts.push_back("Runs from different starting points do not agree with each other: run longer before leaning on the groups.");
  if (summary.starts && summary.starts->finished > 1 && summary.starts->agreeing <= 1)
    texts.push_back(fmt::format("Only one of {} starts ended at these groups: a longer search (--restarts) may find better ones.",
                                summary.starts->finished));
  if (!misfits.empty())
    texts.push_back(
        fmt::format("The groups do not explain everything: {} in the data differ from what the model gives by more than chance.",
                    list_words(misfits)));
  if (given)
    texts.push_back(fmt::format("The number of groups, {}, was set by hand; 'caucus select' compares it with others.", num_groups));
  if (share_sure && num_groups > 1 && *share_sure < 0.3)
    texts.push_back(
        fmt::format("Only {} of the {} belong to one group clearly: the groups overlap.", percent(*share_sure), members));
  return texts;
}

}  // namespace caucus::report
