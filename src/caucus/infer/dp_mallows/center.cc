#include "caucus/infer/dp_mallows/center.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"

namespace caucus::dp_mallows {

namespace {
constexpr std::size_t block_size = 16;
constexpr double negligible_gain = 50.0;
}  // namespace

void set_order(Center& center, std::span<const Item> order) {
  center.order.assign(order.begin(), order.end());
  center.position.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) center.position[static_cast<std::size_t>(order[k])] = static_cast<std::int16_t>(k);
}

void sample_uniform(std::size_t num_items, Center& center, RandomStream& rng) {
  std::vector<Item> order(num_items);
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(std::span(order));
  set_order(center, order);
}

void sample_sigma_n1(std::span<const Item> ranking, std::size_t num_items, std::span<const std::vector<double>> cumulative,
                     Center& center, RandomStream& rng) {
  std::vector<Item> order(num_items, -1);
  std::vector<std::size_t> taken;  // ascending
  std::vector<std::uint8_t> listed(num_items, 0);
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    const std::vector<double>& f = cumulative[j];
    const double u = rng.uniform() * f.back();
    const auto v = static_cast<std::size_t>(std::upper_bound(f.begin(), f.end() - 1, u) - f.begin());
    // The (v + 1)-th position not yet taken.
    std::size_t position = v;
    auto place = taken.begin();
    for (; place != taken.end() && *place <= position; ++place) ++position;
    taken.insert(place, position);
    order[position] = ranking[j];
    listed[static_cast<std::size_t>(ranking[j])] = 1;
  }
  std::vector<Item> rest;
  for (std::size_t item = 0; item < num_items; ++item)
    if (listed[item] == 0) rest.push_back(static_cast<Item>(item));
  rng.shuffle(std::span(rest));
  std::size_t next = 0;
  for (Item& item : order)
    if (item < 0) item = rest[next++];
  set_order(center, order);
}

void PlaceCounts::clear(std::size_t stages, std::size_t items) {
  stages_ = stages, items_ = items;
  own_.assign(stages * items, 0.0);
  before_.assign(stages * items * items, 0.0);
}

void PlaceCounts::add(std::span<const std::uint32_t> row, double weight) {
  for (std::size_t j = 0; j < row.size(); ++j) {
    const std::size_t at = j * items_ + row[j];
    own_[at] += weight;
    for (std::size_t p = 0; p < j; ++p) before_[at * items_ + row[p]] += weight;
  }
}

void PlaceCounts::weigh(std::span<const double> theta, std::span<double> own, std::span<double> before) const {
  std::ranges::fill(own, 0.0);
  std::ranges::fill(before, 0.0);
  for (std::size_t j = 0; j < std::min(stages_, theta.size()); ++j) {
    for (std::size_t x = 0; x < items_; ++x) own[x] += theta[j] * own_[j * items_ + x];
    const double* const of_stage = before_.data() + j * items_ * items_;
    for (std::size_t k = 0; k < items_ * items_; ++k) before[k] += theta[j] * of_stage[k];
  }
}

void PlaceCounts::statistics(std::span<const std::int32_t> order, std::span<double> sums, std::span<double> counts) const {
  for (std::size_t j = 0; j < stages_; ++j)
    for (std::size_t place = 0; place < order.size(); ++place) {
      if (order[place] < 0) continue;
      const std::size_t at = j * items_ + static_cast<std::size_t>(order[place]);
      counts[j] += own_[at];
      sums[j] += own_[at] * static_cast<double>(place);
      for (std::size_t q = 0; q < place; ++q)
        if (order[q] >= 0) sums[j] -= before_[at * items_ + static_cast<std::size_t>(order[q])];
    }
}

