#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/family.h"
#include "caucus/infer/kernel_mallows/fit.h"
#include "caucus/infer/kernel_mallows/fitted.h"
#include "caucus/infer/kernel_mallows/kernel.h"
#include "caucus/infer/stopping.h"
#include "caucus/model/consensus.h"

namespace caucus::kernel_mallows {

namespace {

// Mean over pairs of ballots of opposed pairs per listed item, and theta with that mean code: E s = 1 / (e^theta - 1).
double theta_from_distances(const RankingSet& rankings, std::size_t num_items, const Run& run) {
  struct Sums {
    double distance = 0.0, weight = 0.0;
  };
  const Blocks blocks(rankings.size(), 8);
  const Sums sums = parallel_fold(
      blocks, run.threads, [] { return Sums(); },
      [&](Sums& total, std::size_t begin, std::size_t end) {
        GroupIndex index(num_items);
        for (std::size_t i = begin; i < end && !should_stop(run); ++i) {
          index.set(rankings[i]);
          for (std::size_t j = 0; j < rankings.size(); ++j) {
            const double weight = rankings.weight(i) * (rankings.weight(j) - (i == j ? 1.0 : 0.0));
            const double length = static_cast<double>(std::max<std::size_t>(rankings.length(j), 1));
            if (i != j) total.distance += weight * static_cast<double>(opposed_pairs(rankings[j], index)) / length;
            total.weight += std::max(weight, 0.0);
          }
        }
      },
      [](Sums& total, const Sums& part) { total.distance += part.distance, total.weight += part.weight; });
  if (!(sums.distance > 0.0)) return largest_theta_of_kernel;
  return std::min(std::log1p(sums.weight / sums.distance), largest_theta_of_kernel);
}

}  // namespace

EbmsResult ebms(const Dataset& data, const EbmsOptions& options, const Run& run) {
  const std::size_t n = data.num_items();
  if (data.rankings.size() > static_cast<std::size_t>(options.limit))
    throw DataError(fmt::format(
        "{}: {} distinct ballots, but ebms compares every two of them and stops at {}; raise limit or take a part of the data",
        data.source, data.rankings.size(), options.limit));
  EbmsResult result;
  const std::function<bool()> stop = [&run] { return should_stop(run); };
  RankingSet current = data.rankings.with_weights({data.rankings.weights().begin(), data.rankings.weights().end()});
  std::vector<std::uint32_t> where(current.size());  // of the original rankings among the current ones
  std::iota(where.begin(), where.end(), 0u);
  result.stop_reason = StopReason::iteration_limit;
  while (result.iterations < options.iterations) {
    const double theta = options.theta ? *options.theta : theta_from_distances(current, n, run);
    result.kernel_theta = theta;
    const Kernel kernel(theta, n);
    std::vector<std::vector<ItemId>> moved(current.size());
    const Blocks blocks(current.size(), 4, 256);
    parallel_for(blocks.count(), run.threads, [&](std::size_t b) {
      GroupIndex index(n);
      std::vector<double> logs(current.size());
      for (std::size_t i = blocks.begin(b); i < blocks.end(b) && !should_stop(run); ++i) {
        index.set(current[i]);
        for (std::size_t j = 0; j < current.size(); ++j)
          logs[j] = std::log(current.weight(j)) + kernel.log_weight(current[j], index);
        const double total = log_sum_exp(logs);
        PairMatrix pairs(n);
        for (std::size_t j = 0; j < current.size(); ++j)
          if (logs[j] - total > -30.0) pairs.add(current[j], std::exp(logs[j] - total));
        moved[i] = borda_order(pairs);
        insertion_search(moved[i], pairs, stop);
        moved[i].resize(current.length(i));
      }
    });
    if (should_stop(run)) {  // some have not moved: the ballots as they were before this step
      result.stop_reason = why_stopped(run);
      break;
    }
    RankingSetBuilder builder;
    std::vector<std::uint32_t> next(current.size());
    bool same = true;
    for (std::size_t i = 0; i < current.size(); ++i) {
      next[i] = static_cast<std::uint32_t>(builder.add(moved[i], current.weight(i)));
      same = same && std::ranges::equal(moved[i], current[i].items());
    }
    for (std::uint32_t& place : where) place = next[place];
    current = builder.build();
    ++result.iterations;
    result.trace.push_back(static_cast<double>(current.size()));
    if (same) {
      result.stop_reason = StopReason::converged;
      break;
    }
    if (run.report({"blur", result.iterations, options.iterations, static_cast<double>(current.size())}, result.stop_reason) ==
        Flow::stop)
      break;
  }

  // Clusters by size; centers from all members; one theta for all.
  const std::size_t clusters = current.size();
  std::vector<double> sizes(clusters, 0.0);
  for (std::size_t i = 0; i < where.size(); ++i) sizes[where[i]] += data.rankings.weight(i);
  std::vector<std::uint32_t> order(clusters), rank(clusters);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  for (std::uint32_t k = 0; k < clusters; ++k) rank[order[k]] = k, result.sizes.push_back(sizes[order[k]]);
  for (std::uint32_t place : where) result.cluster.push_back(rank[place]);
  std::vector<PairMatrix> pairs(clusters, PairMatrix(n));
  for (std::size_t i = 0; i < where.size(); ++i) pairs[result.cluster[i]].add(data.rankings[i], data.rankings.weight(i));
  double distance = 0.0;
  for (const PairMatrix& matrix : pairs) {
    std::vector<ItemId> center = borda_order(matrix);
    insertion_search(center, matrix, stop);
    distance += consensus_cost(center, matrix);
    result.centers.push_back(std::move(center));
  }
  std::vector<double> groups(n + 1, 0.0);
  for (std::size_t i = 0; i < where.size(); ++i) groups[n - data.rankings.length(i)] += data.rankings.weight(i);
  result.theta = std::min(solve_mallows_theta(distance, data.rankings.total_weight(), n, groups), largest_theta_of_kernel);
  return result;
}

FittedEbms::FittedEbms(std::vector<std::string> items, Unranked unranked, std::vector<double> sizes,
                       std::vector<std::vector<ItemId>> centers, std::vector<double> theta)
    : FittedModel(std::move(items), unranked), sizes_(std::move(sizes)) {
  const double total = sum(sizes_);
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    weights_.push_back(sizes_[k] / total);
    models_.emplace_back(std::move(centers[k]), theta[k]);
  }
}

