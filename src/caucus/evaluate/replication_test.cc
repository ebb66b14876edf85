#include "caucus/evaluate/replication.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "caucus/evaluate/identifiable.h"

namespace caucus {
namespace {

// Ballot i belongs to group c with the probability given.
class Given : public FittedModel {
 public:
  Given(std::vector<std::vector<double>> shares) : FittedModel({"a", "b", "c"}, Unranked::last), shares_(std::move(shares)) {}
  std::string_view family() const override { return "given"; }
  std::size_t num_components() const override { return shares_[0].size(); }
  void check(const Dataset&) const override {}
  void log_joint(const Dataset&, std::size_t first, std::size_t count, std::span<double> joint) const override {
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t c = 0; c < num_components(); ++c) joint[i * num_components() + c] = std::log(shares_[first + i][c]);
  }
  Sample sample(const SampleRequest&) const override { return {}; }

 private:
  std::vector<Group> groups() const override { return std::vector<Group>(num_components()); }
  std::vector<std::vector<double>> shares_;
};

Dataset ballots(const std::vector<double>& weights) {
  const std::vector<std::vector<ItemId>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  Dataset data;
  data.items = {"a", "b", "c"};
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < weights.size(); ++i) builder.add(orders[i], weights[i]);
  data.rankings = builder.build();
  return data;
}

// The correlation of two columns by its definition, ballot by ballot: a weight of 3 is three ballots.
double correlation(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& weights) {
  std::vector<double> a, b;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (int copy = 0; copy < static_cast<int>(weights[i]); ++copy) a.push_back(x[i]), b.push_back(y[i]);
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  double xy = 0.0, xx = 0.0, yy = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    xy += (a[i] - mean(a)) * (b[i] - mean(b));
    xx += (a[i] - mean(a)) * (a[i] - mean(a));
    yy += (b[i] - mean(b)) * (b[i] - mean(b));
  }
  return xy / std::sqrt(xx * yy);
}

TEST(Replication, CorrelationOfMembershipsGroupsMatched) {
  const std::vector<double> weights{3, 1, 2, 5, 1, 2};
  const Given first({{0.9, 0.1}, {0.8, 0.2}, {0.3, 0.7}, {0.1, 0.9}, {0.5, 0.5}, {0.2, 0.8}});
  const Given second({{0.2, 0.8}, {0.1, 0.9}, {0.9, 0.1}, {0.8, 0.2}, {0.4, 0.6}, {0.7, 0.3}});  // its groups in the other order
  const Replication found = replication(first, second, ballots(weights), 1);
  const double expected = correlation({0.9, 0.8, 0.3, 0.1, 0.5, 0.2}, {0.8, 0.9, 0.1, 0.2, 0.6, 0.3}, weights);
  ASSERT_EQ(found.groups.size(), 2u);
  EXPECT_NEAR(found.groups[0], expected, 1e-12);
  EXPECT_NEAR(found.weakest, std::min(found.groups[0], found.groups[1]), 0.0);
  // Most probable groups: ballots 1, 2 (and 5, a draw, in the first group) against the rest; in the second model 5 goes with them.
  EXPECT_NEAR(found.adjusted_rand, 1.0, 1e-12);
  EXPECT_NEAR(found.prediction_strength, 1.0, 1e-12);
}

TEST(Replication, PredictionStrengthAndRandIndexByPairs) {
  const std::vector<double> weights{3, 1, 2, 5, 1, 2};
  const std::vector<int> a{0, 0, 0, 1, 1, 1}, b{0, 1, 0, 1, 1, 0};
  const auto model = [](const std::vector<int>& labels) {
    std::vector<std::vector<double>> shares;
    for (const int label : labels) shares.push_back(label == 0 ? std::vector{0.99, 0.01} : std::vector{0.01, 0.99});
    return Given(shares);
  };
  // Pair by pair over single ballots.
  std::vector<int> x, y;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (int copy = 0; copy < static_cast<int>(weights[i]); ++copy) x.push_back(a[i]), y.push_back(b[i]);
  double both = 0, in_x = 0, in_y = 0, all = 0;
  double together[2][2] = {}, pairs[2][2] = {};  // [direction][group]
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      all += 1, in_x += x[i] == x[j], in_y += y[i] == y[j], both += x[i] == x[j] && y[i] == y[j];
      if (x[i] == x[j]) pairs[0][x[i]] += 1, together[0][x[i]] += y[i] == y[j];
      if (y[i] == y[j]) pairs[1][y[i]] += 1, together[1][y[i]] += x[i] == x[j];
    }
  const double expected = in_x * in_y / all;
  const Replication found = replication(model(a), model(b), ballots(weights), 1);
  EXPECT_NEAR(found.adjusted_rand, (both - expected) / (0.5 * (in_x + in_y) - expected), 1e-12);
  double least = 1.0;
  for (int d = 0; d < 2; ++d)
    for (int g = 0; g < 2; ++g) least = std::min(least, together[d][g] / pairs[d][g]);
  EXPECT_NEAR(found.prediction_strength, least, 1e-12);
}

TEST(Replication, OneGroupIsAlwaysTheSame) {
  const Given one({{1.0}, {1.0}, {1.0}});
  EXPECT_EQ(replication(one, one, ballots({1, 2, 3}), 1).weakest, 1.0);
}

Dataset orders(const std::vector<std::vector<ItemId>>& list, std::size_t num_items, Unranked unranked) {
  Dataset data;
  for (std::size_t i = 0; i < num_items; ++i) data.items.push_back(std::string(1, static_cast<char>('a' + i)));
  data.unranked = unranked;
  RankingSetBuilder builder;
  for (const auto& order : list) builder.add(order);
  data.rankings = builder.build();
  return data;
}

TEST(WhyNoGroups, OneChoiceABallotIsNotEnough) {
  using U = Unranked;
  EXPECT_NE(why_no_groups(orders({{0, 1}, {1, 2}, {2, 0}}, 3, U::absent))->find("single comparison"), std::string::npos);
  EXPECT_NE(why_no_groups(orders({{0}, {1}, {2}}, 3, U::last))->find("one item"), std::string::npos);
  EXPECT_NE(why_no_groups(orders({{0, 1}, {1, 0}}, 2, U::last))->find("two items"), std::string::npos);
  EXPECT_FALSE(why_no_groups(orders({{0, 1}, {1, 2}, {2, 0}}, 3, U::last)));  // the third is last: complete
  EXPECT_FALSE(why_no_groups(orders({{0, 1}, {0, 1, 2}}, 4, U::absent)));
  EXPECT_FALSE(why_no_groups(orders({{0}, {1, 2}}, 4, U::last)));
  EXPECT_FALSE(why_no_groups(orders({}, 4, U::last)));
}

}  // namespace
}  // namespace caucus
