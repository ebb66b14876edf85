#include "caucus/infer/pl_mixture/gibbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/binomial_distribution.hpp>
#include <cmath>

#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/infer/chains.h"
#include "caucus/infer/pl_mixture/log_buffer.h"
#include "caucus/infer/pl_mixture/thread_limits.h"
#include "caucus/model/assignment.h"

namespace caucus::pl_mixture {

namespace {

constexpr std::uint64_t streams_per_sweep = 4096;

struct Counts {
  std::vector<double> wins, time;  // [k * n + i]: choices of i; waiting time while i was there
  std::vector<double> size;        // [k]: voters
  std::vector<double> everyone;    // [k]: waiting time of whole ballots whose rest is unlisted
};

// Exponential draws, two from each 64-bit word, logarithms taken for a few hundred at once.
class Exponentials {
 public:
  explicit Exponentials(RandomStream& random) : random_(random) {}
  double operator()() {
    if (used_ == size) refill();
    return buffer_[used_++];
  }

 private:
  static constexpr std::size_t size = 512;
  void refill() {
    for (std::size_t i = 0; i < size; i += 2) {
      const std::uint64_t word = random_();
      buffer_[i] = (static_cast<double>(static_cast<std::uint32_t>(word)) + 0.5) * 0x1p-32;
      buffer_[i + 1] = (static_cast<double>(static_cast<std::uint32_t>(word >> 32)) + 0.5) * 0x1p-32;
    }
    negative_logs(buffer_, size);
    used_ = 0;
  }
  RandomStream& random_;
  alignas(64) double buffer_[size];
  std::size_t used_ = size;
};

template <class Item>
class BlockSweep {
 public:
  BlockSweep(const Batch& batch, const Buffer<Item>& items, const GibbsState& state, const std::vector<double>& posterior,
             RandomStream random, Counts& counts)
      : batch_(batch),
        items_(items),
        state_(state),
        posterior_(posterior),
        random_(random),
        exponential_(random_),
        counts_(counts),
        num_(state.weights.size()),
        n_(batch.num_items) {
    for (std::size_t k = 0; k < num_; ++k) totals_.push_back(sum(std::span(state.worths).subspan(k * n_, n_)));
    left_.resize(std::max<std::size_t>(batch.max_length, n_) + 1);
    mark_.resize(n_);
  }

  // How many of those who cast each ranking belong to each component, K numbers per ranking.
  void run_counted(std::size_t begin, std::size_t end, std::span<const double> members) {
    for (const Batch::Group& group : batch_.groups)
      for (std::size_t r = std::max(begin, group.first); r < std::min(end, group.first + group.count); ++r)
        for (std::size_t k = 0; k < num_; ++k)
          if (const double here = members[batch_.source[r] * num_ + k]; here > 0.0)
            add(items_.data() + group.begin + (r - group.first) * group.length, group, k, here);
  }

  void run(std::size_t begin, std::size_t end) {
    for (const Batch::Group& group : batch_.groups) {
      for (std::size_t r = std::max(begin, group.first); r < std::min(end, group.first + group.count); ++r) {
        const Item* items = items_.data() + group.begin + (r - group.first) * group.length;
        const double weight = batch_.weights[r];
        if (weight == 1.0) {
          add(items, group, member(r), 1.0);
          continue;
        }
        // How many of the voters belong to each component.
        double left = weight, mass = 1.0;
        for (std::size_t k = 0; k < num_ && left > 0.0; ++k) {
          const double p = posterior_[r * num_ + k];
          double here = left;
          if (k + 1 < num_ && mass > p)
            here = static_cast<double>(boost::random::binomial_distribution<std::int64_t>(static_cast<std::int64_t>(left),
                                                                                          std::clamp(p / mass, 0.0, 1.0))(random_));
          if (here > 0.0) add(items, group, k, here);
          left -= here;
          mass -= p;
        }
      }
    }
  }

