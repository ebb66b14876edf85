// Who cast which rankings. All rankings of one voter come from one group: a voter is the unit that belongs to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/column.h"

namespace caucus {

struct Dataset;

// A sparse table of counts, row by row: entry j of row r, for j in [begin[r], begin[r + 1]), is count(j) in column other[j].
struct Incidence {
  std::vector<std::uint32_t> begin{0};
  std::vector<std::uint32_t> other;  // ascending within a row
  std::vector<std::uint32_t> times;  // empty: 1 everywhere

  std::size_t num_rows() const { return begin.size() - 1; }
  std::uint32_t count(std::size_t j) const { return times.empty() ? 1U : times[j]; }
  Incidence transposed(std::size_t num_columns) const;
};

struct Voters {
  std::string column;              // the column that names them; empty where every row is a voter of its own
  std::vector<std::string> names;  // in the order of their first ranking; empty where every row is a voter of its own
  std::vector<double> weights;     // how many such voters there are: each casts all the rankings. Empty: voters were not asked for
  std::vector<std::uint32_t> of_row;
  Incidence rankings;               // voter -> distinct rankings
  Incidence casters;                // distinct ranking -> voters
  std::vector<Column> table;        // what a table of voters says of them, one value each
  std::vector<std::string> silent;  // those whose rankings are all blank: they take no part

  bool given() const { return !weights.empty(); }
  bool by_row() const { return given() && names.empty(); }
  std::size_t size() const { return weights.size(); }
  double total_weight() const;
  // Did somebody cast several rankings? Where nobody did, a voter is a ballot and fits do what they do without voters.
  bool share() const { return shared_; }
  std::string name(std::size_t voter) const { return names.empty() ? "row " + std::to_string(voter + 1) : names[voter]; }

 private:
  friend void set_voters(Dataset&, std::vector<std::uint32_t>, std::vector<std::string>, std::vector<double>);
  bool shared_ = false;
};

// Takes the voters from the covariate of that name, which stays where it is. Throws UsageError where there is none, DataError where
// a row names nobody or the weights of a voter's rows differ.
void collect_voters(Dataset& data, std::string_view column);
// Whether all rows of a voter have one weight.
bool has_weights_of_voters(const Dataset& data, std::string_view column);
// Every row is a voter: for covariates of voters who cast one ranking each.
void make_rows_voters(Dataset& data);
// Voters by number: of_row has one for each row of the rankings, the others one value per voter.
void set_voters(Dataset& data, std::vector<std::uint32_t> of_row, std::vector<std::string> names, std::vector<double> weights);

// What is known of the voters: the table's columns, then those beside the rankings that do not vary within a voter. One value per
// voter. O(rows) per column.
std::vector<Column> voter_columns(const Dataset& data);

// The same data with other weights of the voters; those of weight 0 are left out (folds, bootstrap). Columns are the voters' own.
Dataset with_voter_weights(const Dataset& data, std::span<const double> weights);

}  // namespace caucus
