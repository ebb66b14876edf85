// What every family promises, whatever it models. A new family is covered by being listed.
#include "caucus/service/families.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/service/model_file.h"

namespace caucus {
namespace {

// Rankings from two opposed groups, by sorting noisy utilities.
Dataset two_groups(std::size_t num_items, std::size_t count, std::size_t length, std::uint64_t seed) {
  Dataset data;
  data.source = "two_groups";
  for (std::size_t i = 0; i < num_items; ++i) data.items.push_back("item " + std::to_string(i + 1));
  RankingSetBuilder builder;
  RandomStream stream(seed, Purpose::generate);
  std::vector<ItemId> order(num_items);
  std::vector<double> noisy(num_items);
  for (std::size_t r = 0; r < count; ++r) {
    const double sign = stream.uniform() < 0.6 ? 1.0 : -1.0;
    for (std::size_t i = 0; i < num_items; ++i) noisy[i] = sign * 0.6 * static_cast<double>(i) + std::log(stream.exponential());
    std::iota(order.begin(), order.end(), ItemId{0});
    std::sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return noisy[a] < noisy[b]; });
    builder.add(std::span(order).first(length));
  }
  data.rankings = builder.build();
  return data;
}

struct Case {
  const Family* family;
  std::string name, method;
  Accepts accepts;
  OptionMap options;
  // A prior (of the samplers) and a ballot left out (of kde) weigh less against more ballots.
  // Priors, smoothing of counts, bandwidths, steps of a stochastic gradient and rankings dealt at random do not scale with weights.
  bool depends_on_scale() const {
    return method.find("gibbs") != std::string::npos || name == "kde" || method == "sgd" || method == "spectral" ||
           method == "em-slsr";
  }
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name << " by " << one.method; }

// Every method of every family, with options that keep samplers short.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& family : families()) {
    const FamilyInfo info = family->info();
    const auto has = [&](const char* name) {
      return std::any_of(info.options.begin(), info.options.end(), [&](const OptionInfo& option) { return option.name == name; });
    };
    for (const MethodInfo& method : info.methods) {
      Case one{family.get(), info.name, method.name, method.accepts, {}};
      if (has("method")) one.options["method"] = method.name;
      if (has("components")) one.options["components"] = "2";
      for (const char* limit : {"iterations", "sweeps"})
        if (has(limit)) one.options[limit] = "24";
      if (has("burnin")) one.options["burnin"] = "8";
      if (has("chains")) one.options["chains"] = "2";
      all.push_back(std::move(one));
    }
  }
  return all;
}

class FamilyContract : public ::testing::TestWithParam<Case> {
 protected:
  FitOutcome fit(const Dataset& data, int threads = 1, Observer* observer = nullptr) const {
    caucus::Run run;  // ::testing::Test has a Run of its own
    run.threads = threads;
    run.observer = observer;
    return GetParam().family->fit(data, GetParam().options, run);
  }
  // Small enough for slow rivals, with more than one block of distinct rankings.
  static Dataset complete() { return two_groups(9, 3000, 9, 1); }
  static Dataset tiny() { return two_groups(5, 60, 5, 2); }
};

// The parameters as text; a fit's own timings are not part of them.
std::string parameters(const FitOutcome& outcome) { return model_text(*outcome.model); }
std::string file_of(const FitOutcome& outcome, const Dataset& data) {
  return model_text(*outcome.model, &outcome.summary, facts_of(data), {"test", "test"});
}

bool all_finite(const FittedModel& model) {
  const auto finite = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  };
  return std::ranges::all_of(model.profile(), [&](const Group& group) {
    return std::isfinite(group.weight) && finite(group.utilities) && finite(group.theta);
  });
}

TEST_P(FamilyContract, SameBitsForAnyNumberOfThreads) {
  const Dataset data = complete();
  ASSERT_GT(data.rankings.size(), 2048u);
  const FitOutcome one = fit(data, 1);
  for (int threads : {2, 4}) {
    const FitOutcome other = fit(data, threads);
    EXPECT_EQ(parameters(one), parameters(other)) << threads << " threads";
    EXPECT_EQ(one.summary.loglik, other.summary.loglik);
    EXPECT_EQ(one.summary.trace, other.summary.trace);
  }
}

