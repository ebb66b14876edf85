#include "caucus/evaluate/goodness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
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

GoodnessCheck judge(std::string name, std::size_t begin, std::size_t end, std::span<const double> observed,
                    const std::vector<std::vector<double>>& replicates, const std::vector<std::string>& labels,
                    std::size_t max_worst) {
  GoodnessCheck check;
  check.name = std::move(name);
  const double count = static_cast<double>(replicates.size());
  std::vector<double> sum(end - begin, 0.0), squares(end - begin, 0.0), mean(end - begin), deviation(end - begin);
  // Deviations from the first replicate, so that the sums of squares keep their digits.
  const auto centered = [&](std::span<const double> counts, std::size_t i) { return counts[begin + i] - replicates[0][begin + i]; };
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
  for (std::size_t i = 0; i < most; ++i)
    check.worst.push_back({labels[order[i]], observed[order[i]], mean[order[i] - begin], z(order[i])});
  return check;
}

// The ballots to compare, one entry each; those of a voter side by side, for their draws come from one group.
struct ComparedBallots {
  std::vector<std::uint32_t> rankings;
  std::vector<std::size_t> voter_of, begins;  // by voter compared
};

ComparedBallots choose_ballots(const Dataset& data, bool by_voter, const GoodnessOptions& options) {
  const RankingSet& rankings = data.rankings;
  ComparedBallots chosen;
  RandomStream chooser(options.seed, Purpose::permute);
  const double share = std::min(1.0, static_cast<double>(options.max_ballots) / rankings.total_weight());
  const auto copies_of = [&](double expected) {
    const double whole = std::floor(expected);
    return static_cast<std::size_t>(whole) + (chooser.uniform() < expected - whole ? 1 : 0);
  };
  for (std::size_t v = 0; by_voter && v < data.voters.size(); ++v)
    for (std::size_t copies = copies_of(data.voters.weights[v] * share); copies > 0; --copies) {
      const Incidence& cast = data.voters.rankings;
      chosen.voter_of.push_back(v);
      chosen.begins.push_back(chosen.rankings.size());
      for (std::size_t j = cast.begin[v]; j < cast.begin[v + 1]; ++j)
        chosen.rankings.insert(chosen.rankings.end(), cast.count(j), cast.other[j]);
    }
  chosen.begins.push_back(chosen.rankings.size());
  for (std::size_t i = 0; !by_voter && i < rankings.size(); ++i) {
    const double expected = rankings.weight(i) * share;
    chosen.rankings.insert(chosen.rankings.end(), copies_of(expected), static_cast<std::uint32_t>(i));
  }
  return chosen;
}

std::vector<ItemId> most_listed(const Dataset& data, std::size_t max_items) {
  const RankingSet& rankings = data.rankings;
  std::vector<double> listed(data.num_items(), 0.0);
  for (std::size_t i = 0; i < rankings.size(); ++i)
    for (ItemId item : rankings[i].items()) listed[item] += rankings.weight(i);
  std::vector<ItemId> shown(data.num_items());
  std::iota(shown.begin(), shown.end(), ItemId{0});
  std::stable_sort(shown.begin(), shown.end(), [&](ItemId a, ItemId b) { return listed[a] > listed[b]; });
  shown.resize(std::min(shown.size(), max_items));
  return shown;
}

// What of a whole ranking would show on a ballot like this one: among the items that took part, or its first places.
void show_like(RankingView ballot, RankingView drawn, Unranked unranked, std::vector<char>& takes_part, std::vector<ItemId>& seen) {
  seen.clear();
  if (unranked == Unranked::absent) {
    std::fill(takes_part.begin(), takes_part.end(), 0);
    for (ItemId item : ballot.items()) takes_part[item] = 1;
    for (ItemId item : drawn.items())
      if (takes_part[item] != 0) seen.push_back(item);
  } else {
    seen.assign(drawn.items().begin(), drawn.items().begin() + static_cast<std::ptrdiff_t>(std::min(ballot.size(), drawn.size())));
  }
}