 private:
  std::size_t member(std::size_t r) {
    if (num_ == 1) return 0;
    double u = random_.uniform();
    const double* p = &posterior_[r * num_];
    for (std::size_t k = 0; k + 1 < num_; ++k)
      if ((u -= p[k]) < 0.0) return k;
    // Rounding only; the last component may have no share.
    std::size_t last = num_ - 1;
    while (last > 0 && !(p[last] > 0.0)) --last;
    return last;
  }

  void add(const Item* items, const Batch::Group& group, std::size_t k, double voters) {
    const double* worths = &state_.worths[k * n_];
    double rest = 0.0;
    bool rest_is_light = false;
    if (group.implicit) {
      double listed = 0.0;
      for (std::size_t p = 0; p < group.stages; ++p) listed += worths[items[p]];
      rest = totals_[k] - listed;
      rest_is_light = rest < 1e-4 * totals_[k];
      if (rest_is_light) {
        std::ranges::fill(mark_, 0);
        for (std::size_t p = 0; p < group.stages; ++p) mark_[items[p]] = 1;
        rest = 0.0;
        for (std::size_t i = 0; i < n_; ++i)
          if (mark_[i] == 0) rest += worths[i];
      }
    } else {
      for (std::size_t p = group.length; p-- > group.stages;) rest += worths[items[p]];
    }
    for (std::size_t p = group.stages; p-- > 0;) left_[p] = rest += worths[items[p]];
    double* const wins = &counts_.wins[k * n_];
    double* const time = &counts_.time[k * n_];
    counts_.size[k] += voters;
    // Waiting times: of one voter exponential, the sum of v voters' gamma(v).
    double so_far = 0.0;
    for (std::size_t p = 0; p < group.stages; ++p) {
      so_far += (voters == 1.0 ? exponential_() : random_.gamma(voters)) / left_[p];
      wins[items[p]] += voters;
      time[items[p]] += so_far;
      left_[p] = so_far;
    }
    if (rest_is_light) {
      // Their wait may be so much longer than the listed items' that adding and taking it back would leave noise for the latter.
      for (std::size_t i = 0; i < n_; ++i)
        if (mark_[i] == 0) time[i] += so_far;
    } else if (group.implicit) {
      counts_.everyone[k] += so_far;
      for (std::size_t p = 0; p < group.stages; ++p) time[items[p]] -= so_far;
    } else {
      for (std::size_t p = group.stages; p < group.length; ++p) time[items[p]] += so_far;
    }
  }

