// Each procedure of the paper on its own.
#include <gtest/gtest.h>

#include <set>

#include "caucus/infer/mallows_tensor/decompose.h"
#include "caucus/infer/mallows_tensor/learn.h"
#include "caucus/infer/mallows_tensor/recover.h"
#include "caucus/infer/mallows_tensor/score.h"
#include "caucus/infer/mallows_tensor/testing.h"

namespace caucus::mallows_tensor {
namespace {

TEST(TopCounts, CountWhatTheySay) {
  TopCounts counts(4);
  counts.add(std::vector<ItemId>{2, 0, 3, 1}, 2.0);
  counts.add(std::vector<ItemId>{0, 2, 3, 1}, 1.0);
  EXPECT_EQ(counts.total(), 3.0);
  EXPECT_EQ(counts.first(2), 2.0);
  EXPECT_EQ(counts.first(1), 0.0);
  EXPECT_EQ(counts.triple(3, 0, 2), 3.0);
  EXPECT_EQ(counts.triple(1, 0, 2), 0.0);
  EXPECT_EQ(counts.position(3, 2), 3.0);
  EXPECT_EQ(counts.joint(2, 0, 1), 2.0);
  EXPECT_EQ(counts.joint(0, 0, 0), 1.0);
}

TEST(TopCounts, AddableAndTheSameForAnyThreadsAndDeletions) {
  RandomStream random(5);
  const MallowsPair truth = random_pair(7, random);
  const RankingSet rankings = draw_rankings(truth, 60000, 3);
  const TopCounts one = count_rankings(rankings, 7, 1), four = count_rankings(rankings, 7, 4);
  TopCounts sum(7);
  TopCounts without(5);
  const std::vector<ItemId> deleted{4, 1};
  const std::array<ItemId, 7> renumbered{0, 9, 1, 2, 9, 3, 4};
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    TopCounts single(7);
    single.add(rankings[i].items(), rankings.weight(i));
    sum.add(single);
    std::vector<ItemId> rest;
    for (ItemId item : rankings[i].items())
      if (renumbered[item] < 5) rest.push_back(renumbered[item]);
    without.add(rest, rankings.weight(i));
  }
  const TopCounts fast_without = count_rankings(rankings, 7, 2, deleted);
  for (std::size_t e = 0; e < 7; ++e)
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t j = 0; j < 7; ++j) {
        EXPECT_EQ(one.joint(e, i, j), four.joint(e, i, j));
        EXPECT_EQ(one.joint(e, i, j), sum.joint(e, i, j));
        if (e < 5 && i < 5 && j < 5) {
          EXPECT_EQ(fast_without.joint(e, i, j), without.joint(e, i, j));
        }
      }
  EXPECT_EQ(one.total(), 60000.0);
}

// Lemma 2.5 and the position table, against enumeration.
TEST(ModelTable, FirstJointAndTriplesByEnumeration) {
  for (const double theta : {0.0, 0.3, 1.7, 6.0}) {
    const MallowsPair one = make_pair(1.0, theta, theta, identity(6), identity(6));
    TopCounts counts = exact_source(one)({});
    counts.scale(1e-16);
    const ModelTable table(theta, 6);
    for (std::size_t e = 0; e < 6; ++e) {
      EXPECT_NEAR(counts.first(e), table.first[e], 1e-13);
      for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t j = 1; j < 6; ++j)
          if (i != e) {
            EXPECT_NEAR(counts.joint(e, i, j), table.joint(e, i, j), 1e-13);
          }
    }
    counts.for_each_triple(
        [&](std::size_t i, std::size_t j, std::size_t k, double count) { EXPECT_NEAR(count, table.triple(i + j + k), 1e-13); });
    const std::vector<double> positions = position_table(theta, 6), shared = mallows_position_table(theta, 6);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j) {
        EXPECT_NEAR(counts.position(i, j), positions[i * 6 + j], 1e-13);
        EXPECT_NEAR(shared[i * 6 + j], positions[i * 6 + j], 1e-13);
      }
  }
}

