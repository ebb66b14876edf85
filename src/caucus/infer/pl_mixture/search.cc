#include "caucus/infer/pl_mixture/search.h"

#include <fmt/format.h>

#include <functional>
#include <memory>

#include "caucus/base/deferred.h"
#include "caucus/data/weights.h"
#include "caucus/infer/multistart.h"
#include "caucus/infer/pl_mixture/start.h"
#include "caucus/infer/pl_mixture/voters.h"
#include "caucus/infer/regroup.h"

namespace caucus::pl_mixture {

namespace {

// Work is counted in stored items times lanes, and passes over them: about a nanosecond each. A step has its own cost, of some 60
// operations per parameter.
constexpr double budget = 1.2e9, most_per_pass = 1.2e6, part_per_pass = 4e5;
// A run of many is not worth more passes than this: what creeps on has come apart, and the best is polished to its end.
constexpr int most_passes = 600, attempt_passes = 12;
constexpr double tie_cost = 2.0;  // of one symmetric polynomial, in units of the strict pass

double pass_cost(const Objective& objective) {
  const auto lanes = static_cast<double>(padded_components(objective.num_components()));
  const auto parameters = static_cast<double>(objective.num_components() * objective.num_items());
  const auto cast = objective.by_voter() ? static_cast<double>(objective.data().voters.rankings.other.size()) : 0.0;
  return lanes * (objective.stored_numbers(tie_cost) + 2.0 * cast) + 60.0 * parameters + 2000.0;
}

// The work of a tied pass grows with the sum of the sizes of ties: 2 in battles, 35 where all but the first of nine may be tied.
bool has_dear_ties(const Objective& objective) {
  int sizes = 0;
  for (const int size : objective.tie_orders()) sizes += size;
  return sizes >= 20;
}

// Adds, for every size of tie that the part lacks, the most frequent of the rankings that have one: both have the same parameters.
RankingSet with_all_tie_sizes(const RankingSet& part, const RankingSet& all, std::span<const int> sizes) {
  const auto has = [](const RankingView& ranking, int size) {
    bool found = false;
    ranking.for_each_group([&](std::span<const ItemId> group) { found = found || group.size() == static_cast<std::size_t>(size); });
    return found;
  };
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < part.size(); ++i) builder.add(part[i], part.weight(i));
  for (const int size : sizes) {
    bool known = false;
    for (std::size_t i = 0; i < part.size() && !known; ++i) known = has(part[i], size);
    if (known) continue;
    std::optional<std::size_t> heaviest;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (has(all[i], size) && (!heaviest || all.weight(i) > all.weight(*heaviest))) heaviest = i;
    builder.add(all[*heaviest], 1.0);
  }
  return builder.build();
}

// Enough of the rankings to tell optima apart, or nothing where all are few.
std::unique_ptr<Dataset> part_of(const Objective& objective, std::uint64_t seed) {
  const Dataset& data = objective.data();
  const double cost = pass_cost(objective);
  if (cost <= most_per_pass || objective.by_voter() || (objective.has_ties() && !has_dear_ties(objective))) return nullptr;
  const double size = part_per_pass / cost * static_cast<double>(data.rankings.size());
  const double least = 30.0 * static_cast<double>(objective.num_components() * objective.num_items());
  const auto count = static_cast<std::size_t>(std::max(size, least));
  if (data.rankings.size() < 2 * count) return nullptr;
  RandomStream random(seed, Purpose::initialise, ~std::uint64_t{0});
  auto part = std::make_unique<Dataset>();
  part->items = data.items;
  part->unranked = data.unranked;
  part->source = data.source;
  part->rankings = draw_by_weight(data.rankings, count, random);
  if (objective.has_ties()) part->rankings = with_all_tie_sizes(part->rankings, data.rankings, objective.tie_orders());
  return part;
}

// The same ballots with their ties broken by lot; a tie of all that are left below is a ballot that stops above it.
Dataset with_broken_ties(const Dataset& data, std::uint64_t seed) {
  RandomStream random(seed, Purpose::initialise, ~std::uint64_t{1});
  RankingSetBuilder builder;
  std::vector<ItemId> order;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const RankingView ranking = data.rankings[i];
    order.clear();
    ranking.for_each_group([&](std::span<const ItemId> group) {
      const bool rest = group.size() > 1 && data.unranked == Unranked::last && order.size() + group.size() == data.num_items();
      if (rest) return;
      const std::size_t first = order.size();
      order.insert(order.end(), group.begin(), group.end());
      random.shuffle(std::span(order).subspan(first));
    });
    if (!order.empty() && data.rankings.weight(i) > 0.0) builder.add(order, data.rankings.weight(i));
  }
  return data.with(builder.build());
}

