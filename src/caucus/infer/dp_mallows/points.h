// The data as the samplers see them: distinct top-t rankings in compressed rows, and one point per ballot, or per voter where they
// cast several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus::dp_mallows {

using Item = std::int32_t;

// sigma: `order` best first, `position` its inverse.
struct Center {
  std::vector<Item> order;
  std::vector<std::int16_t> position;
};

struct Points {
  std::size_t num_items = 0;
  std::size_t num_stages = 0;             // the longest ranking's; a complete one has n - 1
  std::vector<std::uint32_t> offsets{0};  // of the distinct rankings
  std::vector<Item> items;
  std::vector<std::uint32_t> ranking;     // of each ballot, point by point; a ballot of weight w is w of them
  std::vector<std::uint32_t> by_ranking;  // ballots sorted by ranking, stable
  // Voters: the first ballot of each and the end, and the voter of each ballot. Empty: every ballot is a point.
  std::vector<std::uint32_t> begin, owner;

  bool several() const { return size() < ranking.size(); }  // rankings of a point
  std::size_t size() const { return begin.empty() ? ranking.size() : begin.size() - 1; }
  std::size_t num_rankings() const { return offsets.size() - 1; }
  std::span<const Item> operator[](std::size_t r) const {
    return std::span(items).subspan(offsets[r], offsets[r + 1] - offsets[r]);
  }
  // The rankings of a point, and the first of them.
  std::span<const std::uint32_t> of(std::size_t point) const {
    return begin.empty() ? std::span(ranking).subspan(point, 1)
                         : std::span(ranking).subspan(begin[point], begin[point + 1] - begin[point]);
  }
  std::span<const Item> of_point(std::size_t point) const { return (*this)[of(point)[0]]; }
  std::uint32_t point_of(std::size_t ballot) const { return owner.empty() ? static_cast<std::uint32_t>(ballot) : owner[ballot]; }

  void add_ranking(std::span<const Item> listed);  // cut to at most n - 1 items
  void add_voter(std::span<const std::uint32_t> rankings);
  void index_points();  // after `ranking` is filled
};

// All rankings of a voter, item lists each.
using Ballots = std::span<const std::span<const Item>>;

// Points in the order of the file's rows, or of its voters. Throws DataError for ties, subset rankings, weights that are not whole,
// and more than 32767 items.
Points make_points(const Dataset& data);

// s_j(pi | sigma), j = 1..t: the position of the j-th item minus the number of earlier-listed items before it. O(t^2).
template <class Position>
void codes(std::span<const Item> ranking, Position&& position, std::span<std::int32_t> out) {
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    const std::int32_t own = position(ranking[j]);
    std::int32_t s = own;
    for (std::size_t q = 0; q < j; ++q) s -= position(ranking[q]) < own ? 1 : 0;
    out[j] = s;
  }
}

}  // namespace caucus::dp_mallows
