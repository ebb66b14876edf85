#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "caucus/infer/pl_regression/family.h"
#include "caucus/report/parts.h"
#include "caucus/service/families.h"

namespace caucus::report {

const Json* find(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

std::vector<double> numbers_at(const Json& object, std::initializer_list<const char*> path, std::size_t size) {
  const Json* found = find(object, path);
  if (found == nullptr || !found->is_array() || (size != 0 && found->size() != size)) return {};
  std::vector<double> values;
  for (const Json& value : *found) values.push_back(value.is_number() ? value.get<double>() : std::nan(""));
  return values;
}

Json rounded(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  const int size = static_cast<int>(std::floor(std::log10(std::abs(value))));
  // Not stod, which refuses numbers below 1e-308.
  return std::strtod(fmt::format("{:.{}e}", value, std::max(0, std::max(digits, size + 1) - 1)).c_str(), nullptr);
}

Json rounded(std::span<const double> values, int digits) {
  Json list = Json::array();
  for (double value : values) list.push_back(rounded(value, digits));
  return list;
}

std::string percent(double share) {
  const double value = 100.0 * share;
  if (value > 0.0 && value < 0.1) return "under 0.1%";
  if (value > 0.0 && value < 1.0) return fmt::format("{:.1f}%", value);
  if (value > 99.0 && value < 100.0) return value >= 99.95 ? "over 99.9%" : fmt::format("{:.1f}%", value);
  return fmt::format("{:.0f}%", value);
}

std::string whole(double value) {
  const bool integral = std::abs(value - std::round(value)) < 1e-6;
  std::string digits = integral ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
  const std::size_t point = std::min(digits.find('.'), digits.size()), begin = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = point; at > begin + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string list_words(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (words.size() == 1) return words[0];
  std::string text;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) text += (i > 0 ? ", " : "") + words[i];
  return text + " and " + words.back();
}

std::string file_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string without_paths(const std::string& text) {
  std::string result;
  const auto ends_path = [](char c) { return c == ' ' || c == '\'' || c == '"' || c == ',' || c == ';' || c == ':' || c == ')'; };
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = text[at] == '/' && (at == 0 || ends_path(text[at - 1]) || text[at - 1] == '=' || text[at - 1] == '(');
    if (!begins) {
      result += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !ends_path(text[end])) ++end;
    result += file_name(text.substr(at, end - at));
    at = end;
  }
  return result;
}

namespace {

std::string groups_of(std::size_t count) { return count == 1 ? "1 group" : fmt::format("{} groups", count); }

}  // namespace

FamilyWords family_words(const std::string& family) {
  for (const auto& one : families())
    if (const FamilyInfo info = one->info(); info.name == family) return {info.title, info.words};
  for (const FamilyInfo& info : pl_regression::families())
    if (info.name == family) return {info.title, info.words};
  return {family, fmt::format("A model of the family {}.", family)};
}

namespace {

// What the criterion says of a row; less is better. NaN where it says nothing.
double badness(const SelectRow& row, Criterion criterion) {
  if (is_heldout(criterion)) return -row.heldout_mean.value_or(std::nan(""));
  return criterion == Criterion::aic    ? row.aic
         : criterion == Criterion::icl  ? row.icl
         : criterion == Criterion::ebic ? row.ebic
                                        : row.bic;
}

}  // namespace

std::vector<std::string> selection_sentences(const SelectionFacts& selection) {
  if (!selection.why.empty()) return selection.why;  // as the command line gives them
  std::string upper(name_of(selection.criterion));
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string by = is_heldout(selection.criterion) ? "By how well unseen rankings are predicted" : "By " + upper;
  std::vector<std::string> sentences = {fmt::format("{}, {} {} best.", by, groups_of(static_cast<std::size_t>(selection.chosen_k)),
                                                    selection.chosen_k == 1 ? "is" : "are")};
  std::optional<double> own, next;
  int next_k = 0;
  for (const SelectRow& row : selection.table) {
    const double value = badness(row, selection.criterion);
    if (std::isnan(value)) continue;
    if (row.k == selection.chosen_k) {
      own = value;
    } else if (!next || value < *next) {
      next = value;
      next_k = row.k;
    }
  }
  if (own && next)
    sentences.push_back(*next >= *own
                            ? fmt::format("Next comes {}, behind by {:.3g}.", next_k, *next - *own)
                            : fmt::format("{} scores better by {:.3g}, but not by enough to prefer it.", next_k, *own - *next));
  return sentences;
}

std::vector<std::string> selection_words(const SelectionFacts& selection) {
  // One group for want of anything to choose by, as where every ballot is one battle: no halves were tried.
  if (selection.table.size() == 1 && !selection.table.front().heldout_mean && !selection.why.empty()) return selection.why;
  if (selection.criterion == Criterion::halves && selection.chosen_k > 0)
    return {selection.chosen_k == 1
                ? "No division into groups holds up: what one half of the rankings shows does not help to predict the other half."
                : fmt::format("{} are as many as hold up: two halves of the rankings, each taken alone, show the same ones.",
                              groups_of(static_cast<std::size_t>(selection.chosen_k)))};
  if (selection.table.empty()) return {};
  const auto [least, most] = std::ranges::minmax(selection.table, {}, &SelectRow::k);
  if (most.k <= least.k) return {};
  std::string text = fmt::format("{} {} chosen among {} to {}.", groups_of(static_cast<std::size_t>(selection.chosen_k)),
                                 selection.chosen_k == 1 ? "was" : "were", least.k, most.k);
  if (selection.chosen_k == most.k) text += " It is the largest number tried: more may fit better still.";
  return {text};
}

std::vector<std::string> comparison_sentences(const Comparison& comparison) {
  std::vector<std::string> sentences, close, far;
  std::string best;
  for (const CompareRow& row : comparison.table) {
    if (row.refused) continue;
    if (best.empty()) {
      best = row.label;
      sentences.push_back(fmt::format("{} predicts rankings it has not seen best.", best));
      continue;
    }
    (row.behind_best.mean > 2.0 * row.behind_best.standard_error ? far : close).push_back(row.label);
  }
  if (!close.empty())
    sentences.push_back(fmt::format("{} {} not clearly worse.", list_words(close), close.size() == 1 ? "is" : "are"));
  if (!far.empty())
    sentences.push_back(
        fmt::format("{} {} clearly worse (by more than two standard errors).", list_words(far), far.size() == 1 ? "is" : "are"));
  if (!comparison.note.empty()) sentences.push_back(comparison.note);
  return sentences;
}

Json comparison_json(const Comparison& comparison) {
  Json json = {{"sentences", comparison_sentences(comparison)}, {"table", Json::array()}, {"left_out", Json::array()}};
  if (comparison.folds > 0) json["folds"] = comparison.folds;
  for (const CompareRow& row : comparison.table) {
    if (row.refused) {
      json["left_out"].push_back({{"name", row.label}, {"why", *row.refused}});
      continue;
    }
    Json one = {{"name", row.label},
                {"heldout_mean", rounded(row.heldout_mean, 8)},
                {"heldout_se", rounded(row.heldout_se)},
                {"difference", rounded(-row.behind_best.mean + 0.0)},
                {"difference_se", rounded(row.behind_best.standard_error)},
                {"groups", rounded(row.groups)},
                {"seconds", rounded(row.seconds)}};
    if (row.peak_bytes) one["memory_mb"] = rounded(1e-6 * *row.peak_bytes);
    json["table"].push_back(std::move(one));
  }
  return json;
}

Json selection_json(const SelectionFacts& selection, const std::string& family) {
  Json json = {{"family", family},
               {"criterion", name_of(selection.criterion)},
               {"chosen_k", selection.chosen_k},
               {"sentences", selection_sentences(selection)},
               {"words", selection_words(selection)},
               {"table", Json::array()}};
  for (const SelectRow& row : selection.table) {
    Json one = {{"k", row.k}};
    const auto add = [&](const char* key, double value) {
      if (std::isfinite(value)) one[key] = rounded(value, 10);
    };
    add("loglik", row.loglik);
    add("ebic", row.ebic);
    add("bic", row.bic);
    add("aic", row.aic);
    add("icl", row.icl);
    add("heldout_mean", row.heldout_mean.value_or(std::nan("")));
    add("heldout_se", row.heldout_se.value_or(std::nan("")));
    add("seconds", row.seconds);
    if (row.replication) add("replication", row.replication->weakest);
    json["table"].push_back(std::move(one));
  }
  return json;
}

}  // namespace caucus::report
