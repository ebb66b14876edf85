#include "caucus/model/mallows_subset.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/model/stage.h"

namespace caucus {

namespace {

// A number and its derivative by theta: enough for all but the unlikeliest ballots.
struct Dual {
  double value = 0.0, slope = 0.0;

  static Dual from_log(double log_value, double log_slope) {
    const double value = std::exp(log_value);
    return {value, value * log_slope};
  }
  void operator+=(Dual other) { value += other.value, slope += other.slope; }
  friend Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.value * b.slope + a.slope * b.value}; }
  LogProbability log() const { return {std::log(value), slope / value}; }
  bool precise() const { return value > 1e-280; }
};

// The same by logarithms: slower, and never underflows.
struct LogDual {
  double log_value = -infinity, log_slope = 0.0;

  static LogDual from_log(double log_value, double log_slope) { return {log_value, log_slope}; }
  void operator+=(LogDual other) {
    if (other.log_value > log_value) std::swap(*this, other);
    if (!(other.log_value > -infinity)) return;
    const double ratio = std::exp(other.log_value - log_value), share = ratio / (1.0 + ratio);
    log_value += std::log1p(ratio);
    log_slope += share * (other.log_slope - log_slope);
  }
  friend LogDual operator*(LogDual a, LogDual b) { return {a.log_value + b.log_value, a.log_slope + b.log_slope}; }
  LogProbability log() const { return {log_value, log_slope}; }
  bool precise() const { return true; }
};

template <class Number>
struct StageTables {
  std::vector<Number> power, z, inverse_z;  // q^m, Z_m, 1 / Z_m

  StageTables(double theta, std::size_t num_items) {
    for (std::size_t m = 0; m <= num_items; ++m) {
      power.push_back(Number::from_log(-theta * static_cast<double>(m), -static_cast<double>(m)));
      const double log_z = m == 0 ? 0.0 : log_stage_normalizer(theta, m), mean = m == 0 ? 0.0 : stage_mean(theta, m);
      z.push_back(Number::from_log(log_z, -mean));
      inverse_z.push_back(Number::from_log(-log_z, mean));
    }
  }
};

// The recursion of the header. P(remaining listed items L, counts r) = (1/Z_R) [ sum_b q^{v_b} Z_{r_b} P(L, r - e_b) + sum_x
// q^{v_x} P(L - x, r) ], R items remaining, v = those the center puts before the chosen one, b over blocks, x over the remaining
// items of the best group of L. Blocks outside the interval of L do not matter and are dropped; where L is one tie-group, P = 1.
template <class Number>
class Recursion {
 public:
  Recursion(const ListedItems& listed, const StageTables<Number>& stages)
      : listed_(listed), stages_(stages), members_(1 + *std::max_element(listed.group.begin(), listed.group.end())) {
    for (std::size_t x = 0; x < listed.group.size(); ++x) members_[listed.group[x]].push_back(x);
  }

  // P for all counts up to `between`, the last fastest: the last one is that of the ballot.
  std::vector<Number> run() {
    std::vector<std::uint8_t> remains(listed_.group.size(), 0);
    for (std::size_t x : members_.back()) remains[x] = 1;
    Level after;
    for (std::size_t g = members_.size() - 1; g-- > 0;) {
      const std::vector<std::size_t>& group = members_[g];
      std::vector<Level> levels(std::size_t{1} << group.size());
      levels[0] = std::move(after);
      for (std::size_t mask = 1; mask < levels.size(); ++mask) {
        std::vector<Choice> choices;
        for (std::size_t i = 0; i < group.size(); ++i) {
          remains[group[i]] = (mask >> i) & 1;
          if (remains[group[i]]) choices.push_back({group[i], &levels[mask ^ (std::size_t{1} << i)]});
        }
        levels[mask] = fill(remains, choices);
      }
      after = std::move(levels.back());
    }
    return std::move(after.value);
  }

 private:
  struct Level {
    std::size_t low = 0, high = 0;  // blocks low .. high - 1
    std::vector<Number> value{Number::from_log(0.0, 0.0)};
  };
  struct Choice {
    std::size_t item;
    const Level* next;
  };

  std::size_t index(const Level& level, const std::vector<std::uint32_t>& count) const {
    std::size_t at = 0;
    for (std::size_t b = level.low; b < level.high; ++b) at = at * (listed_.between[b] + 1) + count[b];
    return at;
  }

