#include "caucus/infer/dp_mallows/table.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"

namespace caucus::dp_mallows {

void VoterCodes::fill(Ballots ballots, const std::function<std::int32_t(Item)>& position, std::size_t num_stages) {
  sums.assign(num_stages, 0.0);
  counts.assign(num_stages, 0.0);
  codes_.resize(num_stages);
  for (const auto ranking : ballots) {
    codes(ranking, position, std::span(codes_));
    for (std::size_t j = 0; j < ranking.size(); ++j) sums[j] += codes_[j], counts[j] += 1.0;
  }
}

double log_voter(const VoterCodes& own, std::span<const double> prior, std::span<const double> sums, std::span<const double> counts,
                 double nu, StageCache* integrals) {
  double value = 0.0;
  for (std::size_t j = 0; j < own.counts.size() && own.counts[j] > 0.0; ++j) {
    const double a = prior[j] + sums[j], b = nu + counts[j];
    value += integrals != nullptr ? integrals->log_ratio(j, a, b, own.sums[j], own.counts[j])
                                  : log_beta_integral(a + own.sums[j], b + own.counts[j]) - log_beta_integral(a, b);
  }
  return value;
}

ClusterTable::ClusterTable(StageCache& cache, Method method, bool keeps_tables)
    : prior_(cache.prior()), method_(method), cache_(cache), num_items_(prior_.num_items()), num_stages_(prior_.num_stages()) {
  constexpr std::size_t little = 8192;  // numbers per slot
  std::size_t numbers = 0;
  for (std::size_t j = 0; j < num_stages_; ++j) numbers += 2 * prior_.stage_size(j);
  if (keeps_tables && num_items_ <= StageTables::most_items) stage_tables_.emplace(cache, method);
  keeps_own_ = method == Method::exact_gibbs && numbers <= little && !stage_tables_;
  scratch_codes_.resize(num_stages_);
  saved_constant_.resize(num_stages_);
  saved_predictive_.resize(num_stages_);
  code_block_.resize(std::max<std::size_t>(num_stages_, 1) * slot_block);
}

void ClusterTable::grow(std::size_t slots) {
  if (slots <= stride_) return;
  const std::size_t stride = (std::max(slots, stride_ * 3 / 2) + slot_block - 1) / slot_block * slot_block;
  const auto widen = [&](auto& table, std::size_t rows, auto fill) {
    std::remove_reference_t<decltype(table)> wide(rows * stride, fill);
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(row * stride_), stride_,
                  wide.begin() + static_cast<std::ptrdiff_t>(row * stride));
    table = std::move(wide);
  };
  widen(position_, num_items_, std::int16_t{0});
  widen(size_, 1, 0.0);
  widen(log_size_, 1, -infinity);
  widen(prior_a_, num_stages_, 1.0);
  widen(sums_, num_stages_, 0.0);
  widen(counts_, num_stages_, 0.0);
  if (method_ == Method::beta_gibbs) widen(constant_, num_stages_, 0.0);
  if (method_ == Method::slice_gibbs) widen(theta_, num_stages_, 0.0), widen(log_z_, num_stages_, 0.0);
  if (method_ == Method::exact_gibbs) widen(predictive_, num_stages_, static_cast<const double*>(nullptr));
  if (keeps_own_) {
    std::vector<std::unique_ptr<double[]>> wide(num_stages_ * stride);
    for (std::size_t j = 0; j < num_stages_; ++j)
      for (std::size_t slot = 0; slot < stride_; ++slot) wide[j * stride + slot] = std::move(own_[j * stride_ + slot]);
    own_ = std::move(wide);
  }
  scores_.resize(stride);
  if (stage_tables_) {
    stage_tables_->grow(stride);
    weighed_codes_.resize(stride * num_stages_);
  }
  stride_ = stride;
}

void ClusterTable::reset(std::size_t num_clusters) {
  free_.clear();
  grow(num_clusters);
  std::fill(size_.begin(), size_.end(), 0.0);
  std::fill(log_size_.begin(), log_size_.end(), -infinity);
  std::fill(prior_a_.begin(), prior_a_.end(), 1.0);
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(counts_.begin(), counts_.end(), 0.0);
  slots_ = num_clusters;
  cache_.trim();
}

void ClusterTable::set(std::size_t slot, const Cluster& cluster) {
  for (std::size_t item = 0; item < num_items_; ++item) position_[item * stride_ + slot] = cluster.center.position[item];
  size_[slot] = cluster.size;
  log_size_[slot] = cluster.size > 0.0 ? std::log(cluster.size) : -infinity;
  for (std::size_t j = 0; j < num_stages_; ++j) {
    const std::size_t at = j * stride_ + slot;
    prior_a_[at] = cluster.prior[j];
    sums_[at] = cluster.sums[j];
    counts_[at] = cluster.counts[j];
    if (method_ == Method::slice_gibbs) {
      theta_[at] = cluster.theta[j];
      log_z_[at] = log_stage_normalizer(cluster.theta[j], prior_.stage_size(j));
      if (stage_tables_) stage_tables_->set_theta(slot, j, theta_[at], log_z_[at]);
    }
  }
  refresh(slot, num_stages_);
}