class Problem {
 public:
  using Solution = pl_mixture::Solution;
  // Worked out by the attempt: side by side with others, and not at all where a checkpoint has what came of it.
  using Point = std::function<Parameters()>;

  // `first`: where one more start begins, before all others.
  Problem(const Objective& objective, const Options& options, const Run& run, int restarts, std::optional<Parameters> first)
      : objective_(objective),
        options_(options),
        observer_(run.observer),
        run_(run.alone()),
        together_(run),
        restarts_(restarts),
        first_(std::move(first)) {
    run_.observer = together_.observer = &observer_;
    if (options.method == Method::em && restarts != 1) part_ = part_of(objective, run.seed);
    // One of many need not be exact to be told from the others; the best is polished.
    tolerance_ = options.method == Method::em && restarts != 1 ? std::max(1e-5, options.tolerance) : options.tolerance;
    // Starts run side by side, one thread each.
    if (part_)
      seen_.emplace(*part_, objective.num_components(), objective.strength(), 1);
    else
      seen_.emplace(objective, objective.num_components(), restarts == 1 ? objective.workers() : Workers(1));
    starts_.emplace(*seen_, options, run.seed, [this] { return should_stop(run_); });
    // A start from labels comes on top, and first.
    const std::size_t labelled =
        objective.data().voters.share() ? objective.data().voters.size() : objective.data().rankings.size();
    warm_ = (run.labels.size() == labelled && objective.num_components() > 1 ? 1 : 0) + (first_ ? 1 : 0);
  }

  int warm() const { return warm_; }
  bool on_part() const { return part_ != nullptr; }

  Solution start(int number) {
    const std::string phase = restarts_ == 1   ? std::string(name_of(options_.method))
                              : restarts_ == 0 ? fmt::format("start {}", number + 1)
                                               : fmt::format("start {} of {}", number + 1, restarts_ + warm_);
    return go(*seen_, first_point(number), passes_of_a_run(), phase);
  }
  std::vector<Point> moves(const Solution& best, int time) const {
    const auto moves = std::make_shared<Deferred<Moves>>([this, from = best.parameters, time] {
      RandomStream random(run_.seed, Purpose::permute, static_cast<std::uint64_t>(time));
      Standing standing = standing_of(from);
      auto list = starts_->regrouper().moves(standing, objective_.num_components(), random);
      return Moves{from, std::move(standing), std::move(list)};
    });
    std::vector<Point> points;
    for (std::size_t m = 0; m < Regrouper::num_moves(objective_.num_components()); ++m)
      points.emplace_back([this, moves, m] { return moved(moves->get(), m); });
    return points;
  }
  std::vector<Point> cross(const Solution& one, const Solution& two, int time) const {
    const auto children = std::make_shared<Deferred<std::vector<Parameters>>>(
        [this, one = one.parameters, two = two.parameters, time] { return crossed(one, two, time); });
    return {[children] { return children->get()[0]; }, [children] { return children->get()[1]; }};
  }
  Solution attempt(const Point& point) { return go(*seen_, point(), attempt_passes, "moves"); }
  Solution attempt(Solution solution) { return go_on(*seen_, std::move(solution), 2 * attempt_passes, "moves"); }
  Solution finish(Solution solution) { return go_on(*seen_, std::move(solution), passes_of_a_run(), "moves"); }
  // On all rankings.
  Solution refine(Solution solution) {
    solution.trace.clear();
    return go_on(objective_, std::move(solution), options_.iterations, "em");
  }
  // To the tolerance asked for, on all rankings and with all threads.
  Solution polish(Solution solution) {
    Solution last = go(objective_, solution.parameters, options_.iterations, "em", options_.tolerance);
    last.trace.insert(last.trace.begin(), solution.trace.begin(), solution.trace.end());
    count(last);
    return last;
  }