TEST_P(FamilyContract, LoglikIsWhatScoreGives) {
  const Dataset data = tiny();
  const FitOutcome outcome = fit(data);
  const std::vector<double> log_prob = log_probs(*outcome.model, data, 1);
  double total = 0.0;
  for (std::size_t i = 0; i < log_prob.size(); ++i) total += data.rankings.weight(i) * log_prob[i];
  EXPECT_NEAR(total, outcome.summary.loglik, 1e-9 * std::abs(total));
  EXPECT_EQ(outcome.summary.num_rankings, data.rankings.total_weight());
  EXPECT_FALSE(outcome.summary.trace.values.empty());
}

TEST_P(FamilyContract, ModelFileRoundTrips) {
  const Dataset data = tiny();
  const FitOutcome outcome = fit(data);
  const std::string text = file_of(outcome, data);
  const LoadedModel loaded = parse_model(text, "model.json");
  EXPECT_EQ(loaded.model->num_components(), outcome.model->num_components());
  const std::vector<double> before = log_probs(*outcome.model, data, 1), after = log_probs(*loaded.model, data, 1);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-9 * (1.0 + std::abs(before[i])));
  // Memberships are probabilities.
  const std::size_t k = loaded.model->num_components();
  const std::vector<double> posterior = memberships(*loaded.model, data, 1);
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const double sum = std::accumulate(posterior.begin() + static_cast<std::ptrdiff_t>(i * k),
                                       posterior.begin() + static_cast<std::ptrdiff_t>((i + 1) * k), 0.0);
    EXPECT_NEAR(sum, 1.0, 1e-9);
  }
}

bool same(const std::optional<Interval>& a, const std::optional<Interval>& b) {
  return a.has_value() == b.has_value() && (!a || (a->low == b->low && a->high == b->high && a->level == b->level));
}

// What is outside a family reads groups and errors from a fit and from a file alike.
TEST_P(FamilyContract, ProfileSurvivesTheModelFile) {
  const Dataset data = tiny();
  const FitOutcome outcome = fit(data);
  const LoadedModel loaded = parse_model(file_of(outcome, data), "model.json");
  const std::vector<Group> before = outcome.model->profile(), after = loaded.model->profile();
  ASSERT_EQ(before.size(), after.size());
  double total = 0.0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    const Group &a = before[k], &b = after[k];
    total += a.weight;
    EXPECT_NEAR(a.weight, b.weight, 1e-12);
    EXPECT_EQ(a.order, b.order);
    EXPECT_EQ(a.utilities, b.utilities);
    EXPECT_EQ(a.theta, b.theta);
    EXPECT_EQ(a.theta_by_stage, b.theta_by_stage);
    EXPECT_EQ(a.log_discrete_values, b.log_discrete_values);
    EXPECT_TRUE(same(a.weight_interval(), b.weight_interval()));
    for (std::size_t i = 0; i < a.utilities.size(); ++i) EXPECT_TRUE(same(a.utility_interval(i), b.utility_interval(i)));
    for (std::size_t j = 0; j < a.theta.size(); ++j) EXPECT_TRUE(same(a.theta_interval(j), b.theta_interval(j)));
    EXPECT_EQ(a.errors.unbounded, b.errors.unbounded);
    EXPECT_EQ(a.errors.blocks, b.errors.blocks);
  }
  EXPECT_NEAR(total, 1.0, 1e-9);
  EXPECT_EQ(loaded.summary.loglik, outcome.summary.loglik);
  EXPECT_EQ(loaded.summary.trace, outcome.summary.trace);
  EXPECT_EQ(loaded.summary.ebic(), outcome.summary.ebic());
  EXPECT_EQ(loaded.summary.starts.has_value(), outcome.summary.starts.has_value());
  EXPECT_EQ(loaded.summary.posterior.has_value(), outcome.summary.posterior.has_value());
}

// Marginals by formula or from groups' own draws are those of draws from the whole model.
TEST_P(FamilyContract, MarginalsAreThoseOfSamples) {
  const FitOutcome outcome = fit(tiny());
  const Marginals marginals = outcome.model->marginals();
  const std::size_t n = 5;
  ASSERT_EQ(marginals.groups.size(), outcome.model->profile().size());
  std::vector<GroupMarginals> all = marginals.groups;
  all.push_back(marginals.everyone);
  for (const GroupMarginals& group : all) {
    EXPECT_EQ(group.order.size(), n);
    EXPECT_NEAR(std::accumulate(group.first.begin(), group.first.end(), 0.0), 1.0, 1e-9);
    EXPECT_NEAR(std::accumulate(group.mean_place.begin(), group.mean_place.end(), 0.0), 15.0, 1e-9);
    ASSERT_EQ(group.pairs.size(), n * n);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) EXPECT_NEAR(group.pairs[a * n + b] + group.pairs[b * n + a], 1.0, 1e-9);
  }
  SampleRequest request;
  request.count = 20000;
  request.seed = 77;
  const Sample sample = outcome.model->sample(request);
  std::vector<double> first(n, 0.0), place(n, 0.0);
  for (std::size_t row = 0; row < request.count; ++row) {
    const RankingView ranking = sample.data.rankings[sample.data.rankings.row_ranking(row)];
    first[ranking[0]] += 1.0 / static_cast<double>(request.count);
    for (std::size_t p = 0; p < n; ++p) place[ranking[p]] += static_cast<double>(p + 1) / static_cast<double>(request.count);
  }
  // Two simulations of 500 draws or more each, a share of at most one half: five deviations and more.
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(marginals.everyone.first[i], first[i], 0.12);
    EXPECT_NEAR(marginals.everyone.mean_place[i], place[i], 0.35);
  }
}

