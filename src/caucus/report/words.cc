#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "caucus/report/parts.h"
#include "caucus/service/families.h"
#include "caucus/service/select.h"

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

std::optional<double> number_at(const Json& object, std::initializer_list<const char*> path) {
  const Json* found = find(object, path);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
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
  static const std::map<std::string, FamilyWords> regressions = {
      {"logit-lasso",
       {"Multinomial logit with lasso prior",
        "Every feature pulls towards or away from every outcome, compared with the last one; the prior keeps small pulls near "
        "zero."}},
      {"pl-regression",
       {"Plackett-Luce regression",
        "Every feature gives every outcome a share; the larger an outcome's total, the likelier it comes first. A coefficient of "
        "zero means the "
        "feature says nothing for that outcome."}},
  };
  const auto found = regressions.find(family);
  return found != regressions.end() ? found->second : FamilyWords{family, fmt::format("A model of the family {}.", family)};
}

// The reasons as the command line gives them; none in files that do not hold them.
std::vector<std::string> reasons(const Json& selection) {
  std::vector<std::string> texts;
  if (const Json* why = find(selection, {"why"}); why != nullptr && why->is_array())
    for (const Json& one : *why)
      if (one.is_string()) texts.push_back(one.get<std::string>());
  return texts;
}

std::vector<std::string> selection_sentences(const Json& selection) {
  if (std::vector<std::string> why = reasons(selection); !why.empty()) return why;
  const std::string criterion = selection.value("criterion", std::string("bic"));
  const bool heldout = criterion == "cv" || criterion == "holdout";
  const char* key = heldout               ? "heldout_mean"
                    : criterion == "aic"  ? "aic"
                    : criterion == "icl"  ? "icl"
                    : criterion == "ebic" ? "ebic"
                                          : "bic";
  const auto chosen = static_cast<std::int64_t>(number_at(selection, {"chosen_k"}).value_or(0.0));
  std::string upper = criterion;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string by = heldout ? "By how well unseen rankings are predicted" : "By " + upper;
  std::vector<std::string> sentences = {
      fmt::format("{}, {} {} best.", by, groups_of(static_cast<std::size_t>(chosen)), chosen == 1 ? "is" : "are")};
  std::optional<double> own, next;
  std::int64_t next_k = 0;
  const Json* table = find(selection, {"table"});
  if (table == nullptr || !table->is_array()) return sentences;
  for (const Json& row : *table) {
    const auto k = static_cast<std::int64_t>(number_at(row, {"k"}).value_or(0.0));
    const std::optional<double> value = number_at(row, {key});
    if (!value) continue;
    const double badness = heldout ? -*value : *value;
    if (k == chosen) {
      own = badness;
    } else if (!next || badness < *next) {
      next = badness;
      next_k = k;
    }
  }
  if (own && next)
    sentences.push_back(*next >= *own
                            ? fmt::format("Next comes {}, behind by {:.3g}.", next_k, *next - *own)
                            : fmt::format("{} scores better by {:.3g}, but not by enough to prefer it.", next_k, *own - *next));
  return sentences;
}

std::vector<std::string> selection_words(const Json& selection) {
  const auto chosen = static_cast<std::size_t>(number_at(selection, {"chosen_k"}).value_or(0.0));
  if (selection.value("criterion", std::string()) == name_of(Criterion::halves) && chosen > 0)
    return {chosen == 1
                ? "No division into groups holds up: what one half of the rankings shows does not help to predict the other half."
                : fmt::format("{} are as many as hold up: two halves of the rankings, each taken alone, show the same ones.",
                              groups_of(chosen))};
  double least = 0.0, most = 0.0;
  if (const Json* table = find(selection, {"table"}); table != nullptr && table->is_array())
    for (const Json& row : *table)
      if (const auto k = number_at(row, {"k"})) {
        least = least == 0.0 ? *k : std::min(least, *k);
        most = std::max(most, *k);
      }
  if (most <= least) return {};
  std::string text =
      fmt::format("{} {} chosen among {:.0f} to {:.0f}.", groups_of(chosen), chosen == 1 ? "was" : "were", least, most);
  if (static_cast<double>(chosen) == most) text += " It is the largest number tried: more may fit better still.";
  return {text};
}

