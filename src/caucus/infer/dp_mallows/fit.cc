#include "caucus/infer/dp_mallows/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/dp_mallows/checkpoint.h"
#include "caucus/infer/stopping.h"

namespace caucus::dp_mallows {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<double> positive_numbers(std::string_view option, std::string_view text) {
  std::vector<double> values;
  for (std::string_view part : split(text, ',')) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !(value > 0.0) || !std::isfinite(value))
      throw UsageError(fmt::format("{} = '{}' is not a list of positive numbers", option, text));
    values.push_back(value);
  }
  return values;
}

ChainSettings chain_settings(const Options& options) {
  ChainSettings settings;
  settings.method = options.method;
  settings.center_move = options.center_move;
  settings.gibbs_steps = options.gibbs_steps;
  settings.slice_steps = options.slice_steps;
  settings.split_merge = options.split_merge;
  settings.split_merge_scans = options.split_merge_scans;
  settings.start_clusters = options.start_clusters;
  settings.start_centers = options.start_centers;
  settings.auxiliary = options.auxiliary;
  if (options.alpha_prior != "none") {
    const std::vector<double> numbers = positive_numbers("alpha-prior", options.alpha_prior);
    if (numbers.size() != 2) throw UsageError(fmt::format("alpha-prior = '{}' is not shape,rate", options.alpha_prior));
    settings.alpha_prior = {numbers[0], numbers[1]};
  }
  return settings;
}

PredictiveDraw predictive_draw(const Chain& chain) {
  PredictiveDraw draw;
  draw.alpha = chain.alpha();
  for (const Cluster& cluster : chain.clusters())
    draw.clusters.push_back({cluster.center.order, cluster.size, cluster.sums, cluster.counts});
  return draw;
}

class Runner {
 public:
  Runner(const Points& points, const Prior& prior, const Options& options, const Run& run)
      : points_(points), prior_(prior), options_(options), run_(run), settings_(chain_settings(options)) {}

  std::vector<ChainRecord> records;

  void start(std::vector<ChainRecord> resumed) {
    records = std::move(resumed);
    const bool fresh = records.empty();
    records.resize(static_cast<std::size_t>(options_.chains));
    for (std::size_t c = 0; c < records.size(); ++c)
      chains_.push_back(std::make_unique<Chain>(points_, prior_, settings_, RandomStream(run_.seed, Purpose::chain, c)));
    parallel_for(records.size(), run_.threads, [&](std::size_t c) {
      if (fresh)
        chains_[c]->start_randomly();
      else
        chains_[c]->restore(records[c].state);
    });
  }

  // Up to `sweeps` more of every chain, in parallel; false when told to stop.
  bool advance(int sweeps) {
    parallel_for(records.size(), run_.threads, [&](std::size_t c) {
      const int end = std::min(records[c].sweeps + sweeps, options_.sweeps);
      while (records[c].sweeps < end && !stopped_.load(std::memory_order_relaxed)) step(c);
      records[c].state = chains_[c]->state();
    });
    return !stopped_.load();
  }

  // Where nothing was kept before a stop: the state as it is.
  void keep_last() {
    for (std::size_t c = 0; c < records.size(); ++c) keep(c);
  }

  StopReason why = StopReason::iteration_limit;
  SplitMergeCounts split_merge() const {
    SplitMergeCounts total;
    for (const auto& chain : chains_) {
      const SplitMergeCounts& one = chain->split_merge_counts();
      total.splits_tried += one.splits_tried, total.splits_accepted += one.splits_accepted;
      total.merges_tried += one.merges_tried, total.merges_accepted += one.merges_accepted;
    }
    return total;
  }

 private:
  void step(std::size_t c) {
    ChainRecord& record = records[c];
    const ChainState before = chains_[c]->state();
    if (!chains_[c]->sweep([this] { return should_stop(run_); })) {
      chains_[c]->restore(before);
      const std::lock_guard lock(mutex_);
      if (!stopped_.exchange(true)) why = why_stopped(run_);
      return;
    }
    ++record.sweeps;
    const double log_joint = chains_[c]->log_joint();
    record.trace.num_clusters.push_back(static_cast<double>(chains_[c]->clusters().size()));
    record.trace.log_joint.push_back(log_joint);
    record.trace.alpha.push_back(chains_[c]->alpha());
    const int after = record.sweeps - options_.burnin;
    if (after > 0 && after % options_.thin == 0) keep(c);
    const std::lock_guard lock(mutex_);
    StopReason reason = why;
    if (run_.report({"sweep", record.sweeps, options_.sweeps, log_joint}, reason) == Flow::stop && !stopped_.exchange(true))
      why = reason;
  }

