#include "caucus/evaluate/goodness.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/data/weights.h"
#include "caucus/result/voter_sample.h"

namespace caucus {

namespace {

// Counts over ballots, as one vector: first places by item, pairs (i above j), total length by first item.
class StatisticCounter {
 public:
  StatisticCounter(const Dataset& data, std::span<const ItemId> shown_items)
      : num_items_(data.num_items()),
        unranked_(data.unranked),
        shown_(shown_items.begin(), shown_items.end()),
        place_(num_items_) {}

  std::size_t size() const { return 2 * num_items_ + num_pairs(); }
  std::size_t num_pairs() const { return shown_.size() * (shown_.size() - 1) / 2; }
  std::size_t pairs_begin() const { return num_items_; }
  std::size_t lengths_begin() const { return num_items_ + num_pairs(); }

  // Tie-groups: group_of[position] for each listed item, ascending.
  void add(std::span<const ItemId> items, std::span<const std::uint32_t> group_of, std::span<double> counts) {
    if (items.empty()) return;
    const double unlisted = unranked_ == Unranked::last ? static_cast<double>(num_items_ + 1) : -1.0;
    std::fill(place_.begin(), place_.end(), unlisted);
    std::size_t firsts = 0;
    for (std::size_t p = 0; p < items.size(); ++p) {
      place_[items[p]] = group_of[p];
      firsts += group_of[p] == 0;
    }
    for (std::size_t p = 0; p < firsts; ++p) {
      counts[items[p]] += 1.0 / static_cast<double>(firsts);
      counts[lengths_begin() + items[p]] += static_cast<double>(items.size()) / static_cast<double>(firsts);
    }
    std::size_t at = pairs_begin();
    for (std::size_t a = 0; a < shown_.size(); ++a)
      for (std::size_t b = a + 1; b < shown_.size(); ++b, ++at) {
        const double pa = place_[shown_[a]], pb = place_[shown_[b]];
        if (pa < 0.0 || pb < 0.0) continue;
        counts[at] += pa < pb ? 1.0 : pa == pb ? 0.5 : 0.0;
      }
  }

 private:
  std::size_t num_items_;
  Unranked unranked_;
  std::vector<ItemId> shown_;
  std::vector<double> place_;
};

std::vector<std::uint32_t> groups_of(RankingView ranking) {
  std::vector<std::uint32_t> result(ranking.size());
  std::uint32_t group = 0;
  for (std::size_t p = 0; p < ranking.size(); ++p) {
    result[p] = group;
    if (ranking.ends_group(p)) ++group;
  }
  return result;
}

// What was counted, or by how much it differs from what was expected: in the data, and in each replicate.
struct Counts {
  std::vector<double> shown;     // counted in the data, for the reader
  std::vector<double> observed;  // what is judged
  std::vector<std::vector<double>> replicates;
};

GoodnessCheck judge(std::string name, std::size_t begin, std::size_t end, const Counts& counts,
                    const std::vector<std::string>& labels, std::size_t max_worst) {
  GoodnessCheck check;
  check.name = std::move(name);
  const std::vector<double>& observed = counts.observed;
  const std::vector<std::vector<double>>& replicates = counts.replicates;
  const double count = static_cast<double>(replicates.size());
  std::vector<double> sum(end - begin, 0.0), squares(end - begin, 0.0), mean(end - begin), deviation(end - begin);
  // Deviations from the first replicate, so that the sums of squares keep their digits.
  const auto centered = [&](std::span<const double> of, std::size_t i) { return of[begin + i] - replicates[0][begin + i]; };
  for (const auto& replicate : replicates)
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += centered(replicate, i), squares[i] += std::pow(centered(replicate, i), 2);
  // Mean and deviation over `number` replicates with these sums; half a ballot: no division by zero for counts that never vary.
  const auto deviation_of = [](double total, double square, double number) {
    return std::sqrt(std::max(0.0, square - total * total / number) / (number - 1.0) + 0.25);
  };
  double statistic = 0.0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    mean[i] = sum[i] / count + replicates[0][begin + i];
    deviation[i] = deviation_of(sum[i], squares[i], count);
    statistic += std::pow((observed[begin + i] - mean[i]) / deviation[i], 2);
  }
  check.statistic = statistic;
  // A replicate is held against the others, as the data are held against all: it must not sit in its own mean.
  int further = 0;
  for (const auto& replicate : replicates) {
    double distance = 0.0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double own = centered(replicate, i), total = sum[i] - own;
      distance += std::pow((own - total / (count - 1.0)) / deviation_of(total, squares[i] - own * own, count - 1.0), 2);
    }
    further += distance >= statistic;
  }
  check.p_value = (1.0 + further) / (1.0 + count);
  std::vector<std::size_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  const auto z = [&](std::size_t i) { return (observed[i] - mean[i - begin]) / deviation[i - begin]; };
  const std::size_t most = std::min(max_worst, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                    [&](std::size_t a, std::size_t b) { return std::abs(z(a)) > std::abs(z(b)); });
  for (const std::size_t i : std::span(order).first(most))
    check.worst.push_back({labels[i], counts.shown[i], counts.shown[i] - (observed[i] - mean[i - begin]), z(i)});
  return check;
}