std::vector<std::string> comparison_sentences(const Json& comparison) {
  std::vector<std::string> sentences, close, far;
  const Json* table = find(comparison, {"table"});
  if (table == nullptr || !table->is_array()) return sentences;
  std::string best;
  for (const Json& row : *table) {
    if (row.contains("refused") || !number_at(row, {"heldout_mean"})) continue;
    const std::string name = row.value("label", row.value("family", std::string("?")));
    if (best.empty()) {
      best = name;
      sentences.push_back(fmt::format("{} predicts rankings it has not seen best.", name));
      continue;
    }
    const double behind = number_at(row, {"behind_best"}).value_or(0.0), se = number_at(row, {"behind_se"}).value_or(0.0);
    (behind > 2.0 * se ? far : close).push_back(name);
  }
  if (!close.empty())
    sentences.push_back(fmt::format("{} {} not clearly worse.", list_words(close), close.size() == 1 ? "is" : "are"));
  if (!far.empty())
    sentences.push_back(
        fmt::format("{} {} clearly worse (by more than two standard errors).", list_words(far), far.size() == 1 ? "is" : "are"));
  if (const Json* note = find(comparison, {"note"}); note != nullptr && note->is_string() && !note->get<std::string>().empty())
    sentences.push_back(note->get<std::string>());
  return sentences;
}

Json comparison_json(const Json& source) {
  Json json = {{"sentences", comparison_sentences(source)}, {"table", Json::array()}, {"left_out", Json::array()}};
  if (const auto folds = number_at(source, {"folds"})) json["folds"] = rounded(*folds);
  for (const Json& row : source.value("table", Json::array())) {
    const std::string name = row.value("label", row.value("family", std::string("?")));
    const auto mean = number_at(row, {"heldout_mean"});
    if (row.contains("refused") || !mean) {
      json["left_out"].push_back(
          {{"name", name},
           {"why", row.contains("refused") && row["refused"].is_string() ? row["refused"].get<std::string>() : "no result"}});
      continue;
    }
    Json one = {
        {"name", name}, {"heldout_mean", rounded(*mean, 8)}, {"heldout_se", rounded(number_at(row, {"heldout_se"}).value_or(0.0))}};
    const auto copy = [&](const char* to, const char* from, double factor = 1.0) {
      if (const auto value = number_at(row, {from})) one[to] = rounded(factor * *value);
    };
    copy("difference", "behind_best", -1.0);
    copy("difference_se", "behind_se");
    copy("groups", "groups");
    copy("seconds", "seconds");
    copy("memory_mb", "peak_bytes", 1e-6);
    json["table"].push_back(std::move(one));
  }
  return json;
}

Json selection_json(const Json& source, const std::string& family) {
  Json json = {{"family", family},
               {"criterion", source.value("criterion", std::string("bic"))},
               {"chosen_k", source.value("chosen_k", Json(0))},
               {"sentences", selection_sentences(source)},
               {"words", selection_words(source)},
               {"table", Json::array()}};
  for (const Json& row : source.value("table", Json::array())) {
    Json one = Json::object();
    for (const char* key : {"k", "loglik", "ebic", "bic", "aic", "icl", "heldout_mean", "heldout_se", "seconds"})
      if (const auto value = number_at(row, {key})) one[key] = rounded(*value, 10);
    if (const std::vector<double> agreement = numbers_at(row, {"agreement"}); !agreement.empty())
      one["replication"] = rounded(*std::min_element(agreement.begin(), agreement.end()));
    if (one.contains("k")) json["table"].push_back(std::move(one));
  }
  return json;
}

}  // namespace caucus::report