void CenterSampler::load(const Points& points, std::span<const Member> members, std::span<const Item> prior, double prior_weight) {
  if (num_items_ != points.num_items) {
    num_items_ = points.num_items;
    local_.assign(num_items_, -1);
  } else {
    for (Item item : listed_) local_[static_cast<std::size_t>(item)] = -1;
  }
  listed_.clear();
  num_members_ = members.size();
  row_offsets_.assign(1, 0);
  row_items_.clear();
  row_weights_.clear();
  weighed_.clear();
  std::size_t longest = 0, pairs = 0;
  const auto meet = [&](std::span<const Item> ranking) {
    for (Item item : ranking) {
      std::int32_t& number = local_[static_cast<std::size_t>(item)];
      if (number < 0) {
        number = static_cast<std::int32_t>(listed_.size());
        listed_.push_back(item);
      }
    }
    longest = std::max(longest, ranking.size());
    pairs += ranking.size() * ranking.size() / 2;
  };
  const auto add_row = [&](std::span<const Item> ranking, double weight) {
    for (Item item : ranking) row_items_.push_back(static_cast<std::uint32_t>(local_[static_cast<std::size_t>(item)]));
    row_offsets_.push_back(static_cast<std::uint32_t>(row_items_.size()));
    row_weights_.push_back(weight);
  };
  for (const Member& member : members) meet(points[member.ranking]);
  const bool informed = !prior.empty() && prior_weight > 0.0;
  if (informed) meet(prior);
  unlisted_.clear();
  for (std::size_t item = 0; item < num_items_; ++item)
    if (local_[item] < 0) unlisted_.push_back(static_cast<Item>(item));

  counted_ = longest * listed_.size() * listed_.size() <= pairs;  // else the members are fewer than the counts
  if (counted_) {
    counts_.clear(longest, listed_.size());
    for (const Member& member : members) {
      row_items_.clear();
      for (Item item : points[member.ranking])
        row_items_.push_back(static_cast<std::uint32_t>(local_[static_cast<std::size_t>(item)]));
      counts_.add(row_items_, member.weight);
    }
    row_items_.clear();
  } else {
    for (const Member& member : members) add_row(points[member.ranking], member.weight);
  }
  if (informed) add_row(prior, prior_weight);
  num_rows_ = row_weights_.size();
  if (!counted_) index_occurrences();
}

void CenterSampler::index_occurrences() {
  occurrence_offsets_.assign(listed_.size() + 1, 0);
  for (const std::uint32_t item : row_items_) ++occurrence_offsets_[item];
  // Counts to starts, then fill.
  std::uint32_t sum = 0;
  for (std::uint32_t& count : occurrence_offsets_) {
    const std::uint32_t here = count;
    count = sum;
    sum += here;
  }
  occurrences_.resize(sum);
  for (std::size_t row = 0; row < num_rows_; ++row)
    for (std::uint32_t k = row_offsets_[row]; k < row_offsets_[row + 1]; ++k)
      occurrences_[occurrence_offsets_[row_items_[k]]++] = {static_cast<std::uint32_t>(row), k - row_offsets_[row]};
  for (std::size_t item = listed_.size(); item > 0; --item) occurrence_offsets_[item] = occurrence_offsets_[item - 1];
  occurrence_offsets_[0] = 0;
}

// The counts and the prior's row at theta.
void CenterSampler::weigh(std::span<const double> theta) {
  if (std::ranges::equal(weighed_, theta)) return;
  const std::size_t items = listed_.size();
  weighed_.assign(theta.begin(), theta.end());
  own_.resize(items);
  before_.resize(items * items);
  counts_.weigh(theta, own_, before_);
  for (std::size_t j = 0; j < row_items_.size(); ++j) {
    const double cost = row_weights_[0] * theta[j];
    own_[row_items_[j]] += cost;
    for (std::size_t p = 0; p < j; ++p) before_[row_items_[j] * items + row_items_[p]] += cost;
  }
}

double CenterSampler::start_counted(std::span<const double> theta) {
  weigh(theta);
  const std::size_t items = listed_.size();
  std::ranges::copy(own_, gain_.begin());
  double remaining = 0.0;
  for (std::size_t x = 0; x < items; ++x) {
    remaining += own_[x];
    for (std::size_t k = 0; k < items; ++k) gain_[k] += before_[x * items + k];
  }
  return remaining;
}

