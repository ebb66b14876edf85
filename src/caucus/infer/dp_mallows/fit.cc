#include "caucus/infer/dp_mallows/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/chains.h"
#include "caucus/infer/dp_mallows/checkpoint.h"

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

// Draws for the predictive where their number is left open, over all chains: the fewest and the most; and how often the sweeps
// after burn-in may be doubled for them.
constexpr int fewest_draws = 100, most_draws = 400, most_doublings = 3;

// `wanted` of the values, evenly spaced, or all.
std::vector<PredictiveDraw> evenly(const std::vector<PredictiveDraw>& all, std::size_t wanted) {
  std::vector<PredictiveDraw> result;
  for (std::size_t k = 1; k <= all.size(); ++k)
    if (k * wanted / all.size() > (k - 1) * wanted / all.size()) result.push_back(all[k - 1]);
  return result;
}

// One chain and what is kept of it.
class RecordedChain {
 public:
  RecordedChain(const Points& points, const Prior& prior, const Options& options, const Run& run, std::size_t index)
      : options_(options),
        index_(index),
        num_points_(points.size()),
        chain_(std::make_unique<Chain>(points, prior, chain_settings(options), RandomStream(run.seed, Purpose::chain, index))) {}

  ChainRecord record;

  bool sweep(bool, const AskToStop& stop) {
    if (!start(stop)) return false;
    const ChainState before = chain_->state();
    if (!chain_->sweep(stop)) {
      chain_->set_state(before);  // for what is reported: there are no more sweeps
      return false;
    }
    record.trace.num_clusters.push_back(static_cast<double>(chain_->clusters().size()));
    record.trace.log_joint.push_back(chain_->log_joint());
    record.trace.alpha.push_back(chain_->alpha());
    return true;
  }

  bool started() const { return started_; }
  int sweeps() const { return static_cast<int>(record.trace.num_clusters.size()); }

  void keep(int sweep) {
    double largest = 0.0;
    for (const Cluster& cluster : chain_->clusters()) largest = std::max(largest, cluster.size);
    record.draws.push_back({static_cast<int>(index_) + 1, sweep, static_cast<std::uint32_t>(chain_->clusters().size()),
                            record.trace.log_joint.empty() ? chain_->log_joint() : record.trace.log_joint.back(), chain_->alpha(),
                            largest / static_cast<double>(num_points_)});
    record.assignments.push_back(chain_->labels());
    // Evenly spaced draws for the predictive, at least one.
    const auto planned = std::max<std::int64_t>(1, (options_.sweeps - options_.burnin) / options_.thin);
    const int in_all = options_.predictive_draws.value_or(most_draws);
    const std::int64_t wanted = (in_all + options_.chains - 1) / options_.chains;
    const auto k = static_cast<std::int64_t>(record.draws.size());
    if (in_all > 0 && (k * wanted / planned > (k - 1) * wanted / planned || k == 1))
      record.predictive.push_back(predictive_draw(*chain_));
  }

  // Sweeps after those asked for, of which nothing is kept but draws for the predictive, as many as there are already; every second
  // one of these makes room. False where `stop` cut it short.
  bool extend(int sweeps, const AskToStop& stop) {
    std::vector<PredictiveDraw> more;
    const auto wanted = static_cast<std::int64_t>(record.predictive.size());
    for (std::int64_t k = 1; k <= sweeps; ++k) {
      if (!chain_->sweep(stop)) return false;
      if (k * wanted / sweeps > (k - 1) * wanted / sweeps) more.push_back(predictive_draw(*chain_));
    }
    std::move(more.begin(), more.end(), std::back_inserter(record.predictive));
    record.predictive = evenly(record.predictive, static_cast<std::size_t>(wanted));
    return true;
  }

  double objective() const { return record.trace.log_joint.empty() ? Progress::no_number : record.trace.log_joint.back(); }
  const SplitMergeCounts& split_merge_counts() const { return chain_->split_merge_counts(); }

  void save(Saver& state) const { state(chain_->state(), record); }
  void load(Loader& state) {
    ChainState saved;
    state(saved, record);
    if (saved.labels.empty()) return;  // it was stopped before it had begun
    chain_->restore(saved);
    started_ = true;
  }