// Three times the weight of every ballot: the likelihood is cubed, so what maximises it stays where it was.
TEST_P(FamilyContract, WeightThreeIsThreeCopies) {
  if (GetParam().depends_on_scale()) GTEST_SKIP() << "what it estimates depends on how many ballots there are";
  const Dataset once = tiny();
  Dataset thrice = once;
  std::vector<double> weights(once.rankings.weights().begin(), once.rankings.weights().end());
  for (double& weight : weights) weight *= 3.0;
  thrice.rankings = once.rankings.with_weights(std::move(weights));
  const FitOutcome one = fit(once), three = fit(thrice);
  EXPECT_NEAR(three.summary.loglik, 3.0 * one.summary.loglik, 1e-6 * std::abs(three.summary.loglik));
  // The same parameters: every ballot has the same probability in every group. em, em-lsr and emm may stop 1e-8 |loglik| = 2.6e-6
  // below their maximum, and 60 ballots curve it so that parameters are then known to about sqrt(2 * 2.6e-6 / 60) = 3e-4. em-cml
  // and em-gmm stop when their parameters rest: they were seen to differ by 3e-7 in relative log-likelihood.
  const auto alike = [](const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-3);
  };
  alike(log_probs(*one.model, once, 1), log_probs(*three.model, once, 1));
  alike(memberships(*one.model, once, 1), memberships(*three.model, once, 1));
}

TEST_P(FamilyContract, DegenerateDataGiveNumbersOrAClearError) {
  std::vector<Dataset> odd;
  odd.push_back(two_groups(4, 1, 4, 3));  // one ranking
  odd.push_back(two_groups(1, 5, 1, 4));  // one item
  Dataset same = two_groups(4, 1, 4, 5);  // all ballots alike
  RankingSetBuilder builder;
  for (int i = 0; i < 50; ++i) builder.add(same.rankings[0].items());
  same.rankings = builder.build();
  odd.push_back(same);
  odd.push_back(two_groups(2, 30, 2, 6));  // two items
  for (const Dataset& data : odd) {
    try {
      const FitOutcome outcome = fit(data);
      EXPECT_TRUE(std::isfinite(outcome.summary.loglik));
      EXPECT_TRUE(all_finite(*outcome.model));
      for (double value : outcome.summary.trace.values) EXPECT_TRUE(std::isfinite(value));
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 20u);  // a sentence, not a code
    }
  }
  Dataset empty = tiny();
  empty.rankings = RankingSet();
  EXPECT_THROW(fit(empty), DataError);
}

TEST_P(FamilyContract, BeingStoppedKeepsAResult) {
  class StopAtOnce : public Observer {
   public:
    Flow progress(const Progress&) override { return called = true, Flow::stop; }
    bool called = false;
  } observer;
  const FitOutcome outcome = fit(complete(), 2, &observer);
  ASSERT_NE(outcome.model, nullptr);
  EXPECT_TRUE(std::isfinite(outcome.summary.loglik));
  EXPECT_TRUE(all_finite(*outcome.model));
  if (outcome.summary.stop_reason == StopReason::closed_form) return;  // one step, nothing to stop
  EXPECT_TRUE(observer.called);
  EXPECT_EQ(outcome.summary.stop_reason, StopReason::interrupted);
}

