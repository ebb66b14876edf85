#include "caucus/io/battle.h"

#include <fmt/format.h>

#include <algorithm>

#include "caucus/io/text.h"

namespace caucus {

std::string plain_name(std::string_view name) {
  std::string result;
  for (const char c : lower_case(name))
    if (is_digit(c) || (c >= 'a' && c <= 'z')) result += c;
  return result;
}

bool tells_who_compared(std::string_view name) {
  std::string plain = plain_name(name);
  if (plain.size() > 2 && plain.ends_with("id")) plain.resize(plain.size() - 2);
  constexpr std::string_view people[] = {"judge",     "voter",      "assessor",    "rater", "user",
                                         "annotator", "respondent", "participant", "grader"};
  return std::ranges::find(people, plain) != std::end(people);
}

std::string warning_of_judges(std::string_view name) {
  return fmt::format(
      "the column {} tells who compared; each comparison still counts as a ballot of its own. --voter {} makes the comparisons of "
      "one "
      "person belong together",
      show_text(name), name);
}

std::optional<int> battle_outcome(std::string_view winner, std::string_view a, std::string_view b, std::string_view name_a,
                                  std::string_view name_b) {
  if (equal_ignoring_case(winner, name_a)) return 1;
  if (equal_ignoring_case(winner, name_b)) return -1;
  if (winner == a) return 1;
  if (winner == b) return -1;
  const std::string word = lower_case(winner);
  if (word.starts_with("tie") || word.starts_with("draw") || word.starts_with("both")) return 0;
  if (word == "a" || word == "left" || word == "first" || word == "model_a") return 1;
  if (word == "b" || word == "right" || word == "second" || word == "model_b") return -1;
  // Numbers stand for a side only where they cannot be items.
  if (!parse_count(a) && !parse_count(b) && (word == "1" || word == "2")) return word == "1" ? 1 : -1;
  return std::nullopt;
}

}  // namespace caucus