 private:
  // Not in the constructor: a chain that goes on from a file has no start, and starts are made side by side.
  // A start has half a second, whatever the limit: small data are never left without a state.
  bool start(const AskToStop& stop) {
    const auto begun = std::chrono::steady_clock::now();
    const AskToStop patient = [&] { return std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(500) && stop(); };
    started_ = started_ || chain_->start_randomly(patient);
    return started_;
  }

  const Options& options_;
  std::size_t index_, num_points_;
  std::unique_ptr<Chain> chain_;
  bool started_ = false;
};

bool extend(std::span<RecordedChain> chains, int sweeps, const Run& run) {
  std::atomic<bool> whole = true;
  parallel_for(chains.size(), run.threads, [&](std::size_t c) {
    if (!chains[c].extend(sweeps, [&run] { return should_stop(run); })) whole = false;
  });
  return !run.agreed(!whole.load());
}

// The draws of all chains, `wanted` of them if there are as many.
std::vector<PredictiveDraw> predictive(std::span<const RecordedChain> chains, std::size_t wanted) {
  std::vector<PredictiveDraw> result;
  for (const RecordedChain& chain : chains) {
    const std::size_t own = std::min(chain.record.predictive.size(), (wanted + chains.size() - 1) / chains.size());
    std::ranges::move(evenly(chain.record.predictive, own), std::back_inserter(result));
  }
  return result;
}

// As few draws as leave a small error; more sweeps where even the most do not.
std::vector<PredictiveDraw> choose_predictive(std::span<RecordedChain> chains, const Options& options, bool finished,
                                              const Run& run, const ScoreError& score_error, int& extra_sweeps) {
  if (options.predictive_draws) return predictive(chains, static_cast<std::size_t>(*options.predictive_draws));
  std::size_t wanted = fewest_draws;
  std::vector<PredictiveDraw> draws = predictive(chains, wanted);
  if (!score_error) return draws;
  while (score_error(draws) > wanted_score_error) {
    const int kept = options.sweeps - options.burnin;
    if (wanted < most_draws && draws.size() >= wanted) {
      wanted *= 2;
    } else if (!finished || extra_sweeps >= (kept << most_doublings) - kept || !extend(chains, extra_sweeps + kept, run)) {
      break;
    } else {
      extra_sweeps = 2 * extra_sweeps + kept;
    }
    draws = predictive(chains, wanted);
  }
  return draws;
}

SplitMergeCounts sum_counts(std::span<const RecordedChain> chains) {
  SplitMergeCounts total;
  for (const RecordedChain& chain : chains) {
    const SplitMergeCounts& one = chain.split_merge_counts();
    total.splits_tried += one.splits_tried, total.splits_accepted += one.splits_accepted;
    total.merges_tried += one.merges_tried, total.merges_accepted += one.merges_accepted;
  }
  return total;
}

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

