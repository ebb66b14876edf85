// Dampened choices and utilities from what is known of the items, against the definition.
#include "caucus/infer/pl_mixture/structured.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "caucus/base/error.h"
#include "caucus/infer/pl_mixture/family.h"
#include "caucus/infer/pl_mixture/testing.h"
#include "caucus/io/io.h"
#include "caucus/result/fitted_model.h"

namespace caucus::pl_mixture {
namespace {

using testing::Kind;

// Benter's model by its definition.
double slow_log_prob(RankingView ranking, Unranked unranked, std::span<const double> u, const std::vector<double>& alpha) {
  std::vector<ItemId> left;
  if (unranked == Unranked::last)
    for (std::size_t i = 0; i < u.size(); ++i) left.push_back(static_cast<ItemId>(i));
  else
    left.assign(ranking.items().begin(), ranking.items().end());
  double total = 0.0;
  for (std::size_t s = 0; s < ranking.size() && left.size() > 1; ++s) {
    const double a = s == 0 ? 1.0 : alpha[std::min(s, alpha.size()) - 1];
    double sum = 0.0;
    for (const ItemId item : left) sum += std::exp(a * u[item]);
    total += a * u[ranking[s]] - std::log(sum);
    std::erase(left, ranking[s]);
  }
  return total;
}

TEST(Dampening, ProbabilitiesAreThoseOfTheDefinitionAndSumToOne) {
  const std::vector<double> u{0.9, -0.4, 0.2, -0.7}, alpha{0.6, 0.3};
  std::vector<ItemId> order{0, 1, 2, 3};
  double total = 0.0;
  do {
    const double log_prob = dampened_log_prob(RankingView(order), Unranked::last, u, alpha);
    EXPECT_NEAR(log_prob, slow_log_prob(RankingView(order), Unranked::last, u, alpha), 1e-12);
    total += std::exp(log_prob);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_NEAR(total, 1.0, 1e-12);
}

// 3000 complete rankings of six items with exponents 0.5 from the second choice on: errors of about 0.05, six of them are allowed.
TEST(Dampening, ExponentsAreFound) {
  Dataset data;
  data.items = testing::names(6);
  const std::vector<double> u{1.5, 0.9, 0.3, -0.3, -0.9, -1.5}, alpha(4, 0.5);
  RankingSetBuilder builder;
  for (std::size_t v = 0; v < 3000; ++v) {
    RandomStream random(8, Purpose::generate, v);
    builder.add(dampened_sample(random, u, alpha));
  }
  data.rankings = builder.build();
  const FitOutcome plain = make_pl_mixture_family()->fit(data, {}, caucus::Run{});
  const FitOutcome fitted = make_pl_mixture_family()->fit(data, {{"dampening", "on"}}, caucus::Run{});
  EXPECT_GT(fitted.summary.loglik, plain.summary.loglik + 50.0);
  EXPECT_EQ(fitted.summary.num_parameters, plain.summary.num_parameters + 4);
  EXPECT_NEAR(log_likelihood(*fitted.model, data, 1), fitted.summary.loglik, 1e-8 * std::abs(fitted.summary.loglik));
  const Group group = fitted.model->profile()[0];
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(group.utilities[i], u[i], 6.0 * *group.errors.utility_errors[i]);
}

TEST(ItemCovariates, CoefficientsAreFoundAndNewItemsFollow) {
  const auto folder = std::filesystem::temp_directory_path() / "caucus_items_test";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "items.csv").string();
  std::string table = "name,price,origin\n";
  Dataset data;
  std::vector<double> u;
  for (std::size_t i = 0; i < 8; ++i) {
    const double price = static_cast<double>((i * 5) % 8);
    const bool local = i % 3 == 0;
    data.items.push_back("item " + std::to_string(i));
    table += data.items.back() + "," + std::to_string(price) + (local ? ",local" : ",far") + "\n";
    u.push_back(-0.4 * price + (local ? 0.9 : 0.0));
  }
  write_file(path, table);
  RankingSetBuilder builder;
  for (std::size_t v = 0; v < 2000; ++v) {
    RandomStream random(9, Purpose::generate, v);
    std::vector<ItemId> order = dampened_sample(random, u, {});
    order.resize(3);
    builder.add(order);
  }
  data.rankings = builder.build();
  const FitOutcome plain = make_pl_mixture_family()->fit(data, {}, caucus::Run{});
  const FitOutcome fitted = make_pl_mixture_family()->fit(data, {{"items", path}, {"utilities", "price + origin"}}, caucus::Run{});
  EXPECT_EQ(fitted.summary.num_parameters, 2);
  // Twice the log-likelihood lost is chi-squared on 5: beyond 45 once in 10^8.
  EXPECT_LT(2.0 * (plain.summary.loglik - fitted.summary.loglik), 45.0);
  EXPECT_GE(plain.summary.loglik, fitted.summary.loglik - 1e-4);
  const auto fact = fitted.model->facts().front();
  EXPECT_NE(fact.value.find("price -0."), std::string::npos) << fact.value;
  data.items[3] = "something else";
  try {
    make_pl_mixture_family()->fit(data, {{"items", path}, {"utilities", "price"}}, caucus::Run{});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("'something else'"), std::string::npos) << error.what();
  }
  EXPECT_THROW(make_pl_mixture_family()->fit(data, {{"utilities", "price"}}, caucus::Run{}), UsageError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace caucus::pl_mixture
