// A data set: rankings, the names of their items, what unlisted items mean, and voter covariates.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/base/workers.h"
#include "caucus/data/column.h"
#include "caucus/data/ranking.h"
#include "caucus/data/voters.h"

namespace caucus {

// A ranking of the file that takes no part: it lists nothing, or counts nothing (weight 0). Its place keeps the numbers of the
// others.
struct BlankRow {
  std::size_t row;  // among all rankings of the file, from 0
  double weight;
};

// What a file says of its ballots besides the rankings.
struct BallotFacts {
  double overvoted = 0.0;  // weight of the ballots with an overvote: two marks for one place, read as none
  double skipped = 0.0;    // of those that leave a place empty before a later choice, which moves up
  std::size_t seats = 0;   // to be filled; 0: the file does not say
};

struct Dataset {
  std::vector<std::string> items;  // UTF-8, distinct
  RankingSet rankings;
  std::vector<BlankRow> blanks;  // by row, ascending
  Unranked unranked = Unranked::last;
  BallotFacts facts;
  std::vector<Column> covariates;        // one value per row of rankings
  std::vector<Column> blank_covariates;  // the same columns, one value per blank row
  Voters voters;                         // where they were asked for
  std::vector<std::string> warnings;
  std::string source;  // the file's name, for messages

  std::size_t num_items() const { return items.size(); }
  std::size_t num_listed() const { return rankings.num_rows() + blanks.size(); }  // rankings of the file, blank ones too
  double blank_weight() const;
  // Other rankings of the same items: a part, a resample. Rows have no covariates then.
  Dataset with(RankingSet others) const;
};

// Calls listed(row, i) for row i of the rankings and blank(row, i) for the i-th blank one, in the order of the file, whose rows
// count from 0.
template <class Listed, class Blank>
void for_each_file_row(const Dataset& data, Listed&& listed, Blank&& blank) {
  std::size_t next = 0;
  for (std::size_t row = 0; row < data.num_listed(); ++row) {
    if (next < data.blanks.size() && data.blanks[next].row == row)
      blank(row, next++);
    else
      listed(row, row - next);
  }
}

// How the rankings of a data set look, and so which families can take it.
enum class DataKind { complete, partial, pairwise };
template <>
inline constexpr std::array<std::string_view, 3> enum_names<DataKind>{"complete", "partial", "pairwise"};

struct DataTraits {
  DataKind kind = DataKind::complete;
  std::size_t min_length = 0;
  std::size_t max_length = 0;
  bool has_ties = false;  // a tie-group of more than one listed item occurs
  bool complete = true;   // every ranking lists all items
  bool top_t = false;     // some list fewer, and the rest are last
  bool subset = false;    // some list fewer, and the rest are absent
};
DataTraits traits(const Dataset& data);

// A digest of everything that bears on a fit: items, rankings with weights, meaning of unlisted items.
// "xxh128:<32 hex digits>".
std::string digest(const Dataset& data);
// The same where several processes have the same data: one of them looks at all of it. All call; null: this one alone.
std::string digest(const Dataset& data, Collective* ranks);

// A digest of rankings that go by: of the rows in their order with their weights, then items and the meaning of unlisted ones. How
// the rows are cut into pieces does not matter. "xxh128-rows:<32 hex digits>".
class RowDigest {
 public:
  RowDigest();
  ~RowDigest();
  void add(const RankingSet& rankings);
  std::string finish(std::span<const std::string> items, Unranked unranked);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
// Do these rankings have this digest, of either kind?
bool has_digest(const Dataset& data, std::string_view digest);

// The rankings of `data` with items renumbered to `model_items`, matched by name. Throws DataError that
// names the first unknown items. Items of the model that the data lack are fine.
Dataset match_items(Dataset data, std::span<const std::string> model_items);

}  // namespace caucus