std::vector<std::string> labels_of(const Dataset& data, const StatisticCounter& layout, const std::vector<ItemId>& shown) {
  std::vector<std::string> labels(layout.size());
  for (std::size_t i = 0; i < data.num_items(); ++i) {
    labels[i] = fmt::format("first places of {}", data.items[i]);
    labels[layout.lengths_begin() + i] = fmt::format("places listed on ballots that begin with {}", data.items[i]);
  }
  std::size_t at = layout.pairs_begin();
  for (std::size_t a = 0; a < shown.size(); ++a)
    for (std::size_t b = a + 1; b < shown.size(); ++b, ++at)
      labels[at] = fmt::format("{} above {}", data.items[shown[a]], data.items[shown[b]]);
  return labels;
}

}  // namespace

Goodness goodness_of_fit(const FittedModel& model, const Dataset& data, const GoodnessOptions& options) {
  if (data.rankings.has_ties() && model.ties_are_outcomes())
    throw DataError("the model takes a tie as an outcome of its own; goodness of fit is checked on rankings without ties only");
  const RankingSet& rankings = data.rankings;

  const bool by_voter = counts_voters(model, data);
  const ComparedBallots chosen = choose_ballots(data, by_voter, options);
  const std::vector<std::uint32_t>& ballots = chosen.rankings;
  const std::vector<ItemId> shown = most_listed(data, options.max_items);
  StatisticCounter layout(data, shown);
  std::vector<double> observed(layout.size(), 0.0);
  std::vector<std::vector<std::uint32_t>> groups(rankings.size());
  for (std::uint32_t i : ballots) {
    if (groups[i].empty()) groups[i] = groups_of(rankings[i]);
    layout.add(rankings[i].items(), groups[i], observed);
  }

  std::vector<double> log_weights;  // K numbers per voter
  const std::size_t k = model.num_components();
  if (by_voter) {
    if (model.membership() != nullptr) {
      log_weights = model.membership()->log_weights_of_voters(data);
    } else {
      for (const Group& group : model.profile()) log_weights.push_back(std::log(group.weight));
    }
  }
  std::vector<std::vector<double>> replicates(static_cast<std::size_t>(options.replicates));
  parallel_for(replicates.size(), options.threads, [&](std::size_t r) {
    SampleRequest request;
    request.count = ballots.size();
    request.seed = options.seed + 1000003 * (r + 1);
    request.threads = 1;
    GroupSampler of_group(model, request);
    std::size_t voter = 0, group = 0;
    RandomStream random(request.seed, Purpose::generate);
    const Sample sample = by_voter ? Sample() : model.sample(request);
    const auto draw = [&](std::size_t row) {
      if (!by_voter) return sample.data.rankings[sample.data.rankings.row_ranking(row)];
      if (row == chosen.begins[voter]) {
        const std::size_t at = model.membership() != nullptr ? chosen.voter_of[voter] * k : 0;
        group = random.categorical_log(std::span(log_weights).subspan(at, k));
        ++voter;
      }
      return of_group.next(group);
    };
    StatisticCounter counter(data, shown);
    std::vector<double> counts(counter.size(), 0.0);
    std::vector<ItemId> seen;
    std::vector<char> takes_part(data.num_items());
    for (std::size_t row = 0; row < ballots.size(); ++row) {
      const RankingView drawn = draw(row);
      show_like(rankings[ballots[row]], drawn, data.unranked, takes_part, seen);
      counter.add(seen, std::span(groups[ballots[row]]).first(seen.size()), counts);
    }
    replicates[r] = std::move(counts);
  });

  const std::vector<std::string> labels = labels_of(data, layout, shown);
  Goodness result;
  result.num_ballots = ballots.size();
  result.replicates = options.replicates;
  result.checks.push_back(judge("first places", 0, data.num_items(), observed, replicates, labels, options.max_worst));
  if (layout.num_pairs() > 0)
    result.checks.push_back(
        judge("pairs", layout.pairs_begin(), layout.lengths_begin(), observed, replicates, labels, options.max_worst));
  const DataTraits found = traits(data);
  if (found.min_length != found.max_length)
    result.checks.push_back(
        judge("ballot lengths", layout.lengths_begin(), layout.size(), observed, replicates, labels, options.max_worst));
  return result;
}

}  // namespace caucus