// Fills U, the gain of every item, and answers the theta of all stages whose item is still to be placed.
double CenterSampler::start(std::span<const double> theta) {
  const std::size_t blocks = (listed_.size() + block_size - 1) / block_size;
  block_max_.assign(blocks, 0.0);
  block_sum_.assign(blocks, 0.0);
  dirty_.assign(blocks, 1);
  gain_.assign(blocks * block_size, -infinity);
  std::fill_n(gain_.begin(), listed_.size(), 0.0);
  if (counted_) return start_counted(theta);
  total_theta_.assign(theta.size() + 1, 0.0);
  for (std::size_t j = 0; j < theta.size(); ++j) total_theta_[j + 1] = total_theta_[j] + theta[j];
  double remaining = 0.0;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    const std::size_t begin = row_offsets_[row], length = row_offsets_[row + 1] - begin;
    remaining += row_weights_[row] * total_theta_[length];
    for (std::size_t p = 0; p < length; ++p)
      gain_[row_items_[begin + p]] += row_weights_[row] * (total_theta_[length] - total_theta_[p]);
  }
  return remaining;
}

// Takes item x, which is placed, out of the gains of those before it; answers what theta it had.
double CenterSampler::place(std::size_t x, std::span<const double> theta) {
  if (counted_) {
    const double* const row = before_.data() + x * listed_.size();
    for (std::size_t k = 0; k < listed_.size(); ++k) gain_[k] -= row[k];
    std::ranges::fill(dirty_, std::uint8_t{1});
    gain_[x] = -infinity;
    return own_[x];
  }
  double placed = 0.0;
  for (std::uint32_t o = occurrence_offsets_[x]; o < occurrence_offsets_[x + 1]; ++o) {
    const auto [row, stage] = occurrences_[o];
    const double loss = row_weights_[row] * theta[stage];
    placed += loss;
    const std::uint32_t* items = row_items_.data() + row_offsets_[row];
    for (std::uint32_t p = 0; p < stage; ++p) {
      gain_[items[p]] -= loss;
      dirty_[items[p] / block_size] = 1;
    }
  }
  gain_[x] = -infinity;
  dirty_[x / block_size] = 1;
  return placed;
}

void CenterSampler::refresh_blocks() {
  for (std::size_t block = 0; block < dirty_.size(); ++block) {
    if (dirty_[block] == 0) continue;
    dirty_[block] = 0;
    const double* gain = gain_.data() + block * block_size;
    double largest = -infinity;
    for (std::size_t k = 0; k < block_size; ++k) largest = std::max(largest, gain[k]);
    double total = 0.0;
    if (largest > -infinity)
      for (std::size_t k = 0; k < block_size; ++k)
        if (gain[k] > largest - negligible_gain) total += std::exp(gain[k] - largest);
    block_max_[block] = largest;
    block_sum_[block] = total;
  }
}

// Places items one by one. choose(log normaliser, maximum, unlisted left) answers a local number, or -1 for an
// unlisted item. Returns the sum of the log stage normalisers, sum over x of e^(-column sum); last_log_q_ is the log
// probability of the choices.
template <class Choose>
double CenterSampler::run_stages(std::span<const double> theta, Choose&& choose) {
  double remaining = start(theta);  // column sum of x = remaining - gain of x
  double log_sum = 0.0;
  last_log_q_ = 0.0;
  std::size_t left = listed_.size(), unlisted = unlisted_.size();
  while (left > 0) {
    if (++stages_run_ % 256 == 0 && stop_ && stop_()) throw Stopped{};
    refresh_blocks();
    double largest = unlisted > 0 ? 0.0 : -infinity;
    for (double value : block_max_) largest = std::max(largest, value);
    double total = static_cast<double>(unlisted) * std::exp(-largest);
    if (unlisted == 0) total = 0.0;
    for (std::size_t block = 0; block < block_max_.size(); ++block)
      if (block_max_[block] > largest - negligible_gain) total += block_sum_[block] * std::exp(block_max_[block] - largest);
    const double log_total = largest + std::log(total);
    log_sum += log_total - remaining;
    last_log_q_ -= log_total;
    const std::int64_t chosen = choose(total, largest, unlisted);
    if (chosen < 0) {
      // Rounding is taken care of; only gains that are no numbers leave nothing to choose, and then there would be no end.
      if (unlisted == 0) throw DataError("a dispersion or a prior strength is so large that a central ranking cannot be drawn");
      --unlisted;
      continue;
    }
    const auto x = static_cast<std::size_t>(chosen);
    --left;
    last_log_q_ += gain_[x];
    remaining -= place(x, theta);
  }
  // The rest is a uniform order of the unlisted.
  for (; unlisted > 0; --unlisted) {
    log_sum += std::log(static_cast<double>(unlisted));
    last_log_q_ -= std::log(static_cast<double>(unlisted));
  }
  return log_sum;
}