TEST(Partition, CoversEveryItemOnceWithTwoInEachPart) {
  for (std::size_t n = 6; n < 40; ++n) {
    RandomStream random(n);
    const Partition partition = random_partition(n, random);
    std::set<ItemId> seen;
    for (const auto& part : partition) {
      EXPECT_GE(part.size(), 2u);
      seen.insert(part.begin(), part.end());
    }
    EXPECT_EQ(seen.size(), n);
  }
}

TEST(TensorDecomp, FindsTheFactorsOfARankTwoTensor) {
  for (std::uint64_t instance = 0; instance < 200; ++instance) {
    RandomStream random(17, Purpose::test, instance);
    const Eigen::Index na = 2 + static_cast<Eigen::Index>(random.below(3)), nb = 2 + static_cast<Eigen::Index>(random.below(3)),
                       nc = 3;
    std::array<Eigen::MatrixX2d, 3> truth{Eigen::MatrixX2d(na, 2), Eigen::MatrixX2d(nb, 2), Eigen::MatrixX2d(nc, 2)};
    for (auto& factor : truth)
      for (Eigen::Index i = 0; i < factor.size(); ++i) factor.data()[i] = 0.05 + random.uniform();
    Eigen::MatrixXd tensor = Eigen::MatrixXd::Zero(na, nb * nc);
    for (Eigen::Index i = 0; i < na; ++i)
      for (Eigen::Index j = 0; j < nb; ++j)
        for (Eigen::Index k = 0; k < nc; ++k)
          for (Eigen::Index r = 0; r < 2; ++r) tensor(i, j + nb * k) += truth[0](i, r) * truth[1](j, r) * truth[2](k, r);
    const Decomposition found = tensor_decomp(tensor, static_cast<std::size_t>(nb), static_cast<std::size_t>(nc));
    ASSERT_TRUE(found.real);
    EXPECT_LT(found.residual, 1e-9 * tensor.norm());
    const double cosine = std::abs(found.factors[0].col(0).dot(truth[0].col(0).normalized()));
    const double other = std::abs(found.factors[0].col(1).dot(truth[0].col(0).normalized()));
    EXPECT_NEAR(std::max(cosine, other), 1.0, 1e-8);
    for (std::size_t mode = 0; mode < 3; ++mode) {
      const double angle = std::abs(truth[mode].col(0).normalized().dot(truth[mode].col(1).normalized()));
      EXPECT_NEAR(found.second_singular_value[mode], std::sqrt(1.0 - angle), 1e-6);
    }
  }
}

TEST(TensorDecomp, ParallelFactorsAreNotWellConditioned) {
  Eigen::MatrixXd tensor(2, 4);
  for (Eigen::Index i = 0; i < 2; ++i)
    for (Eigen::Index c = 0; c < 4; ++c)
      tensor(i, c) = (1.0 + static_cast<double>(i)) * (1.0 + static_cast<double>(c % 2)) * (2.0 + static_cast<double>(c / 2));
  EXPECT_LT(tensor_decomp(tensor, 2, 2).conditioning(), 1e-6);
}

TEST(InferTopK, ReadsWeightsScalesAndPrefixesOffExactMoments) {
  const MallowsPair truth = make_pair(0.3, 0.5, 1.1, {0, 1, 2, 3, 4, 5}, {5, 3, 1, 4, 2, 0});
  const TopCounts counts = exact_source(truth)({});
  RandomStream random(4);
  const Partition partition = random_partition(6, random);
  const Decomposition decomposition = tensor_decomp(partition_tensor(counts, partition), 2, 2);
  ASSERT_GT(decomposition.conditioning(), 1e-3);
  const TopK top = infer_top_k(counts, partition, decomposition, 1e-7);
  ASSERT_TRUE(top.usable);
  const std::size_t first = std::abs(top.weight[0] - 0.3) < 0.1 ? 0 : 1;
  EXPECT_NEAR(top.weight[first], 0.3, 1e-9);
  EXPECT_NEAR(top.theta[first], 0.5, 1e-9);
  EXPECT_NEAR(top.theta[1 - first], 1.1, 1e-9);
  EXPECT_EQ(top.prefix[first], truth.center[0]);
  EXPECT_EQ(top.prefix[1 - first], truth.center[1]);
}