// The ballots that are compared, one entry each, and what is counted of them. Those of a voter stand side by side, for their draws
// come from one group.
class Compared {
 public:
  Compared(const FittedModel& model, const Dataset& data, const GoodnessOptions& options)
      : data_(data), by_voter_(counts_voters(model, data)), groups_(data.rankings.size()) {
    choose_ballots(options);
    const RankingSet& rankings = data.rankings;
    std::vector<double> listed(data.num_items(), 0.0);
    for (std::size_t i = 0; i < rankings.size(); ++i)
      for (ItemId item : rankings[i].items()) listed[item] += rankings.weight(i);
    shown_.resize(data.num_items());
    std::iota(shown_.begin(), shown_.end(), ItemId{0});
    std::stable_sort(shown_.begin(), shown_.end(), [&](ItemId a, ItemId b) { return listed[a] > listed[b]; });
    shown_.resize(std::min(shown_.size(), options.max_items));
    for (std::uint32_t i : ballots_)
      if (groups_[i].empty()) groups_[i] = groups_of(rankings[i]);
  }

  std::size_t num_ballots() const { return ballots_.size(); }
  StatisticCounter counter() const { return {data_, shown_}; }

  std::vector<double> observed() const {
    StatisticCounter counting = counter();
    std::vector<double> counts(counting.size(), 0.0);
    for (std::uint32_t i : ballots_) counting.add(data_.rankings[i].items(), groups_[i], counts);
    return counts;
  }

  // The ballots themselves as data to fit.
  Dataset ballots() const {
    DatasetMaker made(*this);
    for (std::size_t row = 0; row < ballots_.size(); ++row) made.add(row, data_.rankings[ballots_[row]].items());
    return made.finish();
  }

  // Counts of ballots drawn from the model and observed as those of the data were.
  std::vector<double> draw_counts(const FittedModel& model, std::uint64_t seed) const {
    StatisticCounter counting = counter();
    std::vector<double> counts(counting.size(), 0.0);
    draw(model, seed, [&](std::size_t row, std::span<const ItemId> seen) {
      counting.add(seen, std::span(groups_[ballots_[row]]).first(seen.size()), counts);
    });
    return counts;
  }
  // The same draws as data to fit, and their counts.
  std::pair<Dataset, std::vector<double>> draw_data(const FittedModel& model, std::uint64_t seed) const {
    StatisticCounter counting = counter();
    std::vector<double> counts(counting.size(), 0.0);
    DatasetMaker made(*this);
    draw(model, seed, [&](std::size_t row, std::span<const ItemId> seen) {
      counting.add(seen, std::span(groups_[ballots_[row]]).first(seen.size()), counts);
      made.add(row, seen);
    });
    return {made.finish(), std::move(counts)};
  }

  std::vector<std::string> labels() const {
    const StatisticCounter layout = counter();
    std::vector<std::string> labels(layout.size());
    for (std::size_t i = 0; i < data_.num_items(); ++i) {
      labels[i] = fmt::format("first places of {}", data_.items[i]);
      labels[layout.lengths_begin() + i] = fmt::format("places listed on ballots that begin with {}", data_.items[i]);
    }
    std::size_t at = layout.pairs_begin();
    for (std::size_t a = 0; a < shown_.size(); ++a)
      for (std::size_t b = a + 1; b < shown_.size(); ++b, ++at)
        labels[at] = fmt::format("{} above {}", data_.items[shown_[a]], data_.items[shown_[b]]);
    return labels;
  }

 private:
  class DatasetMaker {
   public:
    explicit DatasetMaker(const Compared& compared) : compared_(compared) {}
    void add(std::size_t row, std::span<const ItemId> items) {
      const RankingView ballot = compared_.data_.rankings[compared_.ballots_[row]];
      ends_.assign(ballot.group_ends().begin(), ballot.group_ends().end());
      ends_.resize(ends_.empty() ? 0 : items.size());
      if (!ends_.empty()) ends_.back() = 1;
      builder_.append(items, 1.0, ends_);
    }
    Dataset finish() {
      const Dataset& data = compared_.data_;
      Dataset made;
      made.items = data.items;
      made.unranked = data.unranked;
      made.source = data.source;
      made.rankings = builder_.build();
      if (!compared_.by_voter_) return made;
      std::vector<std::uint32_t> of_row;
      const std::vector<std::size_t>& voters = compared_.voter_of_;
      for (std::size_t v = 0; v < voters.size(); ++v)
        of_row.insert(of_row.end(), compared_.begins_[v + 1] - compared_.begins_[v], static_cast<std::uint32_t>(v));
      set_voters(made, std::move(of_row), {}, std::vector<double>(voters.size(), 1.0));
      for (const Column& column : voter_columns(data)) made.voters.table.push_back(column.select(voters));
      return made;
    }