  Level fill(const std::vector<std::uint8_t>& remains, const std::vector<Choice>& choices) const {
    const std::size_t size = remains.size();
    Level level;
    while (remains[level.low] == 0) ++level.low;
    for (level.high = size - 1; remains[level.high] == 0;) --level.high;
    std::vector<std::size_t> listed_before(size + 1, 0), stride(size, 1);  // remaining listed items before x in the center
    for (std::size_t x = 0; x < size; ++x) listed_before[x + 1] = listed_before[x] + remains[x];
    std::size_t states = 1;
    for (std::size_t b = level.high; b-- > level.low;) stride[b] = states, states *= listed_.between[b] + 1;
    level.value.assign(states, Number{});
    std::vector<std::uint32_t> count(size, 0);
    for (std::size_t state = 0;; ++state) {
      Number total{};
      std::size_t before = 0;  // unlisted items in the blocks passed
      auto choice = choices.begin();
      for (std::size_t b = level.low; b <= level.high; ++b) {
        if (choice != choices.end() && choice->item == b) {
          total += stages_.power[before + listed_before[b]] * choice->next->value[index(*choice->next, count)];
          ++choice;
        }
        if (b == level.high) break;
        if (count[b] > 0)
          total += stages_.power[before + listed_before[b + 1]] * stages_.z[count[b]] * level.value[state - stride[b]];
        before += count[b];
      }
      level.value[state] = total * stages_.inverse_z[before + listed_before[size]];
      std::size_t b = level.high;
      while (b > level.low && count[b - 1] == listed_.between[b - 1]) count[--b] = 0;
      if (b == level.low) return level;
      ++count[b - 1];
    }
  }

  const ListedItems& listed_;
  const StageTables<Number>& stages_;
  std::vector<std::vector<std::size_t>> members_;
};

// The table of a strict order of two or three items; the others share one that stays empty.
std::size_t table_of(const std::vector<std::uint32_t>& group) {
  if (group.size() == 2 && group[0] != group[1]) return group[0];
  if (group.size() == 3 && group[0] + group[1] + group[2] == 3 && group[0] != group[1]) return 2 + 3 * group[0] + group[1];
  return 10;
}

// Without a strict pair every ranking agrees.
bool certain(const ListedItems& listed) {
  return std::all_of(listed.group.begin(), listed.group.end(), [](std::uint32_t g) { return g == 0; });
}

}  // namespace

void ListedItems::assign(RankingView ballot, std::span<const std::uint32_t> position) {
  sorted_.clear();
  std::uint32_t number = 0;
  for (std::size_t j = 0; j < ballot.size(); ++j) {
    sorted_.emplace_back(position[ballot[j]], number);
    number += ballot.ends_group(j);
  }
  std::sort(sorted_.begin(), sorted_.end());
  group.resize(sorted_.size());
  between.resize(sorted_.empty() ? 0 : sorted_.size() - 1);
  for (std::size_t x = 0; x < sorted_.size(); ++x) {
    group[x] = sorted_[x].second;
    if (x > 0) between[x - 1] = sorted_[x].first - sorted_[x - 1].first - 1;
  }
}

double subset_states(const ListedItems& listed) {
  const std::size_t size = listed.group.size();
  if (certain(listed)) return 1.0;
  const std::uint32_t last = *std::max_element(listed.group.begin(), listed.group.end());
  // From the last group up, the interval of what remains grows; inside a group it is bounded by that of the whole group.
  double states = 1.0;
  for (std::uint32_t g = 0; g < last; ++g) {
    std::size_t low = size, high = 0, members = 0;
    for (std::size_t x = 0; x < size; ++x)
      if (listed.group[x] >= g) low = std::min(low, x), high = x, members += listed.group[x] == g;
    double box = members > 30 ? infinity : std::exp2(static_cast<double>(members)) - 1.0;
    for (std::size_t b = low; b < high; ++b) box *= listed.between[b] + 1.0;
    states += box;
  }
  return states;
}

double most_subset_states(std::size_t size, std::size_t num_items) {
  if (size < 2) return 1.0;
  const double blocks = static_cast<double>(size - 1);
  return 1.0 + blocks * std::pow(static_cast<double>(num_items - size) / blocks + 1.0, blocks);
}

struct SubsetProbabilities::Stages : StageTables<Dual> {
  using StageTables::StageTables;
};

SubsetProbabilities::SubsetProbabilities(double theta, std::size_t num_items)
    : num_items_(num_items), theta_(theta), stages_(std::make_shared<const Stages>(theta, num_items)) {}

void SubsetProbabilities::prepare(std::size_t size) {
  if (size > num_items_ || !(size == 2 || (size == 3 && num_items_ <= 300))) return;
  // Room for any counts: more items than there are.
  const StageTables<Dual> stages(theta_, size + (size - 1) * (num_items_ - size));
  ListedItems all;
  all.group.resize(size);
  all.between.assign(size - 1, static_cast<std::uint32_t>(num_items_ - size));
  std::iota(all.group.begin(), all.group.end(), 0u);
  do {
    std::vector<LogProbability>& table = tables_[table_of(all.group)];
    table.clear();
    for (const Dual& entry : Recursion(all, stages).run())
      table.push_back(entry.precise() ? entry.log() : LogProbability{-infinity, 0.0});
  } while (std::next_permutation(all.group.begin(), all.group.end()));
}

LogProbability SubsetProbabilities::operator()(const ListedItems& listed) const {
  if (certain(listed)) return {};
  if (const auto& table = tables_[table_of(listed.group)]; !table.empty()) {
    std::size_t at = 0;
    for (std::uint32_t count : listed.between) at = at * (num_items_ - listed.group.size() + 1) + count;
    if (table[at].value > -infinity) return table[at];
  } else if (const Dual result = Recursion<Dual>(listed, *stages_).run().back(); result.precise()) {
    return result.log();
  }
  return Recursion(listed, StageTables<LogDual>(theta_, num_items_)).run().back().log();
}

}  // namespace caucus
