#include "caucus/infer/dp_mallows/fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/family.h"
#include "caucus/infer/dp_mallows/fitted.h"
#include "caucus/model/stage_sampler.h"

namespace caucus::dp_mallows {
namespace {

// Ballots of mixed lengths from `groups` generalized Mallows models.
Dataset synthetic(std::size_t n, std::size_t count, std::size_t groups, double theta, ClusterLabels& truth) {
  Dataset data;
  data.source = "synthetic";
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(fmt::format("i{}", i));
  RandomStream rng(21, Purpose::generate, 1);
  std::vector<Center> centers(groups);
  for (Center& center : centers) sample_uniform(n, center, rng);
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < count; ++i) {
    truth.push_back(static_cast<std::uint32_t>(i % groups));
    std::vector<Item> left = centers[i % groups].order;
    std::vector<ItemId> ranking;
    for (std::size_t j = 0; j < 3 + i % (n - 3); ++j) {
      const std::size_t s = draw_stage(theta, left.size(), rng);
      ranking.push_back(static_cast<ItemId>(left[s]));
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(s));
    }
    builder.add(ranking);
  }
  data.rankings = builder.build();
  return data;
}

Options quick(Method method) {
  Options options;
  options.method = method;
  options.sweeps = 60;
  options.burnin = 30;
  options.chains = 2;
  options.gibbs_steps = 3;
  options.start_clusters = 5;
  return options;
}

Result run_fit(const Dataset& data, const Options& options, const caucus::Run& run) {
  const Points points = make_points(data);
  return fit(data, points, prior_parameters(options, data, points.num_stages), options, run);
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / fmt::format("caucus_dpm_{}_{}", ::getpid(), name)).string();
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Fit, FindsTheGroups) {
  ClusterLabels truth;
  const Dataset data = synthetic(10, 240, 3, 1.5, truth);
  for (Method method : {Method::exact_gibbs, Method::slice_gibbs}) {
    const Result result = run_fit(data, quick(method), caucus::Run());
    EXPECT_GT(adjusted_rand_index(result.labels, truth), 0.8) << name_of(method);
    EXPECT_EQ(result.draws.size(), 60u);
    double total = 0.0;
    for (std::size_t k = 0; k < result.components.size(); ++k) {
      total += result.components[k].size;
      if (k > 0) {
        EXPECT_LE(result.components[k].size, result.components[k - 1].size);
      }
    }
    EXPECT_EQ(total, 240.0);
    EXPECT_NEAR(result.components[0].theta[0], 1.5, 0.6);
    EXPECT_LT(result.components[0].theta_low[0], result.components[0].theta[0]);
  }
}

class StopAfter : public Observer {
 public:
  explicit StopAfter(int reports) : left(reports) {}
  Flow progress(const Progress&) override { return --left < 0 ? Flow::stop : Flow::proceed; }
  int left;
};

TEST(Fit, ResumesToTheSameBits) {
  ClusterLabels truth;
  const Dataset data = synthetic(7, 40, 3, 1.2, truth);
  for (Method method : {Method::exact_gibbs, Method::beta_gibbs, Method::slice_gibbs}) {
    Options options = quick(method);
    options.sweeps = 24;
    options.burnin = 10;
    options.split_merge = 1;
    options.alpha_prior = "2,1";
    const Result whole = run_fit(data, options, caucus::Run());
    options.checkpoint = temporary("checkpoint");
    options.checkpoint_every = 0.0;
    StopAfter observer(2);  // reports come after 1, 5 and 21 sweeps at the latest
    caucus::Run stopped;
    stopped.observer = &observer;
    const Result part = run_fit(data, options, stopped);
    EXPECT_EQ(part.stop_reason, StopReason::interrupted);
    EXPECT_LT(part.draws.size(), whole.draws.size());
    caucus::Run two;
    two.threads = 2;
    const Result resumed = run_fit(data, options, two);
    std::filesystem::remove(options.checkpoint);
    ASSERT_EQ(resumed.draws.size(), whole.draws.size());
    for (std::size_t d = 0; d < whole.draws.size(); ++d) {
      EXPECT_EQ(resumed.draws[d].log_joint, whole.draws[d].log_joint);
      EXPECT_EQ(resumed.draws[d].alpha, whole.draws[d].alpha);
    }
    EXPECT_EQ(resumed.assignments, whole.assignments);
    EXPECT_EQ(resumed.labels, whole.labels);
    EXPECT_EQ(resumed.components[0].theta, whole.components[0].theta);
  }
}

TEST(Fit, ACheckpointOfAnotherRunIsRefused) {
  ClusterLabels truth;
  const Dataset data = synthetic(6, 30, 2, 1.2, truth);
  Options options = quick(Method::exact_gibbs);
  options.checkpoint = temporary("other");
  run_fit(data, options, caucus::Run());
  options.nu = 2.0;
  EXPECT_THROW(run_fit(data, options, caucus::Run()), DataError);
  std::ofstream(options.checkpoint) << "not a checkpoint";
  EXPECT_THROW(run_fit(data, options, caucus::Run()), DataError);
  std::filesystem::remove(options.checkpoint);
}