double CenterSampler::sample_stagewise(std::span<const double> theta, Center& center, RandomStream& rng) {
  std::vector<Item>& rest = spare_;
  rest = unlisted_;
  rng.shuffle(std::span(rest));
  std::size_t next_rest = 0;
  center.order.clear();
  center.order.reserve(num_items_);
  const double log_sum = run_stages(theta, [&](double total, double largest, std::size_t unlisted) -> std::int64_t {
    double u = rng.uniform() * total;
    std::int64_t chosen = -1;
    double best = -infinity;
    for (std::size_t block = 0; block < block_max_.size(); ++block) {
      if (!(block_max_[block] > largest - negligible_gain)) continue;
      const double mass = block_sum_[block] * std::exp(block_max_[block] - largest);
      if (u >= mass) {
        u -= mass;
        continue;
      }
      for (std::size_t k = block * block_size; k < (block + 1) * block_size; ++k) {
        if (!(gain_[k] > block_max_[block] - negligible_gain)) continue;
        chosen = static_cast<std::int64_t>(k);
        u -= std::exp(gain_[k] - largest);
        if (u < 0.0) break;
      }
      break;
    }
    if (chosen < 0 && unlisted == 0) {  // rounding only: the largest
      for (std::size_t k = 0; k < gain_.size(); ++k)
        if (gain_[k] > best) best = gain_[k], chosen = static_cast<std::int64_t>(k);
    }
    center.order.push_back(chosen >= 0 ? listed_[static_cast<std::size_t>(chosen)] : rest[next_rest++]);
    return chosen;
  });
  while (next_rest < rest.size()) center.order.push_back(rest[next_rest++]);
  center.position.resize(num_items_);
  for (std::size_t k = 0; k < num_items_; ++k)
    center.position[static_cast<std::size_t>(center.order[k])] = static_cast<std::int16_t>(k);
  return log_sum;
}

double CenterSampler::log_stage_normalizers(std::span<const double> theta, const Center& center) {
  std::size_t next = 0;
  return run_stages(
      theta, [&](double, double, std::size_t) -> std::int64_t { return local_[static_cast<std::size_t>(center.order[next++])]; });
}

double CenterSampler::log_density(std::span<const double> theta, const Center& center) {
  log_stage_normalizers(theta, center);
  return last_log_q_;
}

bool CenterSampler::metropolis_stagewise(std::span<const double> theta, Center& center, RandomStream& rng) {
  const double current = log_stage_normalizers(theta, center);
  const double proposed = sample_stagewise(theta, proposal_, rng);
  if (std::log(rng.uniform_open()) >= proposed - current) return false;
  std::swap(center, proposal_);
  return true;
}

