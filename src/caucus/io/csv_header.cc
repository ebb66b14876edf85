#include "caucus/io/csv_header.h"

#include <algorithm>
#include <array>
#include <optional>

#include "caucus/io/nobody.h"
#include "caucus/io/text.h"

namespace caucus {

namespace {

constexpr std::array<std::string_view, 11> rank_words{"rank",       "ranking", "ranked", "choice", "pos",      "position",
                                                      "preference", "pref",    "place",  "vote",   "selection"};
constexpr std::array<std::string_view, 20> ordinals{"first",     "second",      "third",      "fourth",     "fifth",
                                                    "sixth",     "seventh",     "eighth",     "ninth",      "tenth",
                                                    "eleventh",  "twelfth",     "thirteenth", "fourteenth", "fifteenth",
                                                    "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"};

struct Token {
  std::string text;  // lower case
  std::size_t begin, end;
  bool digits;
};

// Runs of letters and runs of digits; all else separates.
std::vector<Token> tokens_of(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t begin = i;
    const bool digits = is_digit(name[i]);
    if (!digits && !is_letter(name[i])) {
      ++i;
      continue;
    }
    while (i < name.size() && (digits ? is_digit(name[i]) : is_letter(name[i]))) ++i;
    tokens.push_back({lower_case(name.substr(begin, i - begin)), begin, i, digits});
  }
  return tokens;
}

bool is_rank_word(const Token& token) { return std::ranges::find(rank_words, token.text) != rank_words.end(); }

struct Found {
  std::uint64_t rank;
  std::size_t first, last;  // tokens it takes up, last excluded
  std::string word;
};

// "1st" or "first" at this token: the rank and how many tokens.
std::optional<std::pair<std::uint64_t, std::size_t>> ordinal_at(const std::vector<Token>& tokens, std::size_t i) {
  if (!tokens[i].digits) {
    const auto found = std::ranges::find(ordinals, tokens[i].text);
    if (found == ordinals.end()) return std::nullopt;
    return std::pair{static_cast<std::uint64_t>(found - ordinals.begin()) + 1, std::size_t{1}};
  }
  if (i + 1 >= tokens.size() || tokens[i + 1].begin != tokens[i].end) return std::nullopt;
  const std::string& suffix = tokens[i + 1].text;
  const auto number = parse_count(tokens[i].text);
  if (!number || (suffix != "st" && suffix != "nd" && suffix != "rd" && suffix != "th")) return std::nullopt;
  return std::pair{*number, std::size_t{2}};
}

std::optional<Found> find_rank(const std::vector<Token>& tokens) {
  const std::size_t n = tokens.size();
  // "choice 1", "choice 1 of 5"
  for (std::size_t i = 0; i + 1 < n; ++i) {
    if (!is_rank_word(tokens[i]) || !tokens[i + 1].digits) continue;
    const auto number = parse_count(tokens[i + 1].text);
    if (!number) continue;
    const bool of = i + 3 < n && tokens[i + 2].text == "of" && tokens[i + 3].digits;
    return Found{*number, i, i + (of ? 4 : 2), tokens[i].text};
  }
  // "1st choice", "first choice"
  for (std::size_t i = 0; i < n; ++i)
    if (const auto ordinal = ordinal_at(tokens, i))
      if (const std::size_t next = i + ordinal->second; next < n && is_rank_word(tokens[next]))
        return Found{ordinal->first, i, next + 1, tokens[next].text};
  // "1 choice" alone; "1st" or "first" at the end: "first name" is about something else
  if (n == 2 && tokens[0].digits && is_rank_word(tokens[1]))
    if (const auto number = parse_count(tokens[0].text)) return Found{*number, 0, 2, tokens[1].text};
  for (std::size_t i = n >= 2 ? n - 2 : 0; i < n; ++i)
    if (const auto ordinal = ordinal_at(tokens, i); ordinal && i + ordinal->second == n) return Found{ordinal->first, i, n, ""};
  return std::nullopt;
}

std::string_view without_marks(std::string_view text) {
  constexpr std::string_view marks = " \t_-.:,/|";
  while (!text.empty() && marks.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && marks.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

// SurveyMonkey: names of answers beneath a question, whose first cell alone has its text; nothing beneath what was asked of
// everybody, or "Response"; numbers in the rows that follow. A record of data is never taken for that.
bool has_answers_below(const std::vector<std::string>& header, const CsvSample& sample) {
  if (sample.size() < 2 || header.empty() || header[0].empty() || sample[0].empty() || !sample[0][0].empty()) return false;
  const auto& below = sample[0];
  const auto titled = [&](std::size_t k) { return k < header.size() && !header[k].empty(); };
  bool any = false;
  for (std::size_t k = 0; k < below.size(); ++k) {
    const bool in_group = !titled(k) || (k + 1 < below.size() && !titled(k + 1));
    if (!in_group) {
      if (!below[k].empty() && lower_case(below[k]).find("response") == std::string::npos) return false;
      continue;
    }
    const std::string_view cell = k < sample[1].size() ? std::string_view(sample[1][k]) : std::string_view();
    if (names_nobody(below[k]) || parse_number(below[k]) || !(names_nobody(cell) || parse_number(cell))) return false;
    any = true;
  }
  return any;
}

}  // namespace

RankHeader parse_rank_header(std::string_view name) {
  const std::vector<Token> tokens = tokens_of(name);
  const auto found = find_rank(tokens);
  if (!found || found->rank == 0) return {};
  const std::string_view before = without_marks(name.substr(0, tokens[found->first].begin));
  const std::string_view after = without_marks(name.substr(tokens[found->last - 1].end));
  std::string contest(before);
  if (!before.empty() && !after.empty()) contest += ' ';
  contest += after;
  return {found->rank, std::move(contest), found->word};
}

std::vector<Contest> find_contests(const std::vector<std::string>& header) {
  struct Group {
    std::string key;
    Contest contest;
    std::vector<std::pair<std::uint64_t, std::size_t>> ranks;
  };
  std::vector<Group> groups;
  for (std::size_t i = 0; i < header.size(); ++i) {
    RankHeader found = parse_rank_header(header[i]);
    if (found.rank == 0) continue;
    const std::string key = lower_case(found.contest) + '\n' + found.word;
    auto group = std::ranges::find(groups, key, &Group::key);
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {std::move(found.contest), {}, 0}, {}});
    group->ranks.emplace_back(found.rank, i);
  }
  std::vector<Contest> contests;
  for (Group& group : groups) {
    std::ranges::sort(group.ranks);
    for (std::size_t i = 0; i < group.ranks.size(); ++i) {
      if (group.ranks[i].first != i + 1 && group.contest.missing == 0) group.contest.missing = i + 1;
      group.contest.columns.push_back(group.ranks[i].second);
    }
    contests.push_back(std::move(group.contest));
  }
  return contests;
}