  void keep(std::size_t c) {
    ChainRecord& record = records[c];
    const Chain& chain = *chains_[c];
    double largest = 0.0;
    for (const Cluster& cluster : chain.clusters()) largest = std::max(largest, cluster.size);
    record.draws.push_back({static_cast<int>(c) + 1, record.sweeps, static_cast<std::uint32_t>(chain.clusters().size()),
                            record.trace.log_joint.empty() ? chain.log_joint() : record.trace.log_joint.back(), chain.alpha(),
                            largest / static_cast<double>(points_.size())});
    record.assignments.push_back(chain.labels());
    // Evenly spaced draws for the predictive, at least one.
    const auto planned = std::max<std::int64_t>(1, (options_.sweeps - options_.burnin) / options_.thin);
    const std::int64_t wanted = (options_.predictive_draws + options_.chains - 1) / options_.chains;
    const auto k = static_cast<std::int64_t>(record.draws.size());
    if (options_.predictive_draws > 0 && k * wanted / planned > (k - 1) * wanted / planned)
      record.predictive.push_back(predictive_draw(chain));
    if (options_.predictive_draws > 0 && record.predictive.empty() && k == 1) record.predictive.push_back(predictive_draw(chain));
  }

  const Points& points_;
  const Prior& prior_;
  const Options& options_;
  const Run& run_;
  ChainSettings settings_;
  std::vector<std::unique_ptr<Chain>> chains_;
  std::mutex mutex_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

PriorParameters prior_parameters(const Options& options, const Dataset& data, std::size_t num_stages) {
  PriorParameters parameters;
  parameters.alpha = options.alpha;
  parameters.nu = options.nu;
  parameters.r = positive_numbers("r", options.r);
  if (parameters.r.size() > 1 &&
      (parameters.r.size() < num_stages || parameters.r.size() > std::max<std::size_t>(data.num_items(), 2) - 1))
    throw UsageError(fmt::format("r lists {} values; give one for all stages, or {} to {} of them, one per stage",
                                 parameters.r.size(), num_stages, data.num_items() - 1));
  if (options.center_prior.empty() || options.center_strength == 0.0) return parameters;
  const char separator = options.center_prior.find(';') != std::string::npos ? ';' : ',';
  for (std::string_view name : split(options.center_prior, separator)) {
    const auto found = std::find(data.items.begin(), data.items.end(), name);
    if (found == data.items.end()) throw UsageError(fmt::format("center-prior: there is no item '{}' in {}", name, data.source));
    const auto item = static_cast<Item>(found - data.items.begin());
    if (std::find(parameters.center.begin(), parameters.center.end(), item) != parameters.center.end())
      throw UsageError(fmt::format("center-prior: '{}' stands twice", name));
    parameters.center.push_back(item);
  }
  if (parameters.center.size() == data.num_items()) parameters.center.pop_back();
  parameters.center_weight = options.nu * options.center_strength;
  return parameters;
}

Component summarise_cluster(const Points& points, const Prior& prior, std::span<const Member> members, int passes,
                            RandomStream rng) {
  Component component;
  Cluster cluster;
  const std::size_t stages = prior.num_stages();
  cluster.prior.resize(stages);
  cluster.sums.resize(stages);
  cluster.counts.resize(stages);
  for (const Member& member : members) component.size += member.weight;
  cluster.size = component.size;
  CenterSampler sampler;
  sampler.load(points, members, prior.parameters().center, prior.parameters().center_weight);
  prior.draw_center_given(points[members[0].ranking], cluster.center, rng);
  const auto refresh = [&] {
    sampler.statistics(cluster.center, cluster.sums, cluster.counts);
    prior.stage_priors(cluster.center, cluster.prior);
  };
  refresh();
  const std::size_t shown = std::min<std::size_t>(points.num_items, 20);
  std::vector<std::vector<double>> theta(stages);
  std::vector<std::vector<std::int16_t>> positions;
  std::vector<double> now(stages);
  double best = -infinity;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t j = 0; j < stages; ++j)
      now[j] = draw_theta(prior.stage_size(j), cluster.prior[j] + cluster.sums[j], prior.nu() + cluster.counts[j], rng);
    sampler.metropolis_stagewise(now, cluster.center, rng);
    sampler.swap_adjacent(now, cluster.center, rng);
    refresh();
    const double value = prior.log_center(cluster.center) + log_marginal(prior, cluster, false);
    if (value > best) best = value, component.consensus = cluster.center.order;
    if (pass < passes / 4) continue;
    for (std::size_t j = 0; j < stages; ++j) theta[j].push_back(now[j]);
    positions.push_back(cluster.center.position);
  }
  for (std::size_t j = 0; j < stages; ++j) {
    component.theta.push_back(std::accumulate(theta[j].begin(), theta[j].end(), 0.0) / static_cast<double>(theta[j].size()));
    component.theta_low.push_back(nearest_quantile(theta[j], 0.05));
    component.theta_high.push_back(nearest_quantile(theta[j], 0.95));
  }
  std::vector<double> seen;
  for (std::size_t k = 0; k < shown; ++k) {
    seen.clear();
    for (const auto& position : positions) seen.push_back(1.0 + position[static_cast<std::size_t>(component.consensus[k])]);
    component.position_low.push_back(nearest_quantile(seen, 0.05));
    component.position_high.push_back(nearest_quantile(seen, 0.95));
  }
  return component;
}