Component summarise_cluster(const Points& points, const Prior& prior, std::span<const Member> members, int passes, RandomStream rng,
                            const std::function<bool()>& stop) {
  Component component;
  Cluster cluster;
  const std::size_t stages = prior.num_stages();
  cluster.prior.resize(stages);
  cluster.sums.resize(stages);
  cluster.counts.resize(stages);
  for (const Member& member : members) component.size += member.weight;
  cluster.size = component.size;
  StageCache cache(prior);
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
    const double value = prior.log_center(cluster.center) + log_marginal(cache, cluster, false);
    if (value > best) best = value, component.consensus = cluster.center.order;
    if (pass < passes / 4) continue;
    if (stop && stop()) passes = std::min(passes, pass + 1);
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

Result fit(const Dataset& data, const Points& points, const PriorParameters& parameters, const Options& options, const Run& run,
           const ScoreError& score_error) {
  validate_options(options);
  if (options.burnin >= options.sweeps)
    throw UsageError(fmt::format("burnin = {} leaves nothing of sweeps = {}", options.burnin, options.sweeps));
  const Prior prior(parameters, points.num_items, points.num_stages, options.method == Method::beta_gibbs);
  std::vector<RecordedChain> chains;
  for (std::size_t c = 0; c < static_cast<std::size_t>(options.chains); ++c) chains.emplace_back(points, prior, options, run, c);
  std::optional<Checkpoint> checkpoint;
  if (!options.checkpoint.empty()) checkpoint = checkpoint_of(data, options, run.seed);
  const ChainsDone done = run_chains(std::span(chains), {options.sweeps, options.burnin, options.thin}, run,
                                     {checkpoint ? &*checkpoint : nullptr, options.checkpoint_every});

  Result result;
  result.stop_reason = done.stop_reason;
  // A chain that has not begun has nothing to tell; the others may. With very many items what is told of a start that has made no
  // sweep takes longer than the start.
  const bool very_long = points.num_items * points.num_stages > 250'000;
  std::vector<RecordedChain> begun;
  for (RecordedChain& chain : chains)
    if (chain.started() && (chain.sweeps() > 0 || !very_long)) begun.push_back(std::move(chain));
  chains.swap(begun);
  if (chains.empty())
    throw UnfinishedError(
        fmt::format("{}: family dpm was stopped before it had made its first sweep ({} ballots, rankings of up to {} items); allow "
                    "it more time, or choose family pl",
                    data.source, points.size(), points.num_stages));
  if (std::all_of(chains.begin(), chains.end(), [](const RecordedChain& chain) { return chain.record.draws.empty(); })) {
    for (RecordedChain& chain : chains) chain.keep(chain.sweeps());
    result.warnings.emplace_back("stopped before the end of burn-in: the last state of each chain stands for its draws");
  }
  result.split_merge = sum_counts(chains);
  result.predictive =
      choose_predictive(chains, options, done.stop_reason == StopReason::iteration_limit, run, score_error, result.extra_sweeps);
  result.iterations = std::min(done.least(), options.sweeps);
  for (RecordedChain& chain : chains) {
    ChainRecord& record = chain.record;
    std::move(record.draws.begin(), record.draws.end(), std::back_inserter(result.draws));
    std::move(record.assignments.begin(), record.assignments.end(), std::back_inserter(result.assignments));
    result.traces.push_back(std::move(record.trace));
  }

  const PointClustering point = minimum_expected_vi(result.assignments, 100, run.threads);
  result.expected_vi = point.expected_distance;
  const ClusterLabels& chosen = result.assignments[point.draw];
  std::vector<std::vector<Member>> members(std::size_t{*std::max_element(chosen.begin(), chosen.end())} + 1);
  std::vector<double> sizes(members.size(), 0.0);
  for (std::uint32_t ballot : points.by_ranking) {
    std::vector<Member>& list = members[chosen[points.point_of(ballot)]];
    if (!list.empty() && list.back().ranking == points.ranking[ballot])
      list.back().weight += 1.0;
    else
      list.push_back({points.ranking[ballot], 1.0});
  }
  for (const std::uint32_t label : chosen) sizes[label] += 1.0;
  std::vector<std::uint32_t> order(members.size()), rank(members.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  for (std::uint32_t k = 0; k < order.size(); ++k) rank[order[k]] = k;
  for (std::uint32_t label : chosen) result.labels.push_back(rank[label]);
  // The finite stage, whatever the sampler used: what is reported and scored is the model itself.
  const Prior exact(parameters, points.num_items, points.num_stages, false);
  result.components.resize(order.size());
  // What is told of the clusters should not take longer than the chains did; many ballots leave little to a second draw.
  constexpr std::size_t many = 200'000;
  const int after_a_stop = points.by_ranking.size() > many ? 1 : 4;
  const int passes = should_stop(run) ? after_a_stop : std::clamp(options.sweeps / 5, 20, 200);
  parallel_for(order.size(), run.threads, [&](std::size_t k) {
    result.components[k] = summarise_cluster(points, exact, members[order[k]], passes, RandomStream(run.seed, Purpose::augment, k),
                                             [&run] { return should_stop(run); });
    result.components[k].size = sizes[order[k]];
  });
  return result;
}

}  // namespace caucus::dp_mallows
