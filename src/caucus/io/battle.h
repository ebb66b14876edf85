// Two items and who won: what tables and JSON of pairwise comparisons have in common.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace caucus {

// Names of columns and keys, in lower case without anything but letters and digits; the first that is there counts.
namespace battle {
inline constexpr std::array<std::string_view, 14> first{"modela",  "itema",   "a",         "playera",   "teama",
                                                        "left",    "item1",   "player1",   "team1",     "model1",
                                                        "optiona", "option1", "responsea", "candidatea"};
inline constexpr std::array<std::string_view, 14> second{"modelb",  "itemb",   "b",         "playerb",   "teamb",
                                                         "right",   "item2",   "player2",   "team2",     "model2",
                                                         "optionb", "option2", "responseb", "candidateb"};
inline constexpr std::array<std::string_view, 4> winner{"winner", "preferred", "chosen", "won"};
inline constexpr std::array<std::string_view, 4> loser{"loser", "notpreferred", "rejected", "lost"};
inline constexpr std::array<std::string_view, 5> result{"result", "outcome", "preference", "vote", "label"};
}  // namespace battle

// Lower case without anything but letters and digits: "User ID" and "user_id" are "userid".
std::string plain_name(std::string_view name);

// Is this a column that tells who compared: a judge, a voter, an assessor?
bool tells_who_compared(std::string_view name);
std::string warning_of_judges(std::string_view name);

// 1: a wins, -1: b wins, 0: a tie; nothing where `winner` says none of them. The columns' own names are answers too.
std::optional<int> battle_outcome(std::string_view winner, std::string_view a, std::string_view b, std::string_view name_a,
                                  std::string_view name_b);

}  // namespace caucus
