// The fitted model as a person wants to read it.
#include "show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands.h"

namespace caucus::cli {

namespace {

constexpr std::size_t most_items = 20;
constexpr std::size_t most_groups = 12;
constexpr std::size_t widest_name = 26, columns_left = 46;  // for a name and its bar, so that a line fits a terminal of 80 columns

std::string plural(double count, const std::string& noun) {
  const std::string number = count_text(count);
  return fmt::format("{} {}{}", number, noun, number == "1" ? "" : "s");
}

// Half the width of the interval about a utility, and its level: from the standard error, else from the interval itself.
std::optional<std::pair<double, double>> half_width(const Group& group, std::size_t item) {
  std::optional<Interval> interval = group.utility_interval(item);
  if (item < group.errors.utility_errors.size() && group.errors.utility_errors[item])
    interval = normal_interval(group.utilities[item], *group.errors.utility_errors[item]);
  if (!interval) return std::nullopt;
  return std::pair{0.5 * (interval->high - interval->low), interval->level};
}

}  // namespace

std::vector<double> first_chances(const Group& group) {
  if (group.utilities.empty()) return {};
  const double largest = *std::max_element(group.utilities.begin(), group.utilities.end());
  std::vector<double> chances;
  double total = 0.0;
  for (double utility : group.utilities) total += chances.emplace_back(std::exp(utility - largest));
  for (double& chance : chances) chance /= total;
  return chances;
}

namespace {

// The block of an item that the data do not tie to its group's reference, and its place there; none: it is a block of its own.
std::optional<std::pair<std::size_t, std::size_t>> place_in_block(const Group& group, ItemId item) {
  const std::vector<UtilityBlock>& blocks = group.errors.blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (const auto found = std::ranges::find(blocks[b].items, item); found != blocks[b].items.end())
      return std::pair{b, static_cast<std::size_t>(found - blocks[b].items.begin())};
  return std::nullopt;
}

// What the columns of utilities hold, so far.
struct Shown {
  std::optional<double> level;  // of the intervals
  bool blocks = false;          // some are measured within blocks
};

// Utilities, best first, with an interval and the chance to be first among all items. Blocks that nothing ties together have a zero
// each, and a line between them.
std::string show_utilities(const Group& group, const std::vector<std::string>& names, std::size_t width, const Style& style,
                           Shown& shown) {
  const std::vector<double> chances = first_chances(group);
  const double largest = *std::max_element(chances.begin(), chances.end());
  std::string text;
  std::size_t rank = 0;
  std::optional<std::size_t> block_above;  // 0: the reference
  for (const ItemId item : group.order) {
    if (++rank > most_items) {
      text += fmt::format("      ... and {} more\n", group.order.size() - most_items);
      break;
    }
    const auto eighths_per_row = static_cast<double>(8 * (columns_left - width));
    const auto eighths = static_cast<std::size_t>(std::lround(chances[item] / largest * eighths_per_row));
    static constexpr const char* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string bar;
    for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
    bar += parts[eighths % 8];
    const auto in_block = place_in_block(group, item);
    auto half = half_width(group, item);
    double utility = group.utilities[item];
    if (in_block) {
      const UtilityBlock& block = group.errors.blocks[in_block->first];
      utility = group.utility_within(block, in_block->second);
      if (!block.errors.empty() && block.errors[in_block->second]) {
        const Interval interval = normal_interval(0.0, *block.errors[in_block->second]);
        half = std::pair{interval.high, interval.level};
      }
    }
    std::string interval;
    if (half) {
      interval = fmt::format(" ± {:.2f}", half->first);
      shown.level = half->second;
    }
    if (in_block || !group.is_unbounded(item)) {
      const std::size_t block = in_block ? in_block->first + 1 : 0;
      if (block_above && *block_above != block) {
        text += fmt::format("        {}-- no finite distance --{}\n", style.dim, style.reset);
        shown.blocks = true;
      }
      block_above = block;
    } else {
      bar = "(no finite estimate)";
    }
    text += fmt::format("  {:>4}. {}  {:>+7.2f}{:<8} {:>5.1f}%  {}{}{}\n", rank, fit_width(names[item], width), utility, interval,
                        100.0 * chances[item], style.bar, bar, style.reset);
  }
  return text;
}

std::string show_consensus(const Group& group, const std::vector<std::string>& names) {
  std::string text = "    ";
  std::size_t shown = 0, column = 4;
  for (const ItemId item : group.order) {
    if (shown == most_items) {
      text += " > ...";
      break;
    }
    if (shown > 0) text += " > ", column += 3;
    if (column + display_width(names[item]) > 76) text += "\n      ", column = 6;
    text += names[item];
    column += display_width(names[item]);
    ++shown;
  }
  text += "\n";
  if (!group.theta_by_stage) return text;
  text += "    theta by rank:";
  for (std::size_t j = 0; j < std::min<std::size_t>(group.theta.size(), 12); ++j) text += fmt::format(" {:.2f}", group.theta[j]);
  return text + (group.theta.size() > 12 ? " ...\n" : "\n");
}

}  // namespace

std::string show_fit(const FittedModel& model, const FitSummary& summary, const Context& context,
                     std::span<const std::string> group_names) {
  const Style style(context.color_stdout());
  std::vector<std::string> names;
  for (const std::string& item : model.items()) names.push_back(printable(item));
  std::size_t width = 4;
  for (const std::string& name : names) width = std::max(width, std::min(widest_name, display_width(name)));

  const std::vector<Group> groups = model.profile();
  const bool voters = summary.num_voters > 0.0 && summary.num_voters != summary.num_rankings;
  // Weights that are no counts: what they are worth says more than what they sum to.
  const double worth = summary.details.view().number("effective_size", summary.num_rankings);
  const bool weighted = std::abs(worth - summary.num_rankings) > 1e-9 * worth;
  const std::string size =
      (weighted && !voters ? fmt::format("rankings worth {:.0f} (weights sum to {})", worth, count_text(summary.num_rankings))
                           : plural(summary.num_rankings, "ranking")) +
      (voters ? " by " + plural(summary.num_voters, "voter") : "");
  std::string text = fmt::format("{}{} in {} of {} items{}   {}family {}, method {}, {:.3g} s{}\n", style.bold,
                                 plural(static_cast<double>(groups.size()), "group"), size, names.size(), style.reset, style.dim,
                                 model.family(), summary.method, summary.seconds, style.reset);
  // Steps are those of all starts together.
  const bool search = summary.starts && summary.starts->tried > 1;
  text += std::isnan(summary.loglik)
              ? "log-likelihood not computed"
              : fmt::format("log-likelihood {:.4f}   BIC {:.1f}   AIC {:.1f}", summary.loglik, summary.bic(), summary.aic());
  text += fmt::format("\n{} parameters   {}{} {} steps{}\n", summary.num_parameters, name_of(summary.stop_reason),
                      search ? "," : " after", summary.iterations, search ? " in all starts" : "");
  if (summary.starts && summary.starts->finished > 1) {
    text += fmt::format("{} of {} starts ended here", summary.starts->agreeing, summary.starts->finished);
    if (const std::optional<double> chance = summary.starts->chance_of_a_better)
      text += fmt::format("   chance that a better optimum was missed {:.0f} %", 100.0 * *chance);
    text += "\n";
  }
  bool utilities_shown = false;
  Shown columns;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (k == most_groups) {
      text += fmt::format("\n... and {} smaller groups, in the model file\n", groups.size() - k);
      break;
    }
    const Group& group = groups[k];
    std::string head = fmt::format("{}, {:.1f} %", printable(group_name(group_names, k)), 100.0 * group.weight);
    if (!group.theta_by_stage && !group.theta.empty()) head += fmt::format(", theta {:.3f}", group.theta[0]);
    text += fmt::format("\n{}{}{}\n", style.bold, head, style.reset);
    if (!group.utilities.empty()) {
      text += show_utilities(group, names, width, style, columns);
      utilities_shown = true;
    } else if (!group.order.empty()) {
      text += show_consensus(group, names);
    }
  }
  for (const ModelFact& fact : model.facts())
    text += "\n" + wrapped(fmt::format("{}: {}; {}", fact.name, fact.value, fact.words), 2) + "\n";
  if (utilities_shown)
    text += fmt::format("\n{}{}{}\n", style.dim,
                        wrapped(fmt::format("Columns: utility (log-worth, mean zero{}){}; chance to be first among all items.",
                                            columns.blocks ? " between dashed lines" : "",
                                            columns.level ? fmt::format(" ± {:.0f} % interval", 100.0 * *columns.level) : ""),
                                2),
                        style.reset);
  return text;
}

}  // namespace caucus::cli
