// The parts of a report's data, one function each; data.cc puts them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/infer/pl_regression/fitted.h"
#include "caucus/infer/pl_regression/path.h"
#include "caucus/result/fit_summary.h"
#include "caucus/result/fitted_model.h"
#include "caucus/service/compare.h"
#include "caucus/service/select.h"

namespace caucus {
struct ClassScores;
}

namespace caucus::report {

using Json = nlohmann::json;

// Looking into the report's own parts.
const Json* find(const Json& object, std::initializer_list<const char*> path);
// Numbers of a list, NaN where it has none; empty where there is no list of this size (0: any size).
std::vector<double> numbers_at(const Json& object, std::initializer_list<const char*> path, std::size_t size = 0);

// About `digits` significant digits: the file stays small and the views lose nothing. What is not a number becomes null.
Json rounded(double value, int digits = 6);
Json rounded(std::span<const double> values, int digits = 6);
std::string percent(double share);
std::string whole(double value);  // 12,345
std::string list_words(const std::vector<std::string>& words);
// The last part of a path; and a command or message in which every absolute path is cut to that. A page is sent to others: where
// files lie on the author's machine is not for them.
std::string file_name(const std::string& path);
std::string without_paths(const std::string& text);

// What a group thinks of every item.
struct GroupView {
  double weight = 1.0;
  std::vector<ItemId> order;       // best first
  std::vector<double> utilities;   // empty: the family has none
  std::vector<double> first;       // probability of the first place, by item
  std::vector<double> mean_place;  // from 1
  std::vector<double> pairs;       // of the chosen items, row above column, row-major
  std::vector<ItemId> unbounded;   // items whose utility the data do not bound
  Group profile;                   // the parameters and their errors; of no meaning for everyone
};

struct ModelView {
  std::vector<std::string> items;
  std::vector<GroupView> groups;
  GroupView everyone;
  std::vector<ItemId> pair_items;
  std::size_t num_draws = 0;  // rankings drawn for what has no formula; 0: all by formula
};

// Every group and all voters together, as the model sees them.
ModelView view_model(const FittedModel& model, std::uint64_t seed, int threads);

// Who belongs to which group. Members are the voters where somebody casts several rankings, else the distinct rankings.
struct VoterView {
  bool by_voter = false;
  std::vector<double> probabilities;  // K per member
  std::vector<std::uint32_t> label;   // of each member
  std::vector<double> certainty;      // the label's probability
  std::vector<double> weight;
  // The rankings as groups cast them: the data, or where voters are the members the same rankings once per group that cast them.
  std::shared_ptr<const Dataset> ballots;
  std::vector<std::uint32_t> ballot_label;  // of each distinct ranking there
  std::vector<double> ballot_certainty;     // mean of those who cast it

  std::string_view members() const { return by_voter ? "voters" : "rankings"; }
  double total() const { return sum(weight); }
  // Weight of the members with probability 0.9 or more, of one group or of all.
  double sure(std::optional<std::size_t> group = {}) const;
};
VoterView view_voters(const FittedModel& model, std::shared_ptr<const Dataset> data, int threads);
Json memberships_json(const VoterView& voters, std::size_t num_groups);

// A map of the ballots: the two directions in which signs of item pairs vary most.
struct BallotMap {
  std::vector<std::size_t> rankings;  // the distinct rankings on the map
  std::vector<double> x, y;
  double explained = 0.0;     // share of the variation that the two directions hold
  std::size_t num_items = 0;  // whose pairs were looked at
};
BallotMap map_ballots(const Dataset& data, std::size_t max_points, std::uint64_t seed);
Json map_json(const BallotMap& map, const VoterView& voters);

Json data_json(const Dataset& data);
// Parametric bootstrap (evaluate/goodness.h) on at most 5000 ballots. Null where the data cannot be checked, with the reason in
// `why_not`. `misfits` gets the names of the checks that fail.
Json goodness_json(const FittedModel& model, const Dataset& data, std::uint64_t seed, int threads, std::string& why_not,
                   std::vector<std::string>& misfits);
// Utilities of a group with their intervals, as a leaderboard needs them.
struct Strengths {
  std::vector<double> utilities;
  std::vector<std::optional<std::pair<double, double>>> intervals;  // by item; empty: none known
  std::vector<ItemId> unbounded;                                    // left out
};
// "leaderboard" of a model of battles: Elo's scale, 1000 the mean, and the ranks that clear differences leave open.
Json leaderboard_json(std::span<const Strengths> groups);
Json traces_json(const FitSummary& summary);
// model: nullptr for a regression; voters and data: nullptr without rankings.
Json diagnostics_json(const FitSummary& summary, const FittedModel* model, const VoterView* voters);
// Null where the number of groups was fixed.
Json clusters_json(const FitSummary& summary, std::size_t num_groups);
Json regression_json(const pl_regression::Fitted& model, const std::vector<pl_regression::PathPoint>& path,
                     const ClassScores* scores);
std::vector<std::string> regression_sentences(const Json& regression);

// The family in words: title and one sentence.
struct FamilyWords {
  std::string title;
  std::string words;
};
FamilyWords family_words(const std::string& family);
// What a reader must know first, gravest first. given: the number of groups was set by hand; misfits: what the check of the fit
// found wrong; share_sure: of the rankings, those that belong to their group with probability 0.9 or more.
std::vector<std::string> caveats(const FitSummary& summary, std::size_t num_groups, bool given,
                                 const std::vector<std::string>& misfits, std::optional<double> share_sure,
                                 std::string_view members = "rankings");
std::vector<std::string> selection_sentences(const SelectionFacts& selection);
// The same without the criterion's name, to open a page with: what was chosen among what, and why if `select` says.
std::vector<std::string> selection_words(const SelectionFacts& selection);
std::vector<std::string> comparison_sentences(const Comparison& comparison);
// "selection" and "comparison" of a report.
Json selection_json(const SelectionFacts& selection, const std::string& family);
Json comparison_json(const Comparison& comparison);

}  // namespace caucus::report