// One changed byte anywhere: refused, where it could make the sampler run without end or take all memory.
TEST(Fit, ADamagedCheckpointIsRefused) {
  ClusterLabels truth;
  const Dataset data = synthetic(6, 30, 2, 1.2, truth);
  Options options = quick(Method::slice_gibbs);
  options.checkpoint = temporary("damaged");
  run_fit(data, options, caucus::Run());
  std::ifstream file(options.checkpoint, std::ios::binary);
  const std::string sound{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t k = 0; k < 40; ++k) {
    std::string bytes = sound;
    bytes[(sound.size() - 1) * k / 39] ^= static_cast<char>(1 << (k % 8));
    std::ofstream(options.checkpoint, std::ios::binary) << bytes;
    EXPECT_THROW(run_fit(data, options, caucus::Run()), DataError) << "byte " << k;
  }
  std::ofstream(options.checkpoint, std::ios::binary) << sound.substr(0, sound.size() / 2);
  EXPECT_THROW(run_fit(data, options, caucus::Run()), DataError);
  std::filesystem::remove(options.checkpoint);
}

TEST(Fit, WritesDrawsAsTheContractSays) {
  ClusterLabels truth;
  Dataset data = synthetic(6, 20, 2, 1.5, truth);
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{0, 1}, 2.0);
  builder.add(std::vector<ItemId>{3, 2, 1}, 1.0);
  builder.add(std::vector<ItemId>{0, 1}, 1.0);
  data.rankings = builder.build();
  const std::string draws = temporary("draws.csv"), labels = temporary("labels.csv"), matrix = temporary("matrix.csv"),
                    stan = temporary("stan");
  const auto family = make_dp_mallows_family();
  const FitOutcome outcome = family->fit(data,
                                         {{"sweeps", "12"},
                                          {"burnin", "4"},
                                          {"chains", "2"},
                                          {"draws", draws},
                                          {"draw-assignments", labels},
                                          {"co-clustering", matrix},
                                          {"draws-cmdstan", stan}},
                                         caucus::Run());
  std::istringstream lines(read(draws));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line.rfind("chain,iteration,num_clusters,log_joint", 0), 0u);
  int count = 0;
  while (std::getline(lines, line)) {
    if (count == 0) {
      EXPECT_EQ(line.rfind("1,5,", 0), 0u);
    }
    ++count;
  }
  EXPECT_EQ(count, 16);
  std::istringstream rows(read(labels));
  std::getline(rows, line);
  EXPECT_EQ(line, "chain,iteration,1,2,3,4");  // a ballot of weight 2 is two ballots, in file order
  std::getline(rows, line);
  EXPECT_EQ(line.rfind("1,5,1,", 0), 0u);  // canonical: the first ballot has label 1
  const std::string co_clustering = read(matrix);
  EXPECT_EQ(std::count(co_clustering.begin(), co_clustering.end(), '\n'), 4);
  EXPECT_NE(read(stan + "-2.csv").find("lp__,num_clusters"), std::string::npos);
  std::size_t total = 0;
  for (const auto& [groups, draws_of_it] : outcome.summary.posterior->num_groups) total += draws_of_it;
  EXPECT_EQ(total, 16u);
  double size = 0.0;
  for (const Group& group : outcome.model->profile()) size += group.size.value();
  EXPECT_EQ(size, 4.0);
  for (const std::string& path : {draws, labels, matrix, stan + "-1.csv", stan + "-2.csv"}) std::filesystem::remove(path);
}

// The predictive of the next ballot is a distribution over the ballots of each length.
TEST(FittedDpm, PredictiveAndMixtureSumToOne) {
  ClusterLabels truth;
  const Dataset data = synthetic(5, 40, 2, 1.0, truth);
  const auto family = make_dp_mallows_family();
  for (const char* center_prior : {"", "i2,i0,i1"}) {
    const FitOutcome outcome =
        family->fit(data, {{"sweeps", "30"}, {"burnin", "10"}, {"center-prior", center_prior}}, caucus::Run());
    for (std::size_t length : {1, 2, 4, 5}) {
      RankingSetBuilder builder;
      std::vector<ItemId> order(5);
      std::iota(order.begin(), order.end(), ItemId{0});
      do builder.add(std::span(order).first(length));
      while (std::next_permutation(order.begin(), order.end()));
      Dataset every = data;
      every.rankings = builder.build();
      EXPECT_NEAR(log_sum_exp(log_probs(*outcome.model, every, 1)), 0.0, 1e-9) << length;
      std::vector<double> joint(every.rankings.size() * outcome.model->num_components());
      outcome.model->log_joint(every, 0, every.rankings.size(), joint);
      EXPECT_NEAR(log_sum_exp(joint), 0.0, 1e-9) << length;
    }
  }
}