TEST_P(FamilyContract, TakesWhatItSaysAndRefusesTheRestByName) {
  Dataset top = two_groups(5, 60, 3, 7), subset = top, tied = tiny();
  subset.unranked = Unranked::absent;
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < tied.rankings.size(); ++i)
    builder.add(tied.rankings[i].items(), 1.0, std::vector<std::uint8_t>{1, 0, 1, 1, 1});
  tied.rankings = builder.build();
  const std::pair<const Dataset*, bool> kinds[] = {
      {&top, GetParam().accepts.top_t}, {&subset, GetParam().accepts.subset}, {&tied, GetParam().accepts.ties}};
  for (const auto& [data, taken] : kinds) {
    if (taken) {
      const FitOutcome outcome = fit(*data);
      EXPECT_TRUE(std::isfinite(outcome.summary.loglik));
      for (double value : log_probs(*outcome.model, *data, 1)) EXPECT_LE(value, 1e-9);
    } else {
      EXPECT_THROW(fit(*data), DataError) << GetParam().name << " " << GetParam().method;
    }
  }
}

TEST_P(FamilyContract, SamplesAreReproducibleAndScored) {
  const FitOutcome outcome = fit(tiny());
  SampleRequest request;
  request.count = 500;
  request.seed = 9;
  request.threads = 1;
  const Sample one = outcome.model->sample(request);
  request.threads = 4;
  const Sample four = outcome.model->sample(request);
  EXPECT_EQ(digest(one.data), digest(four.data));
  EXPECT_EQ(one.labels, four.labels);
  EXPECT_EQ(one.data.rankings.num_rows(), 500u);
  request.seed = 10;
  EXPECT_NE(digest(outcome.model->sample(request).data), digest(one.data));
  for (double value : log_probs(*outcome.model, one.data, 1)) EXPECT_TRUE(std::isfinite(value));
}

// A sample drawn in pieces is the sample drawn at once, to the last bit.
TEST_P(FamilyContract, SamplesInPieces) {
  const FitOutcome outcome = fit(tiny());
  SampleRequest request;
  request.seed = 4;
  request.count = SampleRequest::block + 77;
  const Sample whole = outcome.model->sample(request);
  std::size_t row = 0;
  for (const std::size_t count : {SampleRequest::block, std::size_t{77}}) {
    request.first = row;
    request.count = count;
    const Sample piece = outcome.model->sample(request);
    ASSERT_EQ(piece.data.rankings.num_rows(), count);
    for (std::size_t i = 0; i < count; ++i, ++row) {
      ASSERT_EQ(piece.labels[i], whole.labels[row]);
      ASSERT_TRUE(piece.data.rankings[piece.data.rankings.row_ranking(i)] ==
                  whole.data.rankings[whole.data.rankings.row_ranking(row)]);
    }
  }
}

// The top-3 tensor as a start for EM, three groups: one start ends at least as high as the mixture that the rankings came from.
TEST(InitTensor, OneStartIsEnoughForThreeGroups) {
  nlohmann::json pl{{"schema", model_schema}, {"family", "pl"}}, mallows{{"schema", model_schema}, {"family", "mallows"}};
  const std::vector<std::vector<int>> orders{{0, 1, 2, 3, 4, 5, 6, 7}, {7, 5, 3, 1, 6, 4, 2, 0}, {4, 0, 6, 2, 7, 3, 5, 1}};
  const std::vector<double> weights{0.4, 0.35, 0.25};
  for (int i = 0; i < 8; ++i) {
    pl["items"].push_back("i" + std::to_string(i));
    mallows["items"].push_back("i" + std::to_string(i));
  }
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<double> utilities(8);
    for (std::size_t place = 0; place < 8; ++place)
      utilities[static_cast<std::size_t>(orders[k][place])] = 3.5 - static_cast<double>(place);
    pl["components"].push_back({{"weight", weights[k]}, {"utilities", utilities}});
    mallows["components"].push_back({{"weight", weights[k]}, {"consensus", orders[k]}, {"theta", 0.9}});
  }
  for (const nlohmann::json& json : {pl, mallows}) {
    const LoadedModel truth = parse_model(json.dump(), "truth");
    SampleRequest request;
    request.count = 6000;
    const Sample sample = truth.model->sample(request);
    const FitOutcome outcome = find_family(json["family"].get<std::string>())
                                   .fit(sample.data, {{"components", "3"}, {"init", "tensor"}, {"restarts", "1"}}, {});
    double loglik = 0.0;
    const std::vector<double> log_prob = log_probs(*truth.model, sample.data, 1);
    for (std::size_t i = 0; i < log_prob.size(); ++i) loglik += sample.data.rankings.weight(i) * log_prob[i];
    EXPECT_GE(outcome.summary.loglik, loglik) << json["family"];
    EXPECT_LE(outcome.summary.loglik, loglik + 60.0) << json["family"];  // half a chi-square of 23 at most: 60 is beyond any chance
  }
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name + "_" + info.param.method;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, FamilyContract, ::testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace caucus