void FittedEbms::check(const Dataset& data) const {
  require_accepted(Accepts{.complete = true, .top_t = true, .subset = false, .ties = true}, data, "ebms");
}

void FittedEbms::log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const {
  const std::size_t k = models_.size();
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < k; ++c) joint[i * k + c] = std::log(weights_[c]) + models_[c].log_prob(data.rankings[first + i]);
}

Sample FittedEbms::sample(const SampleRequest& request) const {
  const std::size_t n = items().size();
  const std::size_t length = request.length == 0 ? n : std::min(request.length, n);
  Sample result;
  result.labels.resize(request.count);
  std::vector<std::vector<ItemId>> drawn(request.count, std::vector<ItemId>(length));
  const Blocks blocks(request.count, 256);
  parallel_for(blocks.count(), request.threads, [&](std::size_t b) {
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      RandomStream rng(request.seed, Purpose::sample, request.first + i);
      const std::size_t c = rng.categorical(weights_);
      result.labels[i] = static_cast<int>(c);
      draw_mallows(models_[c].center(), models_[c].theta(), rng, drawn[i]);
    }
  });
  result.data.items = items();
  RankingSetBuilder builder;
  for (const auto& ranking : drawn) builder.add(ranking);
  result.data.rankings = builder.build();
  return result;
}

std::vector<Group> FittedEbms::groups() const {
  std::vector<Group> result(models_.size());
  for (std::size_t k = 0; k < result.size(); ++k) {
    result[k].weight = weights_[k];
    result[k].size = sizes_[k];
    result[k].order = models_[k].center();
    result[k].order_is_parameter = true;
    result[k].theta = {models_[k].theta()};
  }
  return result;
}

std::unique_ptr<FittedModel> load_ebms(const ModelRecord& file) {
  std::vector<double> sizes = file.weights(), theta;
  std::vector<std::vector<ItemId>> centers;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const RecordView& component = file.components[k];
    sizes[k] = component.number("size", sizes[k]);
    if (!(sizes[k] > 0.0)) component.fail("size", "a positive number");
    centers.push_back(component.permutation("consensus", file.items.size()));
    theta.push_back(component.non_negative("theta"));
  }
  return std::make_unique<FittedEbms>(file.items, file.unranked, std::move(sizes), std::move(centers), std::move(theta));
}

}  // namespace caucus::kernel_mallows