// What INFER-TOP-K would hand on if it saw only the first `known` items.
TopK partial_knowledge(const MallowsPair& truth, std::size_t known) {
  TopK top;
  const std::size_t n = truth.center[0].size();
  top.weight = truth.weight;
  top.theta = truth.theta;
  top.usable = true;
  for (std::size_t r = 0; r < 2; ++r) {
    const ModelTable table(truth.theta[r], n);
    top.first[r].resize(n);
    for (std::size_t p = 0; p < n; ++p) top.first[r][truth.center[r][p]] = table.first[p];
    top.prefix[r].assign(truth.center[r].begin(), truth.center[r].begin() + static_cast<std::ptrdiff_t>(known));
    top.order[r] = top.prefix[r];
    for (ItemId item = 0; item < n; ++item)
      if (std::find(top.order[r].begin(), top.order[r].end(), item) == top.order[r].end()) top.order[r].push_back(item);
  }
  return top;
}

TEST(RecoverRest, PivotCase) {
  // Item 0 opens the first ranking and closes the second.
  const MallowsPair truth = make_pair(0.4, 1.2, 1.0, {0, 1, 2, 3, 4, 5, 6}, {6, 4, 5, 3, 2, 1, 0});
  const TopCounts counts = exact_source(truth)({});
  const TopK top = partial_knowledge(truth, 2);
  const auto pivot = find_pivot(counts, top, 0.9, 1e-3);
  ASSERT_TRUE(pivot.has_value());
  EXPECT_TRUE(pivot->item == 0 || pivot->item == 6);
  EXPECT_EQ(recover_by_pivot(counts, top, *pivot).center, truth.center);
}

TEST(RecoverRest, LinearSystemCase) {
  const MallowsPair truth = make_pair(0.45, 0.7, 0.9, {0, 1, 2, 3, 4, 5, 6}, {1, 0, 3, 2, 5, 6, 4});
  const TopCounts counts = exact_source(truth)({});
  const TopK top = partial_knowledge(truth, 2);
  EXPECT_FALSE(find_pivot(counts, top, 0.9, 0.05).has_value());
  // Lemma 10.1 leaves an error, so the order may be a little off; the exact form of the step mends it.
  const MallowsPair near = recover_by_linear_system(counts, top);
  EXPECT_LE(kendall(near.center[0], truth.center[0]) + kendall(near.center[1], truth.center[1]), 6u);
  EXPECT_EQ(assign_ranks(counts, near, most_telling_item(counts, top)).center, truth.center);
}

TEST(MomentScore, TruthIsTheMaximumAtExactMoments) {
  for (std::uint64_t instance = 0; instance < 20; ++instance) {
    RandomStream random(8, Purpose::test, instance);
    const MallowsPair truth = random_pair(6, random);
    TopCounts counts = exact_source(truth)({});
    counts.scale(1e-16);
    const MomentScore score(counts);
    const double best = score(truth);
    for (int i = 0; i < 20; ++i) EXPECT_LT(score(random_pair(6, random)), best);
    MallowsPair off = truth;
    off.weight = {0.5 * truth.weight[0] + 0.25, 0.5 * truth.weight[1] + 0.25};
    off.theta = {truth.theta[0] * 1.2, truth.theta[1] * 0.8};
    EXPECT_LT(pair_error(score.fit_parameters(off), truth), 1e-9);
    EXPECT_LT(score.largest_error(truth), 1e-14);
  }
}

TEST(MallowsDistances, MahonianNumbers) {
  // 1, 3, 5, 6, 5, 3, 1: OEIS A008302, row 4.
  const std::vector<double> logs = log_rankings_at_distance(4);
  const std::vector<double> row{1, 3, 5, 6, 5, 3, 1};
  ASSERT_EQ(logs.size(), row.size());
  for (std::size_t d = 0; d < row.size(); ++d) EXPECT_NEAR(std::exp(logs[d]), row[d], 1e-9);
}