// Of b before a, both listed: cost(a before b) - cost(b before a), less what both cost anywhere. P(x, y) = theta at x's stages in
// the rows that list y before x.
double CenterSampler::log_odds_of_swap(std::size_t a, std::size_t b, std::span<const double> theta) const {
  if (counted_) return before_[a * listed_.size() + b] - before_[b * listed_.size() + a];
  const auto count = [&](std::size_t x) { return occurrence_offsets_[x + 1] - occurrence_offsets_[x]; };
  const bool from_a = count(a) <= count(b);
  const auto x = from_a ? a : b, y = from_a ? b : a;
  double x_after_y = 0.0, y_after_x = 0.0;
  for (std::uint32_t o = occurrence_offsets_[x]; o < occurrence_offsets_[x + 1]; ++o) {
    const auto [row, stage] = occurrences_[o];
    const std::uint32_t* items = row_items_.data() + row_offsets_[row];
    const std::uint32_t length = row_offsets_[row + 1] - row_offsets_[row];
    for (std::uint32_t p = 0; p < length; ++p) {
      if (items[p] != y) continue;
      if (p < stage)
        x_after_y += row_weights_[row] * theta[stage];
      else
        y_after_x += row_weights_[row] * theta[p];
      break;
    }
  }
  return from_a ? x_after_y - y_after_x : y_after_x - x_after_y;
}

void CenterSampler::swap_adjacent(std::span<const double> theta, Center& center, RandomStream& rng) {
  // D(x) = sum of theta at x's stages; the cost of a before b is D(b) - P(b, a).
  if (counted_) {
    weigh(theta);
    gain_ = own_;
  } else {
    gain_.assign(listed_.size(), 0.0);
    for (std::size_t x = 0; x < listed_.size(); ++x)
      for (std::uint32_t o = occurrence_offsets_[x]; o < occurrence_offsets_[x + 1]; ++o)
        gain_[x] += row_weights_[occurrences_[o].row] * theta[occurrences_[o].stage];
  }
  for (std::size_t k = 0; k + 1 < num_items_; ++k) {
    const std::int32_t a = local_[static_cast<std::size_t>(center.order[k])];
    const std::int32_t b = local_[static_cast<std::size_t>(center.order[k + 1])];
    if (a < 0 && b < 0) continue;
    double log_odds = (b >= 0 ? gain_[static_cast<std::size_t>(b)] : 0.0) - (a >= 0 ? gain_[static_cast<std::size_t>(a)] : 0.0);
    if (a >= 0 && b >= 0) log_odds += log_odds_of_swap(static_cast<std::size_t>(a), static_cast<std::size_t>(b), theta);
    // log_odds = cost(a before b) - cost(b before a): the log odds of b before a.
    if (rng.uniform() < 1.0 / (1.0 + std::exp(-log_odds))) std::swap(center.order[k], center.order[k + 1]);
  }
  spare_ = unlisted_;
  rng.shuffle(std::span(spare_));
  std::size_t next = 0;
  for (std::size_t k = 0; k < num_items_; ++k) {
    if (local_[static_cast<std::size_t>(center.order[k])] < 0) center.order[k] = spare_[next++];
    center.position[static_cast<std::size_t>(center.order[k])] = static_cast<std::int16_t>(k);
  }
}

void CenterSampler::statistics(const Center& center, std::span<double> sums, std::span<double> counts) const {
  std::fill(sums.begin(), sums.end(), 0.0);
  std::fill(counts.begin(), counts.end(), 0.0);
  if (counted_) {
    local_order_.resize(num_items_);
    for (std::size_t k = 0; k < num_items_; ++k) local_order_[k] = local_[static_cast<std::size_t>(center.order[k])];
    counts_.statistics(local_order_, sums, counts);
    return;
  }
  for (std::size_t row = 0; row < num_members_; ++row) {
    const std::uint32_t* items = row_items_.data() + row_offsets_[row];
    const std::size_t length = row_offsets_[row + 1] - row_offsets_[row];
    for (std::size_t j = 0; j < length; ++j) {
      const int own = center.position[static_cast<std::size_t>(listed_[items[j]])];
      int s = own;
      for (std::size_t q = 0; q < j; ++q) s -= center.position[static_cast<std::size_t>(listed_[items[q]])] < own ? 1 : 0;
      sums[j] += row_weights_[row] * s;
      counts[j] += row_weights_[row];
    }
  }
}

}  // namespace caucus::dp_mallows