// The error that the draws leave is the spread of scores over seeds, as far as three seeds tell, and more draws make it smaller.
TEST(FittedDpm, ScoresStateTheirMonteCarloError) {
  ClusterLabels truth;
  const Dataset data = synthetic(5, 60, 2, 1.0, truth);
  const auto family = make_dp_mallows_family();
  std::vector<double> score;
  double few = 0.0, many = 0.0;
  for (std::uint64_t seed : {1, 2, 3}) {
    caucus::Run run;
    run.seed = seed;
    for (const char* draws : {"5", "200"}) {
      const FitOutcome outcome = family->fit(data, {{"sweeps", "500"}, {"burnin", "100"}, {"predictive-draws", draws}}, run);
      const auto* by_draws = dynamic_cast<const MonteCarloScores*>(outcome.model.get());
      ASSERT_NE(by_draws, nullptr);
      const double error = by_draws->loglik_error(data, 1);
      EXPECT_EQ(error, by_draws->loglik_error(data, 2));
      (std::string_view(draws) == "5" ? few : many) += error / 3.0;
      if (std::string_view(draws) == "200") score.push_back(outcome.summary.loglik);
    }
  }
  EXPECT_GT(many, 0.0);
  EXPECT_LT(many, few);
  EXPECT_LT(*std::max_element(score.begin(), score.end()) - *std::min_element(score.begin(), score.end()), 12.0 * many);
}

// Left open, the number of draws grows until the error is small: with few sweeps the chain runs on, for the draws alone. What the
// sweeps asked for give stays as it was.
TEST(FittedDpm, DrawsAreTakenUntilTheErrorIsSmall) {
  ClusterLabels truth;
  const Dataset data = synthetic(6, 40, 3, 0.7, truth);
  const auto family = make_dp_mallows_family();
  caucus::Run run;
  run.threads = 1;
  const FitOutcome few = family->fit(data, {{"sweeps", "120"}, {"burnin", "20"}, {"predictive-draws", "5"}}, run);
  const FitOutcome open = family->fit(data, {{"sweeps", "120"}, {"burnin", "20"}}, run);
  const auto per_ballot = [](const FitOutcome& outcome) {
    return outcome.summary.details.view().object("predictive").number("error_per_ballot");
  };
  EXPECT_GT(per_ballot(few), 0.01);
  EXPECT_EQ(few.summary.details.view().object("predictive").number("extra_sweeps"), 0.0);
  const double extra = open.summary.details.view().object("predictive").number("extra_sweeps");
  EXPECT_TRUE(per_ballot(open) <= 0.01 || extra == 700.0) << per_ballot(open);
  EXPECT_LT(per_ballot(open), 0.6 * per_ballot(few));
  EXPECT_EQ(open.summary.iterations, 120);
  EXPECT_EQ(open.summary.posterior->num_draws, few.summary.posterior->num_draws);
  const auto a = open.model->profile(), b = few.model->profile();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k].order, b[k].order);
}

// A hand-written file: P of one ranking from the definition.
TEST(FittedDpm, HandWrittenModelScores) {
  const ModelDocument model = ModelDocument::parse(
      R"({"schema": "caucus.model/1", "family": "dpm", "items": ["a", "b", "c"],
          "components": [{"weight": 1.0, "consensus": [1, 0, 2], "theta": [0.7, 0.2]}]})",
      "test");
  const auto fitted = make_dp_mallows_family()->load(model.record());
  Dataset data;
  data.items = {"a", "b", "c"};
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{2, 1, 0});
  builder.add(std::vector<ItemId>{0});
  data.rankings = builder.build();
  const std::vector<double> log_prob = log_probs(*fitted, data, 1);
  const double z3 = 1.0 + std::exp(-0.7) + std::exp(-1.4), z2 = 1.0 + std::exp(-0.2);
  EXPECT_NEAR(log_prob[0], -0.7 * 2.0 - std::log(z3) - std::log(z2), 1e-12);
  EXPECT_NEAR(log_prob[1], -0.7 - std::log(z3), 1e-12);
}

TEST(Fit, RefusesWhatItCannotDo) {
  ClusterLabels truth;
  const Dataset data = synthetic(6, 30, 2, 1.2, truth);
  const auto family = make_dp_mallows_family();
  EXPECT_THROW(family->fit(data, {{"r", "1,2"}}, caucus::Run()), UsageError);
  EXPECT_THROW(family->fit(data, {{"r", "0"}}, caucus::Run()), UsageError);
  EXPECT_THROW(family->fit(data, {{"alpha-prior", "1"}}, caucus::Run()), UsageError);
  EXPECT_THROW(family->fit(data, {{"center-prior", "nobody"}}, caucus::Run()), UsageError);
  EXPECT_THROW(family->fit(data, {{"sweeps", "10"}, {"burnin", "10"}}, caucus::Run()), UsageError);
  Dataset half = data;
  half.rankings = data.rankings.with_weights(std::vector<double>(data.rankings.size(), 0.5));
  EXPECT_THROW(family->fit(half, {}, caucus::Run()), DataError);
}

}  // namespace
}  // namespace caucus::dp_mallows