  // Of whatever task, wherever and whenever it was done.
  void count(const Solution& solution) { passes_ += solution.passes; }
  static double value(const Solution& solution) { return solution.objective; }
  double work(const Solution& solution) const { return solution.iterations * pass_cost(*seen_); }
  static bool stopped(const Solution& solution) {
    return solution.stop_reason == StopReason::interrupted || solution.stop_reason == StopReason::time_limit;
  }
  int passes() const { return passes_; }

 private:
  int passes_of_a_run() const {
    return options_.method == Method::em && restarts_ != 1 ? std::min(most_passes, options_.iterations) : options_.iterations;
  }
  struct Moves {
    Parameters from;
    Standing standing;
    std::vector<Regrouping> list;
  };

  Standing standing_of(const Parameters& parameters) const {
    Standing standing;
    seen_->evaluate(parameters, &standing.memberships, &standing.log_probs);
    return standing;
  }
  Parameters moved(const Moves& moves, std::size_t number) const {
    if (number >= moves.list.size()) return moves.from;  // stopped before it was made
    const Regrouping& move = moves.list[number];
    const Parameters fitted = seen_->has_ties() ? regrouped_start(*seen_, move.labels, moves.from, moves.standing.memberships)
                                                : labelled_start(*seen_, move.labels);
    Parameters start = moves.from;
    start.gamma.clear();  // of other groups
    for (std::size_t k : move.fresh) {
      std::ranges::copy(fitted.component(k), start.component(k).begin());
      if (options_.estimate_weights) start.weights[k] = fitted.weights[k];
    }
    to_shares(start.weights);
    return start;
  }
  std::vector<Parameters> crossed(const Parameters& one, const Parameters& two, int time) const {
    const Standing standing_one = standing_of(one), standing_two = standing_of(two);
    RandomStream random(run_.seed, Purpose::permute, ~static_cast<std::uint64_t>(time));
    std::vector<Parameters> children(2, one);
    for (Parameters& child : children) {
      std::size_t k = 0;
      for (const GroupOf& from : starts_->regrouper().cross(standing_one, standing_two, objective_.num_components(), random)) {
        const Parameters& parent = from.second ? two : one;
        std::ranges::copy(parent.component(from.group), child.component(k).begin());
        if (options_.estimate_weights) child.weights[k] = parent.weights[from.group];
        ++k;
      }
      to_shares(child.weights);
    }
    return children;
  }
  Parameters first_point(int number) {
    if (number >= warm_) return starts_->make(options_.init, static_cast<std::uint64_t>(number - warm_));
    if (number == 0 && first_) return in_groups_of(*first_);
    Parameters start = objective_.data().voters.share() ? labelled_voters_start(objective_, run_.labels)
                                                        : starts_->in_groups(objective_, run_.labels);
    if (!options_.estimate_weights) start.weights.assign(start.num_components(), 1.0 / static_cast<double>(start.num_components()));
    return start;
  }
  // Every ranking in its likeliest group.
  Parameters in_groups_of(const Parameters& parameters) {
    std::vector<double> memberships;
    seen_->evaluate(parameters, &memberships);
    const std::size_t num = objective_.num_components();
    std::vector<std::uint32_t> labels;
    for (std::size_t i = 0; i < seen_->data().rankings.size(); ++i) {
      const auto of = std::span<const double>(memberships).subspan(i * num, num);
      labels.push_back(static_cast<std::uint32_t>(std::ranges::max_element(of) - of.begin()));
    }
    return starts_->in_groups(*seen_, labels);
  }
  Solution go(const Objective& objective, Parameters start, int max_iterations, std::string_view phase, double tolerance = 0.0) {
    const SolveOptions solve{max_iterations, tolerance > 0.0 ? tolerance : tolerance_, !options_.estimate_weights, phase};
    // On all rankings nothing else goes on, and all processes take part.
    const bool together = &objective == &objective_ || restarts_ == 1;
    Solution solution =
        run_method(objective, options_.method, options_.chain, std::move(start), solve, together ? together_ : run_);
    solution.passes = solution.iterations;
    return solution;
  }
  Solution go_on(const Objective& objective, Solution solution, int max_iterations, std::string_view phase) {
    if (solution.stop_reason == StopReason::converged && &objective == &*seen_) {
      solution.passes = solution.iterations = 0;  // nothing more was done
      return solution;
    }
    Solution next = go(objective, solution.parameters, max_iterations, phase);
    next.trace.insert(next.trace.begin(), solution.trace.begin(), solution.trace.end());
    return next;
  }

