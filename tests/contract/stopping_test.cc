// Every family and method ends soon after it is told to, by a signal or by the clock, with what it has found.
#include "caucus/infer/stopping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/service/families.h"

namespace caucus {
namespace {

// Noisy copies of two opposite orders: work for minutes in most families.
Dataset hard_data(std::size_t n, std::size_t m) {
  Dataset data;
  data.source = "hard";
  for (std::size_t i = 0; i < n; ++i) data.items.push_back("item " + std::to_string(i));
  RankingSetBuilder builder;
  for (std::size_t l = 0; l < m; ++l) {
    RandomStream random(1, Purpose::test, l);
    std::vector<std::pair<double, ItemId>> keys;
    for (std::size_t i = 0; i < n; ++i)
      keys.emplace_back((l % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(i) + 0.4 * static_cast<double>(n) * random.normal(),
                        static_cast<ItemId>(i));
    std::sort(keys.begin(), keys.end());
    std::vector<ItemId> order;
    for (const auto& [key, item] : keys) order.push_back(item);
    builder.add(order);
  }
  data.rankings = builder.build();
  return data;
}

struct Signal : Observer, StopSource {
  std::atomic<bool> raised = false;
  Flow progress(const Progress&) override { return raised ? Flow::stop : Flow::proceed; }
  bool stop_requested() const override { return raised; }
};

// Processor time: fits run on one thread, and what else the machine does must not count.
double seconds_spent() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr double patience = 15.0;  // two seconds are wanted

void expect_soon(const Family& family, const std::string& method, const Dataset& data, bool by_clock) {
  SCOPED_TRACE(family.info().name + " " + method + " with " + std::to_string(data.num_items()) + " items");
  OptionMap options;
  if (family.info().has_option("method")) options["method"] = method;
  if (family.info().has_option("components")) options["components"] = "2";
  constexpr double limit = 0.2;
  Signal signal;
  Run run;
  run.threads = 1;
  run.observer = &signal;
  if (by_clock) run.time_limit = limit;
  const std::jthread alarm([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(limit));
    if (!by_clock) signal.raised = true;
  });
  const double begun = seconds_spent();
  const FitOutcome outcome = family.fit(data, options, run);
  const double seconds = seconds_spent() - begun;
  if (seconds > 2.0 + limit)
    std::printf("%s %s with %zu items took %.1f s\n", family.info().name.c_str(), method.c_str(), data.num_items(), seconds);
  EXPECT_LT(seconds, limit + patience) << (by_clock ? "time limit" : "signal");
  ASSERT_NE(outcome.model, nullptr);
  EXPECT_TRUE(std::isfinite(outcome.summary.loglik));
}

TEST(Stopping, EveryMethodEndsSoon) {
  // Stages of 80 items are beyond what dpm is for.
  const Dataset wide = hard_data(80, 40), many = hard_data(10, 400);
  for (const auto& family : families())
    for (const MethodInfo& method : family->info().methods) {
      expect_soon(*family, method.name, many, true);
      expect_soon(*family, method.name, family->info().name == "dpm" ? many : wide, false);
    }
}

}  // namespace
}  // namespace caucus