// A common prefix of sharp models hides what follows from the top-3 sets of a sample: the recursion takes it off. By the
// restriction property the rest has the same weights and scales.
TEST(HandleDegenerateCases, CommonPrefixIsTakenOff) {
  const MallowsPair truth = make_pair(0.5, 3.0, 3.0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 1, 2, 3, 9, 8, 7, 6, 5, 4});
  const RankingSet rankings = draw_rankings(truth, 50000, 11);
  const CountSource source = [&](std::span<const ItemId> deleted) { return count_rankings(rankings, 10, 1, deleted); };
  EXPECT_TRUE(same_centers(learn_two_mallows(source({}), source, {}, 1).pair, truth));
  // Climbing can mend what the shallow explanation misses; without it the recursion alone sees the reversed rest.
  LearnOptions options;
  options.climb = false;
  const LearnResult result = learn_two_mallows(source({}), source, options, 1);
  EXPECT_EQ(result.branch, Branch::recursion) << name_of(result.branch);
  EXPECT_TRUE(same_centers(result.pair, truth));
  ASSERT_GE(result.common_prefix.size(), 1u);
  for (ItemId item : result.common_prefix) EXPECT_LT(item, 4u);
  EXPECT_FALSE(result.warnings.empty());
}

// Equivariance: renaming the items renames the answer.
TEST(LearnTwoMallows, RenamedItemsGiveTheRenamedAnswer) {
  RandomStream random(21);
  const MallowsPair truth = random_pair(7, random);
  std::vector<ItemId> name = identity(7);
  random.shuffle(std::span(name));
  MallowsPair renamed = truth;
  for (auto& center : renamed.center)
    for (ItemId& item : center) item = name[item];
  for (const MallowsPair& pair : {truth, renamed}) {
    const CountSource source = exact_source(pair);
    EXPECT_LT(pair_error(learn_two_mallows(source({}), source, {}, 5).pair, pair), 1e-8);
  }
}

// Rankings that are drawn, counted and forgotten: two million need the memory of 1000 + 120 numbers.
TEST(LearnTwoMallows, StreamNeedsOnlyTheCounts) {
  const MallowsPair truth = make_pair(0.6, 0.9, 0.6, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 1, 0, 2, 9, 8, 4, 5, 7, 6});
  const MallowsSampler first(truth.center[0], truth.theta[0]), second(truth.center[1], truth.theta[1]);
  TopCounts counts(10);
  RandomStream random(12, Purpose::sample, 0);
  std::vector<ItemId> order(10);
  for (int i = 0; i < 2'000'000; ++i) {
    (random.uniform() < truth.weight[0] ? first : second).draw(random, order);
    counts.add(order);
  }
  EXPECT_EQ(counts.memory_bytes(), (1000 + 120) * sizeof(double));
  const LearnResult result = learn_two_mallows(counts, nullptr, {}, 1);
  EXPECT_TRUE(same_centers(result.pair, truth));
  EXPECT_TRUE(result.trusted());
  // Five standard errors are below 0.005 (0.0007 for the weight with memberships known; the moments lose less than a factor of
  // six).
  EXPECT_NEAR(result.pair.weight[0], 0.6, 0.005);
  EXPECT_NEAR(result.pair.theta[0], 0.9, 0.01);
  EXPECT_NEAR(result.pair.theta[1], 0.6, 0.01);
  // A sample from the model itself: the deviance per degree of freedom is near one.
  EXPECT_LT(result.misfit, 2.0);
}

TEST(LearnTwoMallows, SampleOfTwentyThousand) {
  // methods 5.2: weights .4/.6, theta .6/.9, random centers at n = 10.
  int exact = 0;
  for (std::uint64_t run = 0; run < 10; ++run) {
    RandomStream random(31, Purpose::test, run);
    MallowsPair truth = random_pair(10, random);
    truth.weight = {0.4, 0.6};
    truth.theta = {0.6, 0.9};
    const RankingSet rankings = draw_rankings(truth, 20000, 100 + run);
    const CountSource source = [&](std::span<const ItemId> deleted) { return count_rankings(rankings, 10, 1, deleted); };
    const LearnResult result = learn_two_mallows(source({}), source, {}, 1);
    exact += same_centers(result.pair, truth);
  }
  EXPECT_GE(exact, 9);
}

}  // namespace
}  // namespace caucus::mallows_tensor