  const Objective& objective_;
  const Options& options_;
  SharedObserver observer_;
  Run run_, together_;  // of a start among others; of what is done alone
  int restarts_, warm_ = 0;
  std::optional<Parameters> first_;
  std::unique_ptr<Dataset> part_;
  std::optional<Objective> seen_;
  std::optional<Starts> starts_;
  double tolerance_;  // of the runs
  int passes_ = 0;
};

void check_init(const Objective& objective, const Options& options) {
  if (options.components == 1) return;
  const bool embeds = !objective.has_ties() && objective.num_items() > 1;
  if ((options.init == Init::spectral || options.init == Init::kmeans) && !embeds)
    throw UsageError(fmt::format("init = {} does not take rankings with ties; choose init = random", name_of(options.init)));
  if (options.init == Init::moments && (objective.has_ties() || objective.data().unranked == Unranked::absent))
    throw UsageError("init = moments takes complete rankings and ballots that stop early; choose init = spectral or random");
  if (options.init == Init::tensor && objective.data().unranked == Unranked::absent)
    throw UsageError(
        "init = tensor takes complete rankings and ballots whose unlisted items are last; choose init = spectral or random");
}

// A pass over ties costs up to a hundred times one without, so a search among them has time for a few starts only. The groups are
// much the same where the ties are broken: a whole search there tells where one more start should begin.
std::optional<Parameters> start_without_ties(const Objective& objective, const Options& options, const Run& run) {
  if (!has_dear_ties(objective) || objective.by_voter()) return std::nullopt;
  const Dataset broken = with_broken_ties(objective.data(), run.seed);
  if (broken.rankings.empty()) return std::nullopt;
  Run own = run;
  own.labels = {};
  own.effort *= 0.5;
  const Objective strict(broken, objective.num_components(), objective.strength(), objective.workers());
  Parameters best = search(strict, options, own, std::nullopt).best.parameters;
  best.ties = initial_ties(objective);
  return best;
}

}  // namespace

SearchResult search(const Objective& objective, const Options& options, const Run& run, const std::optional<Parameters>& init) {
  SearchResult result;
  if (init) {
    Parameters start = *init;
    if (start.ties.orders != objective.tie_orders()) start.ties = initial_ties(objective);
    const SolveOptions solve{options.iterations, options.tolerance, !options.estimate_weights, name_of(options.method)};
    result.best = run_method(objective, options.method, options.chain, std::move(start), solve, run);
    return result;
  }
  check_init(objective, options);
  // Methods other than em are asked for to see where one start of theirs leads.
  const bool single =
      options.components == 1 || !(objective.total_weight() > 0.0) || (options.method != Method::em && !options.restarts);
  const int restarts = single ? 1 : options.restarts.value_or(0);
  Problem problem(objective, options, run, restarts,
                  restarts == 0 && options.method == Method::em ? start_without_ties(objective, options, run) : std::nullopt);
  MultistartPlan plan;
  if (restarts > 0) plan.starts = restarts + problem.warm();
  plan.least = least_share(effective_size(objective.data().rankings), objective.num_components() * objective.num_items());
  plan.budget = budget * run.effort;
  plan.workers = restarts == 1 ? Workers(1) : objective.workers();
  plan.moves = options.method == Method::em && !objective.data().voters.share();  // moves regroup rankings
  plan.refined = problem.on_part() ? 2 : 0;
  auto found = Multistart(problem, plan).run();
  result.record = found.record;
  if (found.stopped) found.best.stop_reason = run.out_of_time() ? StopReason::time_limit : StopReason::interrupted;
  const bool rough = !found.stopped && options.method == Method::em && restarts != 1;
  result.best = rough ? problem.polish(std::move(found.best)) : std::move(found.best);
  result.best.iterations = problem.passes();
  return result;
}

}  // namespace caucus::pl_mixture