  const Batch& batch_;
  const Buffer<Item>& items_;
  const GibbsState& state_;
  const std::vector<double>& posterior_;
  RandomStream random_;
  Exponentials exponential_;
  Counts& counts_;
  std::size_t num_, n_;
  std::vector<double> totals_, left_;
  std::vector<char> mark_;
};

// A group for each voter, drawn from the memberships; a voter of weight w is w voters, one multinomial draw.
Objective::VoterStep draw_voters(const Objective& objective, const GibbsState& state, std::uint64_t seed, std::uint64_t sweep) {
  const std::size_t n = objective.num_items(), num = state.weights.size();
  Parameters parameters(num, n);
  parameters.weights = state.weights;
  for (std::size_t j = 0; j < state.worths.size(); ++j) parameters.utilities[j] = std::log(state.worths[j]);
  std::vector<double> log_weights;
  for (const double weight : state.weights) log_weights.push_back(std::log(weight));
  Objective::VoterStep step = objective.voter_step(objective.ranking_logs(parameters), log_weights);
  const std::vector<double>& weights = objective.data().voters.weights;
  RandomStream random(seed, Purpose::augment, sweep * streams_per_sweep + streams_per_sweep - 1);
  step.responsibility.assign(num, 0.0);
  std::vector<double> drawn(num);
  for (std::size_t v = 0; v < weights.size(); ++v) {
    const auto row = std::span(step.memberships).subspan(v * num, num);
    std::ranges::fill(drawn, 0.0);
    if (weights[v] == 1.0) {
      drawn[random.categorical(row)] = 1.0;
    } else {
      double left = weights[v], mass = 1.0;
      for (std::size_t k = 0; k < num && left > 0.0; ++k) {
        double here = left;
        if (k + 1 < num && mass > row[k])
          here = static_cast<double>(boost::random::binomial_distribution<std::int64_t>(
              static_cast<std::int64_t>(left), std::clamp(row[k] / mass, 0.0, 1.0))(random));
        drawn[k] = here / weights[v];
        left -= here;
        mass -= row[k];
      }
    }
    for (std::size_t k = 0; k < num; ++k) {
      row[k] = drawn[k];
      step.responsibility[k] += weights[v] * drawn[k];
    }
  }
  return step;
}

}  // namespace

double gibbs_sweep(const Objective& objective, const GibbsOptions& options, std::uint64_t seed, std::uint64_t sweep,
                   GibbsState& state) {
  const Batch& batch = objective.whole_batch();
  const std::size_t n = objective.num_items(), num = state.weights.size(), lanes = padded_components(num);
  // Memberships by the fused pass; its worths are scaled to at most 1, which the likelihood does not see.
  std::vector<double> worths(n * lanes, 1.0), prior(lanes, 0.0), posterior(batch.count * num);
  for (std::size_t k = 0; k < num; ++k) {
    prior[k] = state.weights[k];
    const double largest = *std::max_element(&state.worths[k * n], &state.worths[k * n] + n);
    for (std::size_t i = 0; i < n; ++i)
      worths[i * lanes + k] = std::max(state.worths[k * n + i] / largest, std::exp(-narrow_spread));
  }
  const PassInput input{worths, prior, num, posterior.data(), nullptr};
  Objective::VoterStep voters;
  std::vector<double> members;
  if (objective.by_voter()) {
    voters = draw_voters(objective, state, seed, sweep);
    members = objective.shares_of_rankings(voters.memberships);
  }
  const double loglik = objective.by_voter() ? voters.loglik : run_pass(batch, input, objective.threads()).loglik;

  const Blocks blocks(batch.count, 1024, 64);
  std::vector<Counts> parts(blocks.count());
  parallel_for(blocks.count(), batch.count < least_sweep_for_threads ? 1 : objective.threads(), [&](std::size_t b) {
    Counts& part = parts[b];
    part.wins.assign(num * n, 0.0);
    part.time.assign(num * n, 0.0);
    part.size.assign(num, 0.0);
    part.everyone.assign(num, 0.0);
    const RandomStream random(seed, Purpose::augment, sweep * streams_per_sweep + b);
    const auto sweep_block = [&](auto own) {
      if (objective.by_voter())
        own.run_counted(blocks.begin(b), blocks.end(b), members);
      else
        own.run(blocks.begin(b), blocks.end(b));
    };
    if (batch.items32.empty())
      sweep_block(BlockSweep(batch, batch.items16, state, posterior, random, part));
    else
      sweep_block(BlockSweep(batch, batch.items32, state, posterior, random, part));
  });
  Counts total = std::move(parts[0]);
  for (std::size_t b = 1; b < parts.size(); ++b) {
    for (std::size_t j = 0; j < total.wins.size(); ++j) total.wins[j] += parts[b].wins[j], total.time[j] += parts[b].time[j];
    for (std::size_t k = 0; k < num; ++k) total.size[k] += parts[b].size[k], total.everyone[k] += parts[b].everyone[k];
  }

  if (objective.by_voter()) total.size = voters.responsibility;
  RandomStream random(seed, Purpose::chain, sweep);
  for (std::size_t k = 0; k < num; ++k) {
    double* const own = &state.worths[k * n];
    double sum_worths = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const double time = std::max(total.time[k * n + i] + total.everyone[k], 0.0);
      own[i] = std::max(random.gamma(options.prior_shape + total.wins[k * n + i]) / (options.prior_rate + time), 1e-300);
      sum_worths += own[i];
    }
    // The likelihood does not see the scale: given the proportions the total has its prior distribution, and drawing it afresh
    // (the waiting times are drawn anew before they are used again) lets the chain move freely along it.
    const double scale = random.gamma(static_cast<double>(n) * options.prior_shape) / options.prior_rate / sum_worths;
    for (std::size_t i = 0; i < n; ++i) own[i] = std::max(own[i] * scale, 1e-300);
  }
  if (!options.fixed_weights && num > 1) {
    std::vector<double> concentration;
    for (std::size_t k = 0; k < num; ++k) concentration.push_back(options.prior_weight + total.size[k]);
    random.dirichlet(concentration, state.weights);
  }
  return loglik;
}