HeaderLines find_header_lines(std::vector<std::string>& header, const CsvSample& sample) {
  HeaderLines lines;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, sample.size()); ++i) {
    const bool imports = std::ranges::any_of(sample[i], is_import_cell);
    if (!imports || !std::ranges::all_of(sample[i], [](const std::string& cell) { return cell.empty() || is_import_cell(cell); }))
      continue;
    lines.count = i + 1;
    lines.labels.resize(header.size());
    if (i == 0) return lines;
    for (std::size_t k = 0; k < std::min(header.size(), sample[0].size()); ++k) {
      // "Please rank the candidates - Ann"
      const std::size_t dash = sample[0][k].rfind(" - ");
      if (dash != std::string::npos) lines.labels[k] = trim(std::string_view(sample[0][k]).substr(dash + 3));
    }
    return lines;
  }
  if (has_answers_below(header, sample)) {
    const auto& below = sample[0];
    lines.count = 1;
    lines.labels.resize(below.size());
    header.resize(std::max(header.size(), below.size()));
    for (std::size_t k = 0; k < below.size(); ++k) {
      const bool group_begins = k + 1 < header.size() && header[k + 1].empty();
      if (header[k].empty() || group_begins) header[k] = lines.labels[k] = below[k];
    }
  }
  return lines;
}

}  // namespace caucus
