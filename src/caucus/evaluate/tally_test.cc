#include "caucus/evaluate/tally.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/random.h"
#include "caucus/io/io.h"

namespace caucus {
namespace {

// Worked by hand: 3 ballots A>B>C, 2 ballots C, 1 ballot B=C>A, of four candidates.
Dataset small(Unranked unranked) {
  ReadOptions options;
  options.unranked = unranked;
  return parse_dataset("4 1\n3 1 2 3 0\n2 3 0\n1 2=3 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"D\"\n\"Small\"\n", "small.blt", options);
}

TEST(Tally, CountedByHandWhereUnlistedAreLast) {
  const Tally sums = tally(small(Unranked::last));
  EXPECT_EQ(sums.total, 6.0);
  EXPECT_EQ(sums.first, (std::vector<double>{3, 0.5, 2.5, 0}));
  EXPECT_EQ(sums.listed, (std::vector<double>{4, 4, 6, 0}));
  // A above B 3, B above A 1 (the tied ballot); B above C 3, C above B 2, tied 1; A above C 3, C above A 3; all above D as listed.
  EXPECT_EQ(sums.above, (std::vector<double>{0, 3, 3, 4, 1, 0, 3, 4, 3, 2, 0, 6, 0, 0, 0, 0}));
  EXPECT_EQ(sums.tied[1 * 4 + 2], 1.0);
  EXPECT_EQ(sums.tied[2 * 4 + 1], 1.0);
  // Places of A: 3 x 1, 2 x 3 (the middle of 2, 3, 4), 1 x 3. Of D: 3 x 4, 2 x 3, 1 x 4.
  EXPECT_DOUBLE_EQ(sums.mean_place(0), (3 * 1 + 2 * 3 + 3) / 6.0);
  EXPECT_DOUBLE_EQ(sums.mean_place(1), (3 * 2 + 2 * 3 + 1.5) / 6.0);
  EXPECT_DOUBLE_EQ(sums.mean_place(2), (3 * 3 + 2 * 1 + 1.5) / 6.0);
  EXPECT_DOUBLE_EQ(sums.mean_place(3), (3 * 4 + 2 * 3 + 4) / 6.0);
  EXPECT_DOUBLE_EQ(sums.borda(0), 4 * 6.0 - 12.0);
  // After A: B three times. After C: nobody twice; the tied ballot gives half to C after B and half to B after C.
  EXPECT_EQ(sums.second, (std::vector<double>{0, 3, 0, 0, 0, 0, 0, 0.5, 0, 0, 0, 0.5, 0, 0, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(sums.condorcet_winner(), 4U) << "A and C are even";
}

TEST(Tally, CountedByHandWhereUnlistedTookNoPart) {
  const Tally sums = tally(small(Unranked::absent));
  EXPECT_EQ(sums.above, (std::vector<double>{0, 3, 3, 0, 1, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(sums.mean_place(2), (3 * 3 + 2 * 1 + 1.5) / 6.0);
  EXPECT_DOUBLE_EQ(sums.mean_place(0), (3 * 1 + 3) / 4.0);
  EXPECT_TRUE(std::isnan(sums.mean_place(3)));
  EXPECT_EQ(sums.num_pairs(0), 8.0);
  EXPECT_DOUBLE_EQ(sums.win_rate(0), 6.0 / 8.0);
  EXPECT_DOUBLE_EQ(sums.win_rate(1), (1 + 3 + 0.5) / 8.0) << "a tie is half a win";
  EXPECT_TRUE(std::isnan(sums.win_rate(3)));
}

TEST(Tally, GroupsByLabelAddUpToAll) {
  const Dataset data = small(Unranked::last);
  const std::vector<std::uint32_t> labels = {0, 1, 1};
  const Tally all = tally(data), one = tally(data, weights_of_label(data, labels, 0)),
              two = tally(data, weights_of_label(data, labels, 1));
  EXPECT_EQ(one.total, 3.0);
  for (std::size_t c = 0; c < all.above.size(); ++c) EXPECT_DOUBLE_EQ(one.above[c] + two.above[c], all.above[c]);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(one.first[i] + two.first[i], all.first[i]);
}

TEST(Tally, ACondorcetWinnerIsFound) {
  const Dataset data = parse_dataset("3 1\n4 1 2 3 0\n3 2 1 3 0\n3 3 2 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"t\"\n", "c.blt");
  const Tally sums = tally(data);
  EXPECT_EQ(sums.condorcet_winner(), 1U);  // B beats A 6 : 4 and C 7 : 3, though A has most first places
  EXPECT_EQ(sums.first[0], 4.0);
}

}  // namespace
}  // namespace caucus