   private:
    const Compared& compared_;
    RankingSetBuilder builder_;
    std::vector<std::uint8_t> ends_;
  };

  void choose_ballots(const GoodnessOptions& options) {
    const RankingSet& rankings = data_.rankings;
    RandomStream chooser(options.seed, Purpose::permute);
    // Weights that are no counts stand for as many ballots as they are worth.
    const double one = by_voter_ ? data_.voters.total_weight() / effective_size(data_.voters.weights) : one_ballot(rankings);
    const double share = std::min(1.0, static_cast<double>(options.max_ballots) * one / rankings.total_weight()) / one;
    const auto copies_of = [&](double expected) {
      const double whole = std::floor(expected);
      return static_cast<std::size_t>(whole) + (chooser.uniform() < expected - whole ? 1 : 0);
    };
    for (std::size_t v = 0; by_voter_ && v < data_.voters.size(); ++v)
      for (std::size_t copies = copies_of(data_.voters.weights[v] * share); copies > 0; --copies) {
        const Incidence& cast = data_.voters.rankings;
        voter_of_.push_back(v);
        begins_.push_back(ballots_.size());
        for (std::size_t j = cast.begin[v]; j < cast.begin[v + 1]; ++j)
          ballots_.insert(ballots_.end(), cast.count(j), cast.other[j]);
      }
    begins_.push_back(ballots_.size());
    for (std::size_t i = 0; !by_voter_ && i < rankings.size(); ++i) {
      const double expected = rankings.weight(i) * share;
      ballots_.insert(ballots_.end(), copies_of(expected), static_cast<std::uint32_t>(i));
    }
  }

  // visit(row, items seen) for each ballot.
  template <class Visit>
  void draw(const FittedModel& model, std::uint64_t seed, Visit&& visit) const {
    const std::size_t k = model.num_components();
    std::vector<double> log_weights;  // K numbers per voter, or K in all
    if (by_voter_) {
      if (model.membership() != nullptr) {
        log_weights = model.membership()->log_weights_of_voters(data_);
      } else {
        for (const Group& group : model.profile()) log_weights.push_back(std::log(group.weight));
      }
    }
    SampleRequest request;
    request.count = ballots_.size();
    request.seed = seed;
    request.threads = 1;
    GroupSampler of_group(model, request);
    std::size_t voter = 0, group = 0;
    RandomStream random(request.seed, Purpose::generate);
    const Sample sample = by_voter_ ? Sample() : model.sample(request);
    const auto next = [&](std::size_t row) {
      if (!by_voter_) return sample.data.rankings[sample.data.rankings.row_ranking(row)];
      if (row == begins_[voter]) {
        const std::size_t at = model.membership() != nullptr ? voter_of_[voter] * k : 0;
        group = random.categorical_log(std::span(log_weights).subspan(at, k));
        ++voter;
      }
      return of_group.next(group);
    };
    std::vector<ItemId> seen;
    std::vector<char> takes_part(data_.num_items());
    for (std::size_t row = 0; row < ballots_.size(); ++row) {
      const RankingView drawn = next(row);
      const RankingView ballot = data_.rankings[ballots_[row]];
      seen.clear();
      if (data_.unranked == Unranked::absent) {
        std::fill(takes_part.begin(), takes_part.end(), 0);
        for (ItemId item : ballot.items()) takes_part[item] = 1;
        for (ItemId item : drawn.items())
          if (takes_part[item] != 0) seen.push_back(item);
      } else {
        seen.assign(drawn.items().begin(),
                    drawn.items().begin() + static_cast<std::ptrdiff_t>(std::min(ballot.size(), drawn.size())));
      }
      visit(row, std::span<const ItemId>(seen));
    }
  }

  const Dataset& data_;
  bool by_voter_;
  std::vector<std::uint32_t> ballots_;
  std::vector<std::size_t> voter_of_, begins_;      // by voter compared
  std::vector<std::vector<std::uint32_t>> groups_;  // tie-groups, by distinct ranking
  std::vector<ItemId> shown_;
};

void require_no_tie_outcomes(const FittedModel& model, const Dataset& data) {
  if (data.rankings.has_ties() && model.ties_are_outcomes())
    throw DataError("the model takes a tie as an outcome of its own; goodness of fit is checked on rankings without ties only");
}

