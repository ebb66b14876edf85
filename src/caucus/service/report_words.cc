#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "caucus/service/families.h"
#include "caucus/service/report_parts.h"

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
  return std::stod(fmt::format("{:.{}e}", value, std::max(0, std::max(digits, size + 1) - 1)));
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

namespace {

std::string ordinal(std::size_t place) {
  const std::size_t tens = place % 100, ones = place % 10;
  const char* suffix = tens >= 11 && tens <= 13 ? "th" : ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th";
  return fmt::format("{}{}", place, suffix);
}

std::vector<std::size_t> places(const std::vector<ItemId>& order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) place[order[p]] = p + 1;
  return place;
}

std::vector<std::string> names(const ModelView& view, const std::vector<ItemId>& items) {
  std::vector<std::string> result;
  for (ItemId item : items) result.push_back(view.items[item]);
  return result;
}

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

Taste taste(const ModelView& view, std::size_t k) {
  const GroupView& group = view.groups[k];
  const std::size_t n = view.items.size();
  Taste result;
  if (n < 2) return result;
  const double middle = static_cast<double>(n + 1) / 2.0;
  // Nobody stands out where the best item's average place is hardly above the middle.
  result.clear = group.mean_place[group.order[0]] < middle - 0.08 * static_cast<double>(n - 1);
  if (!result.clear) return result;
  const std::size_t most = n <= 3 ? 1 : n <= 5 ? 2 : 3;
  for (std::size_t p = 0; p < most; ++p) {
    const ItemId item = group.order[p];
    const double behind = group.mean_place[item] - group.mean_place[group.order[0]];
    if (p > 0 && (behind > 0.3 * static_cast<double>(n - 1) || group.mean_place[item] > middle)) break;
    if (p == 2 && behind > 0.15 * static_cast<double>(n - 1)) break;
    result.likes.push_back(item);
  }
  if (n <= 12) {
    if (group.mean_place[group.order[n - 1]] > middle + 0.2 * static_cast<double>(n - 1))
      result.rejects.push_back(group.order[n - 1]);
    return result;
  }
  // With many items the last one is hardly known; what tells is a favourite of the others that this group puts low.
  if (view.groups.size() < 2) return result;
  const std::vector<std::size_t> place = places(group.order);
  std::size_t worst = 2 * n / 3;
  for (std::size_t p = 0; p < n / 4; ++p)
    if (const ItemId item = view.everyone.order[p]; place[item] > worst) {
      worst = place[item];
      result.rejects = {item};
    }
  return result;
}

std::string group_words(const ModelView& view, std::size_t k, std::optional<double> sure) {
  const Taste found = taste(view, k);
  std::string text =
      view.groups.size() > 1 ? fmt::format("Group {}, {} of voters: ", k + 1, percent(view.groups[k].weight)) : "All voters: ";
  if (!found.clear)
    text += "no clear preference";
  else
    text += "prefers " + list_words(names(view, found.likes));
  if (!found.rejects.empty()) text += ", rejects " + list_words(names(view, found.rejects));
  if (sure) text += fmt::format("; very sure of {} of its members", percent(*sure));
  return text + ".";
}

std::vector<std::string> model_sentences(const ModelView& view, double num_rankings) {
  std::vector<std::string> sentences;
  const std::size_t n = view.items.size(), k_all = view.groups.size();
  if (k_all == 1) {
    if (num_rankings > 0.0) sentences.push_back(fmt::format("One model for all {} rankings.", whole(num_rankings)));
    const auto& order = view.everyone.order;
    if (n >= 3)
      sentences.push_back(fmt::format("{} is liked most, then {} and {}.", view.items[order[0]], view.items[order[1]],
                                      n == 3 ? view.items[order[2]] : view.items[order[2]]));
    return sentences;
  }
  sentences.push_back(num_rankings > 0.0 ? fmt::format("The {} rankings fall into {}.", whole(num_rankings), groups_of(k_all))
                                         : fmt::format("The voters fall into {}.", groups_of(k_all)));
  if (n < 4) return sentences;
  // What nearly all share and what divides them, by voters' weight.
  std::vector<double> high(n, 0.0), low(n, 0.0), mean(n, 0.0), spread(n, 0.0);
  std::vector<std::vector<std::size_t>> place;
  for (const GroupView& group : view.groups) {
    place.push_back(places(group.order));
    for (std::size_t i = 0; i < n; ++i) {
      const double p = static_cast<double>(place.back()[i]);
      mean[i] += group.weight * p;
      spread[i] += group.weight * p * p;
      if (3 * (place.back()[i] - 1) < n) high[i] += group.weight;
      if (3 * (n - place.back()[i]) < n) low[i] += group.weight;
    }
  }
  std::vector<std::string> liked, disliked;
  for (ItemId item : view.everyone.order) {
    if (high[item] > 0.999 && liked.size() < 3) liked.push_back(view.items[item]);
    if (low[item] > 0.999 && disliked.size() < 3) disliked.push_back(view.items[item]);
  }
  if (!liked.empty()) sentences.push_back(fmt::format("All groups place {} high.", list_words(liked)));
  if (!disliked.empty() && n <= 50) sentences.push_back(fmt::format("All groups place {} low.", list_words(disliked)));
  std::size_t divides = 0;
  for (std::size_t i = 0; i < n; ++i) {
    spread[i] -= mean[i] * mean[i];
    if (spread[i] > spread[divides]) divides = i;
  }
  if (spread[divides] > 0.25) {
    std::size_t best = 0, worst = 0;
    for (std::size_t k = 1; k < k_all; ++k) {
      if (view.groups[k].weight < 0.02) continue;
      if (place[k][divides] < place[best][divides]) best = k;
      if (place[k][divides] > place[worst][divides]) worst = k;
    }
    if (best != worst)
      sentences.push_back(fmt::format("They differ most on {}: {} in group {}, {} in group {}.", view.items[divides],
                                      ordinal(place[best][divides]), best + 1, ordinal(place[worst][divides]), worst + 1));
  }
  return sentences;
}

std::vector<std::string> selection_sentences(const Json& selection) {
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

}  // namespace caucus::report