Cluster ClusterTable::get(std::size_t slot) const {
  Cluster cluster;
  cluster.size = size_[slot];
  cluster.center.position.resize(num_items_);
  cluster.center.order.resize(num_items_);
  for (std::size_t item = 0; item < num_items_; ++item) {
    const std::int16_t position = position_[item * stride_ + slot];
    cluster.center.position[item] = position;
    cluster.center.order[static_cast<std::size_t>(position)] = static_cast<Item>(item);
  }
  for (std::size_t j = 0; j < num_stages_; ++j) {
    const std::size_t at = j * stride_ + slot;
    cluster.prior.push_back(prior_a_[at]);
    cluster.sums.push_back(sums_[at]);
    cluster.counts.push_back(counts_[at]);
    if (method_ == Method::slice_gibbs) cluster.theta.push_back(theta_[at]);
  }
  return cluster;
}

std::size_t ClusterTable::allocate() {
  if (!free_.empty()) {
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  grow(slots_ + 1);
  return slots_++;
}

void ClusterTable::release(std::size_t slot) {
  size_[slot] = 0.0;
  log_size_[slot] = -infinity;
  free_.push_back(static_cast<std::uint32_t>(slot));
}

void ClusterTable::refresh(std::size_t slot, std::size_t stages) {
  const double nu = prior_.nu();
  if (stage_tables_) {
    if (method_ == Method::slice_gibbs) return;
    for (std::size_t j = 0; j < stages; ++j) {
      const std::size_t at = j * stride_ + slot;
      stage_tables_->set(slot, j, prior_a_[at] + sums_[at], nu + counts_[at]);
    }
  } else if (method_ == Method::beta_gibbs) {
    for (std::size_t j = 0; j < stages; ++j) {
      const std::size_t at = j * stride_ + slot;
      const double a = prior_a_[at] + sums_[at], b = nu + counts_[at];
      constant_[at] = std::log(b + 1.0) - log_gamma_positive(a) + log_gamma_positive(a + b + 1.0) + b + 2.0;
    }
  } else if (method_ == Method::exact_gibbs) {
    for (std::size_t j = 0; j < stages; ++j) {
      const std::size_t at = j * stride_ + slot;
      double* own = nullptr;
      if (keeps_own_) {
        const std::size_t size = prior_.stage_size(j);
        if (!own_[at]) own_[at] = std::make_unique_for_overwrite<double[]>(2 * size);
        own = own_[at].get() + (predictive_[at] == own_[at].get() ? size : 0);  // the present one may come back
      }
      predictive_[at] = cache_.log_predictive(j, prior_a_[at] + sums_[at], nu + counts_[at], own);
    }
  }
}

void ClusterTable::shift(std::size_t slot, std::span<const Item> ranking, double sign) {
  codes(
      ranking, [&](Item item) { return static_cast<std::int32_t>(position_[static_cast<std::size_t>(item) * stride_ + slot]); },
      std::span(scratch_codes_));
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    sums_[j * stride_ + slot] += sign * scratch_codes_[j];
    counts_[j * stride_ + slot] += sign;
  }
  resize_slot(slot, sign);
}

void ClusterTable::resize_slot(std::size_t slot, double by) {
  size_[slot] += by;
  log_size_[slot] = size_[slot] > 0.0 ? std::log(size_[slot]) : -infinity;
}

void ClusterTable::shift_voter(std::size_t slot, Ballots ballots, double sign) {
  if (cache_.too_large()) {
    cache_.clear();
    for (std::size_t other = 0; other < slots_; ++other) refresh(other, num_stages_);
  }
  std::size_t longest = 0;
  for (const auto ranking : ballots) {
    shift(slot, ranking, sign);
    longest = std::max(longest, ranking.size());
  }
  resize_slot(slot, sign * (1.0 - static_cast<double>(ballots.size())));
  refresh(slot, longest);
}

