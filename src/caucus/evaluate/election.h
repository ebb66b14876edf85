// Who wins: ballots counted by rules that elections use.
//
// A ballot counts for the best-ranked candidate still standing; candidates tied there share it equally (offices that void such
// ballots drop them before they are data). A ballot that ranks no one still standing is exhausted. Unlisted candidates get nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/data/dataset.h"

namespace caucus {

// How an elected candidate's surplus over the quota goes on.
enum class Surplus {
  // All papers, each at the fraction surplus / votes of its value, cut to five decimals: the Scottish Local Government Elections
  // Order 2007, rule 48 (weighted inclusive Gregory).
  weighted_inclusive,
  // The papers of the last parcel that reached the candidate, each transferable one at surplus / transferable papers, at most the
  // value it came with: the Irish Senate's rule. For the Dail the law draws whole papers from that parcel at random; this is what a
  // draw gives on average.
  last_parcel,
};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<Surplus>{"scottish", "irish"};

struct ElectionOptions {
  std::size_t seats = 1;
  Surplus surplus = Surplus::weighted_inclusive;
};

// One step of a count: votes as they stand after it.
struct Stage {
  enum class What { first_preferences, surplus, exclusion };
  What what = What::first_preferences;
  ItemId from = 0;              // whose papers moved; of no meaning at first preferences
  std::vector<double> votes;    // by candidate
  std::vector<double> moved;    // what each candidate gained (`from`: lost) in this stage
  double exhausted = 0.0;       // not transferable so far, with what rounding lost
  std::vector<ItemId> elected;  // in this stage, most votes first
};

struct Count {
  double total = 0.0;
  double quota = 0.0;
  std::vector<ItemId> elected;  // in the order of their election
  std::vector<Stage> stages;
  bool lot = false;  // a tie that earlier stages did not break was broken by the candidates' order in the file
};

// Single transferable vote; with one seat instant-runoff. The quota is Droop's, floor(votes / (seats + 1)) + 1. Largest surplus
// first, all surpluses before an exclusion, one exclusion at a time; ties by the latest earlier stage that tells them apart. The
// count ends when all seats are filled or as many candidates stand as there are seats. `weights` as in tally().
Count single_transferable_vote(const Dataset& data, const ElectionOptions& options, std::span<const double> weights = {});

// The winners by every rule, of the same ballots.
struct Winners {
  std::vector<ItemId> first_past_the_post;  // most first places: as many as there are seats (block of the leading ones)
  std::vector<ItemId> borda;
  ItemId condorcet;    // num_items: nobody beats all others
  Count runoff;        // one seat
  Count transferable;  // all seats; the same as runoff where there is one
};
Winners winners(const Dataset& data, const ElectionOptions& options, std::span<const double> weights = {});

}  // namespace caucus