std::uint64_t seed_of(const GoodnessOptions& options, std::size_t replicate) { return options.seed + 1000003 * (replicate + 1); }

// Fills replicate after replicate until the run is stopped; answers why. An empty one was told to stop.
StopReason fill_replicates(const GoodnessOptions& options, const char* phase, Counts& counts,
                           const std::function<std::vector<double>(std::size_t)>& replicate) {
  counts.replicates.resize(static_cast<std::size_t>(options.replicates));
  std::mutex speaking;
  int done = 0;
  StopReason why = StopReason::converged;
  std::atomic<bool> stopped = false;
  parallel_for(counts.replicates.size(), options.threads, [&](std::size_t r) {
    if (stopped) return;
    counts.replicates[r] = replicate(r);
    const std::lock_guard lock(speaking);
    if (options.run != nullptr && !stopped) stopped = options.run->report({phase, ++done, options.replicates}, why) == Flow::stop;
  });
  std::erase_if(counts.replicates, [](const std::vector<double>& one) { return one.empty(); });
  return counts.replicates.size() == static_cast<std::size_t>(options.replicates) ? StopReason::converged : why;
}

Goodness judged(const Compared& compared, const Dataset& data, const Counts& counts, const GoodnessOptions& options) {
  Goodness result;
  result.num_ballots = compared.num_ballots();
  result.replicates = static_cast<int>(counts.replicates.size());
  if (result.replicates < std::min(fewest_replicates, options.replicates)) return result;
  const StatisticCounter layout = compared.counter();
  const std::vector<std::string> labels = compared.labels();
  const auto add = [&](const char* name, std::size_t begin, std::size_t end) {
    result.checks.push_back(judge(name, begin, end, counts, labels, options.max_worst));
  };
  add("first places", 0, data.num_items());
  if (layout.num_pairs() > 0) add("pairs", layout.pairs_begin(), layout.lengths_begin());
  const DataTraits found = traits(data);
  if (found.min_length != found.max_length) add("ballot lengths", layout.lengths_begin(), layout.size());
  return result;
}

// The likeliest group of each distinct ranking.
std::vector<std::uint32_t> likeliest_groups(const FittedModel& model, const Dataset& data) {
  const std::size_t k = model.num_components();
  if (k < 2) return {};
  const std::vector<double> shares = memberships(model, data, 1);
  std::vector<std::uint32_t> labels(data.rankings.size());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = most_probable(std::span(shares).subspan(i * k, k));
  return labels;
}

}  // namespace

Goodness goodness_of_fit(const FittedModel& model, const Dataset& data, const GoodnessOptions& options) {
  require_no_tie_outcomes(model, data);
  const Compared compared(model, data, options);
  Counts counts;
  counts.shown = counts.observed = compared.observed();
  const StopReason why = fill_replicates(options, "simulating", counts,
                                         [&](std::size_t r) { return compared.draw_counts(model, seed_of(options, r)); });
  Goodness result = judged(compared, data, counts, options);
  result.stop_reason = why;
  return result;
}

Goodness goodness_of_fit_refitted(const FittedModel& model, const Refit& refit, const Dataset& data,
                                  const GoodnessOptions& options) {
  require_no_tie_outcomes(model, data);
  const Compared compared(model, data, options);
  // Counts less what a model fitted to the same ballots expects.
  const auto residuals = [&](const FittedModel& fitted, std::vector<double> counted, std::uint64_t seed) {
    for (int draw = 0; draw < expectation_draws; ++draw) {
      const std::vector<double> drawn = compared.draw_counts(fitted, seed + 15485863 * static_cast<std::uint64_t>(draw + 1));
      for (std::size_t i = 0; i < counted.size(); ++i) counted[i] -= drawn[i] / expectation_draws;
    }
    return counted;
  };
  Counts counts;
  counts.shown = compared.observed();
  const Dataset ballots = compared.ballots();
  const std::unique_ptr<FittedModel> fitted = refit(ballots, likeliest_groups(model, ballots));
  StopReason why = StopReason::time_limit;
  if (fitted != nullptr) {
    counts.observed = residuals(*fitted, counts.shown, options.seed);
    why = fill_replicates(options, "fitting to simulated data", counts, [&](std::size_t r) {
      const std::uint64_t seed = seed_of(options, r);
      auto [drawn, counted] = compared.draw_data(*fitted, seed);
      const std::unique_ptr<FittedModel> anew = refit(drawn, likeliest_groups(*fitted, drawn));
      return anew == nullptr ? std::vector<double>() : residuals(*anew, std::move(counted), seed);
    });
  }
  Goodness result = judged(compared, data, counts, options);
  result.refitted = true;
  result.stop_reason = why;
  return result;
}

}  // namespace caucus
