#include "caucus/io/item_edits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "caucus/base/error.h"
#include "caucus/io/items.h"
#include "caucus/io/nobody.h"
#include "caucus/io/text.h"

namespace caucus {

namespace {

struct Rule {
  std::string from, to;
};

// "Write-in*=Write-in": names have fewer '=' at their ends than patterns, so the last one divides.
Rule parse_rule(const std::string& text, std::string_view flag) {
  const std::size_t at = text.rfind('=');
  Rule rule;
  if (at != std::string::npos) rule = {std::string(trim(text.substr(0, at))), std::string(trim(text.substr(at + 1)))};
  if (rule.from.empty() || rule.to.empty())
    throw UsageError(fmt::format("--{} {}: expected OLD=NEW, as in --{} \"Write-in*=Write-in\"", flag, show_text(text), flag));
  return rule;
}

class Editor {
 public:
  Editor(Dataset& data, const ReadOptions& options) : data_(data), options_(options), names_(data.items) {}

  void run() {
    for (const std::string& text : options_.merge)
      if (!text.empty()) merge(parse_rule(text, "merge"));
    for (const std::string& text : options_.rename)
      if (!text.empty()) rename(parse_rule(text, "rename"));
    leave_out(options_.drop, "");  // in tables most of them have gone already, cell by cell
    leave_out(options_.exclude, "exclude");
    keep_only();
    renumber();
    rebuild();
  }

 private:
  void warn_unmatched(std::string_view flag, std::string_view pattern) {
    if (!options_.recalled) data_.warnings.push_back(fmt::format("--{} {}: no item has such a name", flag, show_text(pattern)));
  }

  void merge(const Rule& rule) {
    bool any = false;
    for (std::string& name : names_) {
      if (!matches_pattern(name, rule.from)) continue;
      name = rule.to;
      any = true;
    }
    if (!any) warn_unmatched("merge", rule.from);
  }

  void rename(const Rule& rule) {
    if (std::ranges::find(names_, rule.from) == names_.end()) {
      warn_unmatched("rename", rule.from);
      return;
    }
    if (std::ranges::find(names_, rule.to) != names_.end())
      throw UsageError(fmt::format("--rename {}={}: there is an item {} already; --merge makes one of two", rule.from, rule.to,
                                   show_text(rule.to)));
    std::ranges::replace(names_, rule.from, rule.to);
  }

  void leave_out(const std::vector<std::string>& patterns, std::string_view flag) {
    for (const std::string& pattern : patterns) {
      if (pattern.empty()) continue;
      // A name that has the comma itself comes first: then the pattern is no list.
      const bool whole = std::ranges::any_of(names_, [&](const std::string& name) { return matches_pattern(name, pattern); });
      for (const std::string& one : whole ? std::vector{pattern} : split_list(pattern)) {
        bool any = false;
        for (std::string& name : names_) {
          if (name.empty() || one.empty() || !matches_pattern(name, one)) continue;
          if (flag.empty() && matches_any(name, options_.keep)) continue;
          name.clear();
          any = true;
        }
        if (!any && !flag.empty()) warn_unmatched(flag, one);
      }
    }
  }

  void keep_only() {
    if (options_.items_only.empty() || options_.items_only == std::vector<std::string>{""}) return;
    for (const std::string& pattern : options_.items_only) {
      const bool whole = std::ranges::any_of(names_, [&](const std::string& name) { return matches_pattern(name, pattern); });
      for (const std::string& one : whole ? std::vector{pattern} : split_list(pattern))
        if (std::ranges::none_of(names_, [&](const std::string& name) { return matches_pattern(name, one); }))
          warn_unmatched("items-only", one);
    }
    for (std::string& name : names_)
      if (!matches_any(name, options_.items_only)) name.clear();
  }

  // The items that are left, in the order of the first of their old ones.
  void renumber() {
    std::unordered_map<std::string_view, ItemId> ids;
    for (const std::string& name : names_) {
      if (name.empty()) {
        new_ids_.push_back(ItemIndex::none);
        continue;
      }
      const auto [place, fresh] = ids.try_emplace(name, static_cast<ItemId>(items_.size()));
      if (fresh) items_.push_back(name);
      new_ids_.push_back(place->second);
    }
    if (items_.empty()) throw UsageError(data_.source + ": no item is left; look at --drop, --exclude and --items-only");
  }

  void rebuild() {
    if (data_.items == items_) return;
    data_.items = items_;
    Dataset old;  // rankings alone
    old.rankings = std::move(data_.rankings);
    old.blanks = std::move(data_.blanks);
    BallotRows rows;
    double became_blank = 0.0;
    std::size_t num_repeated = 0;
    for_each_file_row(
        old,
        [&](std::size_t, std::size_t row) {
          rows.begin();
          old.rankings[old.rankings.row_ranking(row)].for_each_group([&](std::span<const ItemId> group) {
            for (const ItemId item : group)
              if (new_ids_[item] != ItemIndex::none && !rows.push(new_ids_[item])) ++num_repeated;
            rows.end_group();
          });
          if (rows.size() == 0) became_blank += old.rankings.row_weight(row);
          rows.finish(old.rankings.row_weight(row));
        },
        [&](std::size_t, std::size_t row) { rows.blank(old.blanks[row].weight); });
    rows.build(data_);
    if (data_.rankings.empty()) throw DataError(data_.source + ": no ranking lists any of the items that are left");
    if (became_blank > 0.0) {
      part_covariates(old);
      data_.warnings.push_back(fmt::format("{} ballots list none of the items that are left and take no part", became_blank));
    }
    if (num_repeated > 0)
      data_.warnings.push_back(fmt::format("{} times a ballot lists a merged item again; its first place counts", num_repeated));
  }

  // Columns by row of the file again, then parted anew: more rows are blank now.
  void part_covariates(const Dataset& old) {
    const auto join = [&](auto& listed, const auto& blank) {
      if (listed.empty()) return;
      const auto apart = std::exchange(listed, {});
      for_each_file_row(
          old, [&](std::size_t, std::size_t row) { listed.push_back(apart[row]); },
          [&](std::size_t, std::size_t row) { listed.push_back(blank[row]); });
    };
    const std::vector<Column> blank = std::move(data_.blank_covariates);
    for (std::size_t i = 0; i < data_.covariates.size(); ++i) {
      join(data_.covariates[i].numbers, blank.empty() ? Column{}.numbers : blank[i].numbers);
      join(data_.covariates[i].texts, blank.empty() ? Column{}.texts : blank[i].texts);
    }
    split_blank_rows(data_);
  }

  Dataset& data_;
  const ReadOptions& options_;
  std::vector<std::string> names_;  // of the old items; empty: left out
  std::vector<std::string> items_;
  std::vector<ItemId> new_ids_;
};

std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 4); ++i) shown.push_back(show_text(names[i]));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > 4 ? ", ..." : "");
}

}  // namespace

bool edits_items(const ReadOptions& options) {
  return !(options.drop.empty() && options.exclude.empty() && options.items_only.empty() && options.merge.empty() &&
           options.rename.empty());
}

void edit_items(Dataset& data, const ReadOptions& options) {
  if (edits_items(options)) Editor(data, options).run();
}

void question_items(Dataset& data, const ReadOptions& options) {
  std::vector<std::string> odd;
  for (const std::string& item : data.items)
    if (resembles_nobody(item) && !matches_any(item, options.keep)) odd.push_back(item);
  if (!odd.empty())
    data.warnings.push_back(fmt::format(
        "is {} an item? It reads like a mark that names nobody; --drop leaves it out, --keep says it is one", some_of(odd)));
}

}  // namespace caucus
