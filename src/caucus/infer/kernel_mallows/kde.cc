#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <memory>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/data/weights.h"
#include "caucus/infer/family.h"
#include "caucus/infer/kernel_mallows/fit.h"
#include "caucus/infer/kernel_mallows/fitted.h"
#include "caucus/infer/stopping.h"
#include "caucus/model/mallows.h"

namespace caucus::kernel_mallows {

namespace {
constexpr double smallest_theta = 1e-3;
// The model is the ballots: to write them takes as long, and belongs to the time limit.
constexpr double seconds_to_write_a_ballot = 3e-6;
}  // namespace

double leave_one_out(const RankingSet& rankings, std::size_t num_items, double theta, std::span<const std::size_t> left_out,
                     int threads, const std::function<bool()>& stop) {
  const Kernel kernel(theta, num_items);
  const Blocks blocks(left_out.size(), 8);
  const double one = one_ballot(rankings);
  return parallel_fold(
      blocks, threads, [] { return 0.0; },
      [&](double& total, std::size_t begin, std::size_t end) {
        GroupIndex index(num_items);
        std::vector<double> logs(rankings.size());
        for (std::size_t k = begin; k < end; ++k) {
          const std::size_t i = left_out[k];
          index.set(rankings[i]);
          for (std::size_t j = 0; j < rankings.size(); ++j) {
            if (j % 65536 == 0 && stop && stop()) return;
            const double weight = rankings.weight(j) - (j == i ? one : 0.0);
            logs[j] = weight > 0.0 ? std::log(weight) + kernel.log_density(rankings[j], index) : -infinity;
          }
          total += rankings.weight(i) * (log_sum_exp(logs) - std::log(rankings.total_weight() - one));
        }
      },
      [](double& total, double part) { total += part; });
}

Bandwidth choose_bandwidth(const RankingSet& rankings, std::size_t num_items, const KdeOptions& options, const Run& run) {
  Bandwidth result;
  if (options.theta) {
    result.theta = *options.theta;
    result.stop_reason = StopReason::closed_form;
    return result;
  }
  if (!(effective_size(rankings) > 1.0)) return result;
  std::vector<std::size_t> left_out;
  const std::size_t count = std::min(rankings.size(), static_cast<std::size_t>(options.left_out));
  for (std::size_t k = 0; k < count; ++k) left_out.push_back(rankings.size() * k / count);
  // A ballot whose others are all of weight 0 cannot occur: there is more than one.
  double best = -infinity;
  bool stopped = false;
  const double to_write = seconds_to_write_a_ballot * static_cast<double>(rankings.size());
  const auto stop = [&run, to_write] { return should_stop(run) || run.seconds() + to_write >= run.time_limit; };
  const auto objective = [&](double log_theta) {
    if (stopped) return -best;
    const double theta = std::exp(log_theta);
    const double value = leave_one_out(rankings, num_items, theta, left_out, run.threads, stop);
    if (stop()) {  // the sum may be cut short
      stopped = true;
      result.stop_reason = why_stopped(run);
      return -best;
    }
    if (value > best) {
      best = value;
      result.theta = theta;
      result.trace.push_back(value);
    }
    StopReason why = StopReason::converged;
    if (run.report({"bandwidth", static_cast<int>(result.trace.size()), 40, value}, why) == Flow::stop) {
      stopped = true;
      result.stop_reason = why;
    }
    return -value;
  };
  std::uintmax_t steps = 40;
  boost::math::tools::brent_find_minima(objective, std::log(smallest_theta), std::log(largest_theta_of_kernel), 16, steps);
  return result;
}

FittedKde::FittedKde(std::vector<std::string> items, Unranked unranked, RankingSet rankings, double theta)
    : FittedModel(std::move(items), unranked), rankings_(std::move(rankings)), kernel_(theta, this->items().size()) {}

void FittedKde::check(const Dataset& data) const {
  require_accepted(Accepts{.complete = true, .top_t = true, .subset = false, .ties = true}, data, "kde");
}

void FittedKde::log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const {
  GroupIndex index(items().size());
  std::vector<double> logs(rankings_.size());
  for (std::size_t i = 0; i < count; ++i) {
    index.set(data.rankings[first + i]);
    for (std::size_t j = 0; j < logs.size(); ++j)
      logs[j] = std::log(rankings_.weight(j)) + kernel_.log_density(rankings_[j], index);
    joint[i] = log_sum_exp(logs) - std::log(rankings_.total_weight());
  }
}

Sample FittedKde::sample(const SampleRequest& request) const {
  const std::size_t n = items().size();
  const std::size_t length = request.length == 0 ? n : std::min(request.length, n);
  Sample result;
  result.labels.assign(request.count, 0);
  std::vector<std::vector<ItemId>> drawn(request.count, std::vector<ItemId>(length));
  const Blocks blocks(request.count, 256);
  parallel_for(blocks.count(), request.threads, [&](std::size_t b) {
    std::vector<ItemId> center;
    std::vector<std::uint8_t> listed;
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      RandomStream rng(request.seed, Purpose::sample, request.first + i);
      const RankingView ballot = rankings_[rng.categorical(rankings_.weights())];
      center.assign(ballot.items().begin(), ballot.items().end());
      // A complete ranking that agrees with the ballot, at random: groups shuffled, the unlisted shuffled behind.
      std::size_t begin = 0;
      ballot.for_each_group([&](std::span<const ItemId> group) {
        rng.shuffle(std::span(center).subspan(begin, group.size()));
        begin += group.size();
      });
      listed.assign(n, 0);
      for (ItemId item : center) listed[item] = 1;
      for (std::size_t item = 0; item < n; ++item)
        if (listed[item] == 0) center.push_back(static_cast<ItemId>(item));
      rng.shuffle(std::span(center).subspan(begin));
      draw_mallows(center, kernel_.theta(), rng, drawn[i]);
    }
  });
  result.data.items = items();
  RankingSetBuilder builder;
  for (const auto& ranking : drawn) builder.add(ranking);
  result.data.rankings = builder.build();
  return result;
}

std::vector<ModelFact> FittedKde::facts() const {
  return {{"Kernel width (theta)", fmt::format("{:.4g}", kernel_.theta()),
           "the larger, the closer the probability stays to the rankings seen."}};
}

void FittedKde::write(Record&, std::span<Record> components) const {
  const auto counts = rankings_.weights();
  components[0]
      .set("theta", kernel_.theta())
      .set("rankings", rankings_)
      .set("counts", std::vector<double>(counts.begin(), counts.end()));
}

std::unique_ptr<FittedModel> load_kde(const ModelRecord& file) {
  if (file.components.size() != 1) file.model.fail("components", "one: a kde has no groups");
  const RecordView& component = file.components[0];
  const double theta = component.non_negative("theta");
  const std::size_t size = component.size("rankings");
  const std::vector<double> counts = component.has("counts") ? component.numbers("counts", size) : std::vector<double>(size, 1.0);
  return std::make_unique<FittedKde>(file.items, file.unranked, component.rankings("rankings", counts, file.items.size()), theta);
}

}  // namespace caucus::kernel_mallows