double ClusterTable::log_prob(std::size_t slot, Ballots ballots, StageCache& integrals) const {
  VoterCodes own;
  own.fill(
      ballots, [&](Item item) { return static_cast<std::int32_t>(position_[static_cast<std::size_t>(item) * stride_ + slot]); },
      num_stages_);
  if (method_ == Method::slice_gibbs) {
    double value = 0.0;
    for (std::size_t j = 0; j < num_stages_; ++j)
      value -= theta_[j * stride_ + slot] * own.sums[j] + log_z_[j * stride_ + slot] * own.counts[j];
    return value;
  }
  std::vector<double> prior(num_stages_), sums(num_stages_), counts(num_stages_);
  for (std::size_t j = 0; j < num_stages_; ++j) {
    const std::size_t at = j * stride_ + slot;
    prior[j] = prior_a_[at], sums[j] = sums_[at], counts[j] = counts_[at];
  }
  return log_voter(own, prior, sums, counts, prior_.nu(), method_ == Method::beta_gibbs ? nullptr : &integrals);
}

std::span<double> ClusterTable::score_voter(Ballots ballots) {
  for (std::size_t slot = 0; slot < padded_slots(); ++slot)
    scores_[slot] = slot < slots_ && log_size_[slot] > -infinity ? log_size_[slot] + log_prob(slot, ballots, cache_) : -infinity;
  return {scores_.data(), padded_slots()};
}

void ClusterTable::add(std::size_t slot, std::span<const Item> ranking) {
  shift(slot, ranking, 1.0);
  refresh(slot, ranking.size());
}

void ClusterTable::remove(std::size_t slot, std::span<const Item> ranking) {
  if (cache_.too_large()) {  // drop every table and make those in use again
    cache_.clear();
    for (std::size_t other = 0; other < slots_; ++other) refresh(other, num_stages_);
  }
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    if (method_ == Method::beta_gibbs) saved_constant_[j] = constant_[j * stride_ + slot];
    if (method_ == Method::exact_gibbs) saved_predictive_[j] = predictive_[j * stride_ + slot];
  }
  shift(slot, ranking, -1.0);
  refresh(slot, ranking.size());
}

void ClusterTable::undo_remove(std::size_t slot, std::span<const Item> ranking) {
  shift(slot, ranking, 1.0);
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    if (method_ == Method::beta_gibbs) constant_[j * stride_ + slot] = saved_constant_[j];
    if (method_ == Method::exact_gibbs) predictive_[j * stride_ + slot] = saved_predictive_[j];
  }
}

std::span<double> ClusterTable::weigh(std::span<const Item> ranking, std::size_t own) {
  const std::size_t stages = ranking.size(), padded = padded_slots();
  slot_codes(position_.data(), stride_, padded, ranking.data(), stages, weighed_codes_.data());
  std::fill_n(scores_.begin(), padded, 0.0);
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    if (!(size_[slot] > 0.0)) continue;
    const std::int16_t* const code = weighed_codes_.data() + code_place(slot, stages);
    double weight = size_[slot];
    if (slot == own) {
      weight -= 1.0;
      for (std::size_t j = 0; j < stages && weight > 0.0; ++j)
        weight *= stage_tables_->among(slot, j, static_cast<std::size_t>(code[j * slot_block]));
    } else {
      const double* const table = stage_tables_->next(slot);
      for (std::size_t j = 0; j < stages; ++j)
        weight *= table[stage_tables_->first(j) + static_cast<std::size_t>(code[j * slot_block])];
    }
    scores_[slot] = weight;
  }
  return {scores_.data(), padded};
}

void ClusterTable::shift_weighed(std::span<const Item> ranking, std::size_t slot, double sign) {
  const std::int16_t* const code = weighed_codes_.data() + code_place(slot, ranking.size());
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    const std::int16_t s = code[j * slot_block];
    sums_[j * stride_ + slot] += sign * s;
    counts_[j * stride_ + slot] += sign;
    stage_tables_->shift(slot, j, static_cast<std::size_t>(s), sign);
  }
  resize_slot(slot, sign);
}

std::span<double> ClusterTable::score(std::span<const Item> ranking, double floor) {
  score_into(ranking, code_block_, scores_, floor);
  return {scores_.data(), padded_slots()};
}

void ClusterTable::score_into(std::span<const Item> ranking, std::span<std::int16_t> codes, std::span<double> out,
                              double floor) const {
  const ScoreTable table{.slots = slots_,
                         .stride = stride_,
                         .position = position_.data(),
                         .log_size = log_size_.data(),
                         .prior = prior_a_.data(),
                         .sums = sums_.data(),
                         .counts = counts_.data(),
                         .constant = constant_.data(),
                         .nu = prior_.nu(),
                         .floor = floor,
                         .theta = theta_.data(),
                         .log_z = log_z_.data(),
                         .predictive = predictive_.data()};
  const ScoreKind kind = method_ == Method::beta_gibbs    ? ScoreKind::beta
                         : method_ == Method::slice_gibbs ? ScoreKind::slice
                                                          : ScoreKind::exact;
  score_slots(kind, table, ranking.data(), ranking.size(), codes.data(), out.data());
}

}  // namespace caucus::dp_mallows