Result fit(const Dataset& data, const Points& points, const PriorParameters& parameters, const Options& options, const Run& run) {
  validate_options(options);
  if (options.burnin >= options.sweeps)
    throw UsageError(fmt::format("burnin = {} leaves nothing of sweeps = {}", options.burnin, options.sweeps));
  const Prior prior(parameters, points.num_items, points.num_stages, options.method == Method::beta_gibbs);
  Runner runner(points, prior, options, run);
  std::optional<Checkpoint> checkpoint;
  std::vector<ChainRecord> resumed;
  if (!options.checkpoint.empty()) {
    checkpoint = checkpoint_of(data, options, run.seed);
    checkpoint->resume([&](Loader& state) { state(resumed); });
  }
  runner.start(std::move(resumed));
  const auto done = [&] {
    return std::all_of(runner.records.begin(), runner.records.end(),
                       [&](const ChainRecord& record) { return record.sweeps >= options.sweeps; });
  };
  while (!done()) {
    const bool going = runner.advance(options.checkpoint.empty() ? options.sweeps : options.checkpoint_every);
    if (checkpoint) {
      Saver state;
      state(runner.records);
      checkpoint->save(state);
    }
    if (!going) break;
  }

  Result result;
  result.stop_reason = done() ? StopReason::iteration_limit : runner.why;
  if (std::all_of(runner.records.begin(), runner.records.end(), [](const ChainRecord& record) { return record.draws.empty(); })) {
    runner.keep_last();
    result.warnings.emplace_back("stopped before the end of burn-in: the last state of each chain stands for its draws");
  }
  result.iterations = options.sweeps;
  for (ChainRecord& record : runner.records) {
    result.iterations = std::min(result.iterations, record.sweeps);
    std::move(record.draws.begin(), record.draws.end(), std::back_inserter(result.draws));
    std::move(record.assignments.begin(), record.assignments.end(), std::back_inserter(result.assignments));
    std::move(record.predictive.begin(), record.predictive.end(), std::back_inserter(result.predictive));
    result.traces.push_back(std::move(record.trace));
  }
  result.split_merge = runner.split_merge();

  const PointClustering point = minimum_expected_vi(result.assignments, 100, run.threads);
  result.expected_vi = point.expected_distance;
  const ClusterLabels& chosen = result.assignments[point.draw];
  std::vector<std::vector<Member>> members(std::size_t{*std::max_element(chosen.begin(), chosen.end())} + 1);
  std::vector<double> sizes(members.size(), 0.0);
  for (std::uint32_t k : points.by_ranking) {
    std::vector<Member>& list = members[chosen[k]];
    if (!list.empty() && list.back().ranking == points.ranking[k])
      list.back().weight += 1.0;
    else
      list.push_back({points.ranking[k], 1.0});
    sizes[chosen[k]] += 1.0;
  }
  std::vector<std::uint32_t> order(members.size()), rank(members.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  for (std::uint32_t k = 0; k < order.size(); ++k) rank[order[k]] = k;
  for (std::uint32_t label : chosen) result.labels.push_back(rank[label]);
  // The finite stage, whatever the sampler used: what is reported and scored is the model itself.
  const Prior exact(parameters, points.num_items, points.num_stages, false);
  result.components.resize(order.size());
  const int passes = std::clamp(options.sweeps / 5, 20, 200);
  parallel_for(order.size(), run.threads, [&](std::size_t k) {
    result.components[k] = summarise_cluster(points, exact, members[order[k]], passes, RandomStream(run.seed, Purpose::augment, k));
  });
  return result;
}

}  // namespace caucus::dp_mallows
