#include "caucus/service/selection_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace caucus {

namespace {

// Lower is better.
double criterion_value(const SelectRow& row, Criterion criterion) {
  switch (criterion) {
    case Criterion::ebic:
      return row.ebic;
    case Criterion::bic:
      return row.bic;
    case Criterion::aic:
      return row.aic;
    case Criterion::icl:
      return row.icl;
    default:
      return -row.heldout_mean.value_or(-infinity);
  }
}

bool predicts_better(const PairedDifference& ahead, const HalvesRule& rule) {
  return ahead.mean > rule.errors * ahead.standard_error && ahead.mean > 0.0;
}
bool comes_back(const SelectRow& row, const HalvesRule& rule) {
  return !row.replication || row.replication->weakest >= rule.agreement;
}

std::size_t choose_by_halves(std::span<const SelectRow> table, const HalvesRule& rule) {
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < table.size() && i - chosen <= static_cast<std::size_t>(rule.patience); ++i)
    if (predicts_better(table[i].ahead[chosen], rule) && comes_back(table[i], rule)) chosen = i;
  return chosen;
}

std::string groups_of(int k) { return fmt::format("{} group{}", k, k == 1 ? "" : "s"); }

std::size_t row_of(const Selection& selection) {
  const auto found = std::ranges::find(selection.table, selection.chosen_k, &SelectRow::k);
  return static_cast<std::size_t>(found - selection.table.begin());
}

// The row that the chosen one had to beat: the last one taken before it.
std::size_t rival_of(std::span<const SelectRow> table, std::size_t chosen, const HalvesRule& rule) {
  return choose_by_halves(table.first(chosen), rule);
}

// Why a row beyond the chosen one was not taken.
std::string refusal(const SelectRow& row, std::size_t chosen, const HalvesRule& rule) {
  const PairedDifference& ahead = row.ahead[chosen];
  std::string text = fmt::format("{}: ", groups_of(row.k));
  if (ahead.mean < -rule.errors * ahead.standard_error)
    text += fmt::format("predict unseen ballots worse ({:+.4f} ± {:.4f} a ballot)", ahead.mean, ahead.standard_error);
  else if (predicts_better(ahead, rule))
    text += fmt::format("predict unseen ballots better ({:+.4f} ± {:.4f} a ballot)", ahead.mean, ahead.standard_error);
  else
    text +=
        fmt::format("do not predict unseen ballots clearly better ({:+.4f} ± {:.4f} a ballot)", ahead.mean, ahead.standard_error);
  if (!comes_back(row, rule))
    text += fmt::format("{} the two halves find different groups (agreement {:.2f})",
                        predicts_better(ahead, rule) ? ", but" : ", and", row.replication->weakest);
  return text + ".";
}

// How near the choice was to another one: how far each side of each test is from its bar.
std::string certainty(const Selection& selection, std::size_t chosen, const HalvesRule& rule) {
  const std::span<const SelectRow> table(selection.table);
  const auto errors = [](const PairedDifference& ahead) {
    return ahead.standard_error > 0.0 ? ahead.mean / ahead.standard_error : ahead.mean > 0.0 ? infinity : 0.0;
  };
  bool close = false, clear = true;
  if (chosen > 0) {
    const double margin = errors(table[chosen].ahead[rival_of(table, chosen, rule)]), weakest = table[chosen].replication->weakest;
    close = margin < rule.errors + 1.0 || weakest < rule.agreement + 0.05;
    clear = margin > rule.errors + 2.0 && weakest > rule.agreement + 0.15;
  }
  for (const SelectRow& row : table.subspan(chosen + 1)) {
    const double margin = errors(row.ahead[chosen]), weakest = row.replication->weakest;
    close = close || (margin > rule.errors - 1.0 && weakest > rule.agreement - 0.05);
    clear = clear && (margin < rule.errors - 1.0 || weakest < rule.agreement - 0.15);
  }
  if (close) return "A close call: another cut of the ballots in halves (--seed 2) may answer otherwise.";
  return clear ? "The answer is clear." : "The answer is fairly sure.";
}

// On large files many groups are real and few are needed to see most: the fewest that come back and bring nine tenths of the gain.
std::optional<std::string> shorter_story(std::span<const SelectRow> table, std::size_t chosen, const HalvesRule& rule) {
  const double whole = chosen > 0 ? table[chosen].ahead[0].mean : 0.0;
  for (std::size_t i = 1; i < chosen; ++i)
    if (const double share = table[i].ahead[0].mean / whole; share >= 0.9 && comes_back(table[i], rule))
      return fmt::format("{} tell most of it: they bring {:.0f} % of the gain over {}, and come back too (agreement {:.2f}).",
                         groups_of(table[i].k), 100.0 * share, groups_of(table[0].k), table[i].replication->weakest);
  return std::nullopt;
}