namespace {

struct Swept {
  std::vector<double> weights, worths;
  double loglik = 0.0;  // of the state before
};
auto parts(IsA<Swept> auto& swept) { return std::tie(swept.weights, swept.worths, swept.loglik); }

class GibbsChain {
 public:
  GibbsChain(const Objective& objective, const GibbsOptions& options, const Parameters& start, std::uint64_t seed)
      : objective_(objective), options_(options), seed_(seed), state_{start.weights, {}} {
    for (double utility : start.utilities) state_.worths.push_back(std::exp(utility));
  }

  std::vector<Parameters> kept;
  std::vector<double> loglik;  // of the draws kept, but for the last one

  bool sweep(bool, const AskToStop&) {
    now_ = swept();
    ++sweeps_;
    // The log-likelihood is that of the state before: the previous draw, if it was kept.
    if (!kept.empty()) loglik.push_back(now_);
    return true;
  }
  void keep(int) {
    Parameters draw(state_.weights.size(), objective_.num_items());
    draw.weights = state_.weights;
    for (std::size_t j = 0; j < state_.worths.size(); ++j) draw.utilities[j] = std::log(state_.worths[j]);
    draw.center_all();
    kept.push_back(std::move(draw));
  }
  double objective() const { return now_; }

 private:
  // A sweep is a function of the state and its number: a journal may know it already.
  double swept() {
    JournalScope* const journal = objective_.workers().journal;
    if (journal == nullptr) return gibbs_sweep(objective_, options_, seed_, sweeps_, state_);
    Swept after = remembered(
        *journal, [] { return Swept(); },
        [&] {
          const double before = gibbs_sweep(objective_, options_, seed_, sweeps_, state_);
          return Swept{state_.weights, state_.worths, before};
        });
    state_ = {std::move(after.weights), std::move(after.worths)};
    return after.loglik;
  }

  const Objective& objective_;
  const GibbsOptions& options_;
  std::uint64_t seed_, sweeps_ = 0;
  GibbsState state_;
  double now_ = 0.0;
};

}  // namespace

GibbsDraws gibbs_chain(const Objective& objective, const GibbsOptions& options, const Parameters& start, const Run& run) {
  for (double weight : objective.whole_batch().weights)
    if (weight != std::floor(weight))
      throw DataError(fmt::format("{}: method gibbs takes whole-number weights only, but one is {}; choose method em",
                                  objective.data().source, weight));
  GibbsChain chain(objective, options, start, run.seed);
  const ChainsDone done = run_chains(std::span(&chain, 1), {options.sweeps, options.burnin, 1}, run);
  GibbsDraws draws{std::move(chain.kept), std::move(chain.loglik), done.stop_reason, done.least()};
  if (!draws.kept.empty()) draws.loglik.push_back(objective.evaluate(draws.kept.back()).loglik);
  return draws;
}

std::vector<std::size_t> match_groups(const Parameters& pivot, const Parameters& draw) {
  const std::size_t num = pivot.num_components(), n = pivot.num_items;
  std::vector<double> cost(num * num);
  for (std::size_t h = 0; h < num; ++h)
    for (std::size_t k = 0; k < num; ++k) {
      double total = (pivot.weights[h] - draw.weights[k]) * (pivot.weights[h] - draw.weights[k]);
      for (std::size_t i = 0; i < n; ++i) {
        const double gap = pivot.component(h)[i] - draw.component(k)[i];
        total += gap * gap;
      }
      cost[h * num + k] = total;
    }
  return solve_assignment(cost, num);
}

void align_draws(const Parameters& pivot, std::vector<Parameters>& draws) {
  if (pivot.num_components() == 1) return;
  for (Parameters& draw : draws) draw.permute(match_groups(pivot, draw));
}

}  // namespace caucus::pl_mixture
