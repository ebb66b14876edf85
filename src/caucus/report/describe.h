// Groups in plain words: what sets each apart, in numbers counted among its members where there are data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caucus/report/counted.h"
#include "caucus/report/parts.h"

namespace caucus::report {

// What a page calls those who rank, what they rank, and what they hand in.
struct Nouns {
  std::string voters = "voters";
  std::string items = "items";
  std::string rankings = "rankings";
};

struct Description {
  std::vector<ItemId> likes, rejects;
  std::string words;
};

struct GroupFacts {
  std::string name;            // "Group 2", or as the user calls it
  std::optional<double> sure;  // share of its members that belong with probability 0.9 or more
};

// One description per group, no two alike: groups that would be told in the same words are told apart by what divides them most.
// Items whose strength the data do not bound, and items that hardly anybody lists, are never spoken of. counted: nullptr without
// data.
std::vector<Description> describe_groups(const ModelView& view, const Counted* counted, const std::vector<GroupFacts>& facts,
                                         const Nouns& nouns);

// What is to be said of all groups together: what they share, what divides them.
std::vector<std::string> model_sentences(const ModelView& view, const Counted* counted, const std::vector<GroupFacts>& facts,
                                         double num_rankings, const Nouns& nouns);

}  // namespace caucus::report