std::vector<std::string> explain_halves(const Selection& selection, std::size_t chosen, const HalvesRule& rule) {
  const std::vector<SelectRow>& table = selection.table;
  const SelectRow& row = table[chosen];
  std::vector<std::string> why;
  if (table.size() == 1) return {fmt::format("{}: the only number that was tried.", groups_of(row.k))};
  if (chosen == 0) {
    why.push_back(fmt::format(
        "{}: more of them do not both predict unseen ballots better and come back in each half of the ballots.", groups_of(row.k)));
  } else {
    const std::size_t rival = rival_of(table, chosen, rule);
    why.push_back(fmt::format(
        "{}: fitted to either half of the ballots they predict the other half better than {} by {:.4f} ± {:.4f} a ballot, "
        "and both halves find the same groups (agreement {:.2f}; 1 is the same).",
        groups_of(row.k), groups_of(table[rival].k), row.ahead[rival].mean, row.ahead[rival].standard_error,
        row.replication->weakest));
  }
  why.push_back(certainty(selection, chosen, rule));
  if (auto shorter = shorter_story(table, chosen, rule)) why.push_back(std::move(*shorter));
  for (std::size_t i = chosen + 1; i < std::min(table.size(), chosen + 3); ++i) why.push_back(refusal(table[i], chosen, rule));
  return why;
}

// Whatever the criterion: the chosen row and the two that come next.
std::vector<std::string> explain_scores(const Selection& selection, std::size_t chosen) {
  std::string name(name_of(selection.criterion));
  const bool heldout = is_heldout(selection.criterion);
  if (!heldout) std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::vector<std::string> why{fmt::format("{} by {}.", groups_of(selection.chosen_k), heldout ? "held-out likelihood" : name)};
  const double own = criterion_value(selection.table[chosen], selection.criterion);
  std::vector<const SelectRow*> others;
  for (const SelectRow& row : selection.table)
    if (row.k != selection.chosen_k) others.push_back(&row);
  std::ranges::stable_sort(others, {}, [&](const SelectRow* row) { return criterion_value(*row, selection.criterion); });
  for (std::size_t i = 0; i < std::min<std::size_t>(2, others.size()); ++i) {
    const double behind = criterion_value(*others[i], selection.criterion) - own;
    why.push_back(behind >= 0.0 ? fmt::format("{}: behind by {:.4g}.", groups_of(others[i]->k), behind)
                                : fmt::format("{}: better by {:.4g}, but not by enough.", groups_of(others[i]->k), -behind));
  }
  return why;
}

}  // namespace

std::size_t choose_row(std::span<const SelectRow> table, Criterion criterion, bool one_standard_error, const HalvesRule& rule) {
  if (criterion == Criterion::halves) return choose_by_halves(table, rule);
  // More groups must be better by more than what fits leave undone, and by more than nothing: with one ballot the penalty of BIC is
  // nothing, and where a prior holds the utilities the log-likelihood moves by the root of what the objective still lacks.
  const double nothing = is_heldout(criterion) ? 1e-6 : 1e-3;  // a mean per ballot, or twice the log-likelihood of all
  std::size_t best = 0;
  for (std::size_t i = 1; i < table.size(); ++i) {
    const double value = criterion_value(table[i], criterion), least = criterion_value(table[best], criterion);
    if (value < least - nothing - 1e-6 * std::abs(least)) best = i;
  }
  // The rule of Breiman et al. (1984), with the standard error of the paired difference: what two K share cancels.
  if (one_standard_error && is_heldout(criterion))
    for (std::size_t i = 0; i < best; ++i)
      if (table[best].ahead[i].mean <= table[best].ahead[i].standard_error) return i;
  return best;
}

bool goes_on(std::span<const SelectRow> table, Criterion criterion, bool one_standard_error, const HalvesRule& rule) {
  if (table.empty()) return true;
  return table.size() - 1 - choose_row(table, criterion, one_standard_error, rule) < static_cast<std::size_t>(rule.patience);
}

std::vector<std::string> explain(const Selection& selection) {
  const std::size_t chosen = row_of(selection);
  if (chosen == selection.table.size()) return {};
  std::vector<std::string> why =
      selection.criterion == Criterion::halves ? explain_halves(selection, chosen, {}) : explain_scores(selection, chosen);
  if (selection.out_of_time)
    why.push_back(fmt::format("Time was up after {}: more groups were not tried.", groups_of(selection.table.back().k)));
  return why;
}

}  // namespace caucus
