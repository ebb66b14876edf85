#include "caucus/infer/mallows_mixture/generalized_engine.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/clones.h"
#include "caucus/base/log_sum.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/mallows_mixture/multistart.h"
#include "caucus/infer/mallows_mixture/swaps.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

struct GeneralizedEngine::Stats {
  double loglik = 0.0;
  std::vector<double> mass;         // K
  std::vector<double> word_sum;     // K x words x StageWords::stages_each
  std::vector<double> stage_sum;    // K x n, made of them
  std::vector<double> stage_mass;   // K x n
  std::vector<double> beats, less;  // as in MallowsEngine; weighted by theta_j in code s; `lanes` numbers for K

  friend auto parts(IsA<Stats> auto& stats) {
    return std::tie(stats.loglik, stats.mass, stats.word_sum, stats.stage_mass, stats.beats, stats.less);
  }
  // The weight of a before b in component k.
  double before(std::size_t a, std::size_t b, std::size_t n, std::size_t k) const {
    const std::size_t lanes = beats.size() / n;
    return std::max(0.0, beats[a * lanes + k] - less[(a * n + b) * lanes + k]);
  }
  void fold(const Stats& other) {
    loglik += other.loglik;
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    add(mass, other.mass);
    add(word_sum, other.word_sum);
    add(stage_mass, other.stage_mass);
    add(beats, other.beats);
    add(less, other.less);
  }
};

// plain_ makes starts, once: bits of many rankings are not worth their room for that.
GeneralizedEngine::GeneralizedEngine(const RankingSet& rankings, std::size_t num_items, Code code, ConsensusMethod consensus,
                                     ConsensusLimits limits)
    : rankings_(rankings),
      num_items_(num_items),
      code_(code),
      consensus_(consensus),
      limits_(limits),
      plain_(rankings, num_items, consensus, limits, {0, rankings.size() > many_rankings ? 0 : rankings.size()}),
      words_(num_items, std::min<std::size_t>(512, rankings.size())),
      solver_(code == Code::v && num_items <= 64 ? num_items : 0) {
  // Many M-steps: a short search each, whose failure to prove its center does no harm.
  if (consensus == ConsensusMethod::automatic) limits_.max_nodes = std::min<std::uint64_t>(limits_.max_nodes, 2000);
}

namespace {

void write_code(Code code, std::span<const ItemId> ranking, std::span<const std::uint32_t> position, std::span<std::uint32_t> out) {
  if (code == Code::s)
    code_s(ranking, position, out);
  else
    code_v(ranking, position, out);
}

// K numbers side by side, filled up to whole vector registers.
std::size_t lanes_of(std::size_t num_components) { return (num_components + 3) / 4 * 4; }

// Adds to beats[a] and less[a][b], for every a of the ranking and every b at or before it, the masses times the weights of a's
// stage. The operations are the same on every processor; wide registers do more of them at once.
template <std::size_t lanes>
[[gnu::always_inline]] inline void add_pair_lanes(std::span<const ItemId> ranking, const double* mass, const double* stage_weight,
                                                  std::size_t n, double* beats, double* less) {
  for (std::size_t j = 0; j < ranking.size(); ++j, stage_weight += lanes) {
    double stage[lanes];
    for (std::size_t k = 0; k < lanes; ++k) stage[k] = mass[k] * stage_weight[k];
    double* const to = beats + ranking[j] * lanes;
    for (std::size_t k = 0; k < lanes; ++k) to[k] += stage[k];
    double* const row = less + ranking[j] * n * lanes;
    for (std::size_t other = 0; other <= j; ++other) {
      double* const at = row + ranking[other] * lanes;
      for (std::size_t k = 0; k < lanes; ++k) at[k] += stage[k];
    }
  }
}
CAUCUS_CLONES void add_pairs_4(std::span<const ItemId> ranking, const double* mass, const double* stage_weight, std::size_t n,
                               double* beats, double* less) {
  add_pair_lanes<4>(ranking, mass, stage_weight, n, beats, less);
}
CAUCUS_CLONES void add_pairs_8(std::span<const ItemId> ranking, const double* mass, const double* stage_weight, std::size_t n,
                               double* beats, double* less) {
  add_pair_lanes<8>(ranking, mass, stage_weight, n, beats, less);
}
void add_pairs(std::span<const ItemId> ranking, const double* mass, const double* stage_weight, std::size_t n, std::size_t lanes,
               double* beats, double* less) {
  if (lanes == 4) return add_pairs_4(ranking, mass, stage_weight, n, beats, less);
  if (lanes == 8) return add_pairs_8(ranking, mass, stage_weight, n, beats, less);
  for (std::size_t first = 0; first < lanes; first += 4)
    for (std::size_t j = 0; j < ranking.size(); ++j) {
      double stage[4];
      for (std::size_t k = 0; k < 4; ++k) stage[k] = mass[first + k] * stage_weight[j * lanes + first + k];
      for (std::size_t k = 0; k < 4; ++k) beats[ranking[j] * lanes + first + k] += stage[k];
      for (std::size_t other = 0; other <= j; ++other)
        for (std::size_t k = 0; k < 4; ++k) less[(ranking[j] * n + ranking[other]) * lanes + first + k] += stage[k];
    }
}

// Rankings go through the steps of a pass a few dozen at a time: within a step they do not wait for each other.
constexpr std::size_t tile_size = 64;

// One component's codes of the rankings of a tile: `stride` words each.
struct TileWords {
  const StageWords::Word* words;
  std::size_t num_words;  // as many as the longest of them has; those that a ranking does not reach are zero
  const std::uint16_t* codes;
  std::size_t stride;
};

// What component k gives each ranking: scale (by their numbers of stages) times the decay of every word. Here and below, the same
// operations on every processor; wide registers do more of them at once.
CAUCUS_CLONES void weigh_tile(const TileWords& tile, std::size_t count, const double* decay, const double* scale,
                              double* __restrict part) {
  for (std::size_t i = 0; i < count; ++i) part[i] = scale[i];
  for (std::size_t w = 0; w < tile.num_words; ++w) {
    const double* const of_word = decay + tile.words[w].offset;
    const std::uint16_t* code = tile.codes + w;
    for (std::size_t i = 0; i < count; ++i, code += tile.stride) part[i] *= of_word[*code];
  }
}

// A running sum waits for itself; four do not wait for each other.
CAUCUS_CLONES double scale_and_add(std::size_t count, const double* factor, double* __restrict mass) {
  double four[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t u = 0; u < 4; ++u) four[u] += mass[i + u] *= factor[i + u];
  for (; i < count; ++i) four[0] += mass[i] *= factor[i];
  return (four[0] + four[1]) + (four[2] + four[3]);
}

// Adds each ranking's mass times the values of its stages. Four sums, which do not wait for each other.
CAUCUS_CLONES void add_tile(const TileWords& tile, std::size_t count, const double* digits, const double* mass,
                            double* __restrict sums) {
  constexpr std::size_t each = StageWords::stages_each;
  for (std::size_t w = 0; w < tile.num_words; ++w, sums += each) {
    const double* const of_word = digits + tile.words[w].digits;
    const std::uint16_t* const code = tile.codes + w;
    double four[4][each] = {};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
      for (std::size_t u = 0; u < 4; ++u) {
        const double* const row = of_word + code[(i + u) * tile.stride] * each;
#pragma GCC unroll 4
        for (std::size_t s = 0; s < each; ++s) four[u][s] += mass[i + u] * row[s];
      }
    }
    for (; i < count; ++i)
      for (std::size_t s = 0; s < each; ++s) four[0][s] += mass[i] * of_word[code[i * tile.stride] * each + s];
    for (std::size_t s = 0; s < each; ++s) sums[s] += (four[0][s] + four[1][s]) + (four[2][s] + four[3][s]);
  }
}

std::vector<double> running_log_z(std::span<const double> theta, std::size_t n) {
  std::vector<double> log_z(n + 1, 0.0);
  for (std::size_t j = 0; j < n; ++j) log_z[j + 1] = log_z[j] + (j < theta.size() ? log_stage_normalizer(theta[j], n - j) : 0.0);
  return log_z;
}

}  // namespace

struct GeneralizedEngine::PassTables {
  std::size_t num_components, n;
  std::vector<std::vector<std::uint32_t>> position;
  std::vector<CodeCache::Codes> codes;  // of all rankings about each center; null: to be made as they are needed
  // scale[t * K + k]: weight over the normaliser of t stages, over the largest of them, whose logarithm is offset[t].
  std::vector<double> scale, log_scale, offset;
  std::vector<double> theta;  // K x n
  std::vector<double> decay;  // exp(-theta v) over the stages of a word, for each of its values: K x values
  std::size_t lanes;
  std::vector<double> pair_weight;  // of stage j in the consensus: [j * lanes + k]

  PassTables(const Parameters& now, std::size_t num_items, Code code, const StageWords& words)
      : num_components(now.weight.size()),
        n(num_items),
        scale((n + 1) * num_components),
        log_scale(scale.size()),
        offset(n + 1, -infinity),
        theta(num_components * n, 0.0),
        decay(num_components * words.num_values()),
        lanes(lanes_of(num_components)),
        pair_weight(lanes * n, 1.0) {
    std::vector<double> per_stage(n * n);
    for (std::size_t k = 0; k < num_components; ++k) {
      position.push_back(inverse_order(now.center[k]));
      const std::vector<double> log_z = running_log_z(now.theta[k], n);
      for (std::size_t t = 0; t <= n; ++t) {
        log_scale[t * num_components + k] = (now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity) - log_z[t];
        offset[t] = std::max(offset[t], log_scale[t * num_components + k]);
      }
      const bool by_theta = code == Code::s && sum(now.theta[k]) > 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        if (j < now.theta[k].size()) theta[k * n + j] = now.theta[k][j];
        if (by_theta) pair_weight[j * lanes + k] = theta[k * n + j];
        for (std::size_t v = 0; v < n - j; ++v) per_stage[j * n + v] = std::exp(-theta[k * n + j] * static_cast<double>(v));
      }
      words.multiply(per_stage, std::span(decay).subspan(k * words.num_values(), words.num_values()));
    }
    for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = std::exp(log_scale[i] - offset[i / num_components]);
  }
};

namespace {

// Where all components' likelihoods underflow: their shares in part[k * tile_size + i], and the logarithm of the sum.
double weigh_by_logs(const auto& tables, std::span<const TileWords> tile, std::span<const double> digits, std::size_t i,
                     std::size_t stages, std::span<double> part) {
  std::vector<double> logs(tile.size());
  for (std::size_t k = 0; k < tile.size(); ++k) {
    logs[k] = tables.log_scale[stages * tile.size() + k] - tables.offset[stages];
    for (std::size_t w = 0; w < tile[k].num_words; ++w) {
      const StageWords::Word& word = tile[k].words[w];
      const double* const values = &digits[word.digits + tile[k].codes[i * tile[k].stride + w] * StageWords::stages_each];
      for (std::size_t s = 0; s < word.stages; ++s) logs[k] -= tables.theta[k * tables.n + word.first + s] * values[s];
    }
  }
  const double total = log_sum_exp(logs);
  for (std::size_t k = 0; k < tile.size(); ++k) part[k * tile_size + i] = std::exp(logs[k] - total);
  return total;
}

}  // namespace

void GeneralizedEngine::add_block(const PassTables& tables, std::size_t begin, std::size_t end, Stats& stats,
                                  std::span<double> memberships) const {
  const std::size_t num = tables.num_components, n = num_items_, lanes = tables.lanes, num_words = words_.size();
  std::vector<std::uint16_t> scratch;
  std::vector<std::uint32_t> wide(n);
  std::vector<double> part(num * tile_size), scale(tile_size), total(tile_size), mass(lanes, 0.0);
  std::size_t lengths[tile_size] = {};
  std::vector<TileWords> tile(num, TileWords{words_.words().data(), 0, nullptr, num_words});
  LogSum loglik;
  for (std::size_t first = begin; first < end; first += tile_size) {
    const std::size_t count = std::min(tile_size, end - first);
    for (std::size_t i = 0; i < count; ++i) lengths[i] = rankings_.length(first + i);
    const auto [shortest, longest] = std::ranges::minmax(std::span(lengths, count));
    std::fill_n(total.begin(), count, 0.0);
    for (std::size_t k = 0; k < num; ++k) {
      tile[k].num_words = words_.of_stages(longest);
      if (tables.codes[k]) {
        tile[k].codes = tables.codes[k]->data() + first * num_words;
      } else {
        scratch.resize(num * tile_size * num_words);
        std::uint16_t* const to = &scratch[k * tile_size * num_words];
        std::fill_n(to, count * num_words, std::uint16_t{0});
        for (std::size_t i = 0; i < count; ++i) {
          write_code(code_, rankings_[first + i].items(), tables.position[k], wide);
          words_.write(wide, lengths[i], to + i * num_words);
        }
        tile[k].codes = to;
      }
      for (std::size_t i = 0; i < count; ++i) scale[i] = tables.scale[lengths[i] * num + k];
      double* const own = &part[k * tile_size];
      weigh_tile(tile[k], count, &tables.decay[k * words_.num_values()], scale.data(), own);
      for (std::size_t i = 0; i < count; ++i) total[i] += own[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t stages = lengths[i];
      const double weight = rankings_.weight(first + i);
      stats.loglik += weight * tables.offset[stages];
      if (total[i] > 1e-250)
        loglik.add(weight, total[i]);
      else
        stats.loglik += weight * weigh_by_logs(tables, tile, words_.digits(), i, stages, part), total[i] = 1.0;
      total[i] = weight / total[i];
    }
    for (std::size_t k = 0; k < num; ++k) {
      double* const own = &part[k * tile_size];
      const double sum_of_own = scale_and_add(count, total.data(), own);
      stats.mass[k] += sum_of_own;
      // Of rankings of this length; summed up below.
      double* const by_length = &stats.stage_mass[k * n];
      if (shortest == longest && longest > 0)
        by_length[longest - 1] += sum_of_own;
      else
        for (std::size_t i = 0; i < count; ++i)
          if (lengths[i] > 0) by_length[lengths[i] - 1] += own[i];
      if (!memberships.empty())
        for (std::size_t i = 0; i < count; ++i) memberships[(first + i) * num + k] = own[i];
      add_tile(tile[k], count, words_.digits().data(), own, &stats.word_sum[k * num_words * StageWords::stages_each]);
    }
    if (stats.less.empty()) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const auto ranking = rankings_[first + i].items();
      for (std::size_t k = 0; k < num; ++k) mass[k] = part[k * tile_size + i];
      add_pairs(ranking, mass.data(), tables.pair_weight.data(), n, lanes, stats.beats.data(), stats.less.data());
    }
  }
  stats.loglik += loglik.total();
}

CodeCache::Codes GeneralizedEngine::codes_about(const std::vector<ItemId>& center, int threads) const {
  const std::size_t n = num_items_;
  return cache_.get(center, num_rankings() * words_.size(), [&] {
    std::vector<std::uint16_t> codes(num_rankings() * words_.size());
    const auto position = inverse_order(center);
    const Blocks blocks(num_rankings());
    parallel_for(blocks.count(), threads, [&](std::size_t b) {
      std::vector<std::uint32_t> wide(n);
      for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
        const auto ranking = rankings_[i].items();
        write_code(code_, ranking, position, wide);
        words_.write(wide, ranking.size(), codes.data() + i * words_.size());
      }
    });
    return codes;
  });
}

GeneralizedEngine::Stats GeneralizedEngine::pass(const Parameters& now, bool want_pairs, const Workers& workers,
                                                 std::span<double> memberships) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  PassTables tables(now, n, code_, words_);
  for (const auto& center : now.center) tables.codes.push_back(codes_about(center, workers.threads));
  const auto make = [&] {
    Stats stats;
    stats.mass.assign(num_components, 0.0);
    stats.word_sum.assign(num_components * words_.size() * StageWords::stages_each, 0.0);
    stats.stage_mass.assign(num_components * n, 0.0);
    if (want_pairs) {
      stats.beats.assign(n * lanes_of(num_components), 0.0);
      stats.less.assign(n * n * lanes_of(num_components), 0.0);
    }
    return stats;
  };
  const auto body = [&](Stats& stats, std::size_t begin, std::size_t end) { add_block(tables, begin, end, stats, memberships); };
  // Memberships of the own blocks are filled in here; a journal has no room for them.
  const Workers own = memberships.empty() ? workers : workers.without_journal();
  Stats stats =
      parallel_fold(Blocks(num_rankings()), own, make, body, [](Stats& total, const Stats& partial) { total.fold(partial); });
  for (std::size_t k = 0; k < num_components; ++k)  // a ranking takes part in every stage up to its length
    for (std::size_t j = n - 1; j-- > 0;) stats.stage_mass[k * n + j] += stats.stage_mass[k * n + j + 1];
  stats.stage_sum.assign(num_components * n, 0.0);
  for (std::size_t k = 0; k < num_components; ++k)
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::size_t s = 0; s < words_.words()[w].stages; ++s)
        stats.stage_sum[k * n + words_.words()[w].first + s] =
            stats.word_sum[(k * words_.size() + w) * StageWords::stages_each + s];
  return stats;
}

std::vector<double> GeneralizedEngine::stage_sums(std::span<const ItemId> center, std::span<const double> memberships,
                                                  std::size_t k, std::size_t num_components, const Workers& workers) const {
  const std::size_t n = num_items_;
  const auto position = inverse_order(center);
  return parallel_fold(
      Blocks(num_rankings()), workers, [&] { return std::vector<double>(n, 0.0); },
      [&](std::vector<double>& sums, std::size_t begin, std::size_t end) {
        std::vector<std::uint32_t> code(n);
        for (std::size_t i = begin; i < end; ++i) {
          const auto ranking = rankings_[i].items();
          write_code(code_, ranking, position, code);
          for (std::size_t j = 0; j < ranking.size(); ++j)
            sums[j] += memberships[i * num_components + k] * static_cast<double>(code[j]);
        }
      },
      [](std::vector<double>& total, const std::vector<double>& partial) {
        for (std::size_t j = 0; j < total.size(); ++j) total[j] += partial[j];
      });
}

Buffer<double> GeneralizedEngine::own_memberships(std::size_t num_components, const Workers& workers) const {
  const auto [first, last] = own_range(Blocks(num_rankings()), workers);
  return scratch_array<double>(rankings_.scratch(), num_rankings() * num_components, first * num_components, last * num_components);
}

double GeneralizedEngine::step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  Buffer<double> memberships;
  if (move_centers && code_ == Code::s) memberships = own_memberships(num_components, workers);
  Stats stats = pass(now, move_centers, workers, memberships);
  next = now;
  // Hundreds of items: a node takes milliseconds, and steps are many (three ballots of 300 items went on for minutes).
  ConsensusLimits limits = limits_;
  if (consensus_ == ConsensusMethod::automatic && num_components > 1 && n > 100)
    limits.max_nodes = std::min(limits.max_nodes, affordable_nodes(8'000'000 / (n * n + 1), n, 3));
  for (std::size_t k = 0; k < num_components; ++k) {
    next.weight[k] = stats.mass[k] / total_weight();
    if (!(stats.mass[k] > 1e-9 * total_weight())) continue;
    if (move_centers) {
      PairMatrix pairs(n);
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
          if (a != b) pairs(a, b) = stats.before(a, b, n, k);
      if (code_ == Code::v && n <= 64) {
        double cost = 0.0;
        for (std::size_t j = 0; j + 1 < n; ++j)
          cost += stats.mass[k] * stage_cost(stats.stage_sum[k * n + j] / stats.mass[k], n - j);
        const GeneralizedConsensus found = solver_.solve_v(pairs, stats.mass[k], consensus_, limits_, now.center[k]);
        if (found.cost < cost) {
          next.center[k] = found.order;
          next.theta[k] = found.theta;
          continue;
        }
      } else {
        const Consensus found = find_consensus(pairs, consensus_, limits);
        if (found.order != now.center[k] && found.cost < consensus_cost(now.center[k], pairs)) {
          if (code_ == Code::v) memberships = own_memberships(num_components, workers), pass(now, false, workers, memberships);
          const std::vector<double> sums = stage_sums(found.order, memberships, k, num_components, workers);
          double before = 0.0, after = 0.0;
          for (std::size_t j = 0; j + 1 < n; ++j) {
            const double mass = stats.stage_mass[k * n + j];
            if (!(mass > 0.0)) continue;
            before += mass * stage_cost(stats.stage_sum[k * n + j] / mass, n - j);
            after += mass * stage_cost(sums[j] / mass, n - j);
          }
          if (after < before) {
            next.center[k] = found.order;
            std::copy(sums.begin(), sums.end(), stats.stage_sum.begin() + static_cast<std::ptrdiff_t>(k * n));
          }
        }
      }
    }
    for (std::size_t j = 0; j + 1 < n; ++j) {
      const double mass = stats.stage_mass[k * n + j];
      // A stage that no ballot reaches stays uniform.
      next.theta[k][j] = mass > 0.0 ? solve_stage_theta(stats.stage_sum[k * n + j] / mass, n - j) : 0.0;
    }
  }
  return stats.loglik;
}

// a and b are neighbours in the center. Code s: only the stage changes at which the first of the two is chosen, by one. Code v:
// with a at place p and b behind it, V_p becomes V_{p+1} + [a before b], and V_{p+1} becomes V_p - [b before a].
std::vector<double> GeneralizedEngine::after_swaps(const Parameters& now, const Workers& workers) const {
  const std::size_t num = now.weight.size(), n = num_items_;
  Buffer<double> memberships = own_memberships(num, workers);
  const double loglik = pass(now, false, workers, memberships).loglik;
  std::vector<double> theta(num * n, 0.0), shrink(num * n), grow(num * n);
  std::vector<std::vector<std::uint32_t>> position;
  for (std::size_t k = 0; k < num; ++k) {
    std::copy(now.theta[k].begin(), now.theta[k].end(), theta.begin() + static_cast<std::ptrdiff_t>(k * n));
    position.push_back(inverse_order(now.center[k]));
  }
  for (std::size_t i = 0; i < theta.size(); ++i) shrink[i] = std::expm1(-theta[i]), grow[i] = std::expm1(theta[i]);
  const auto factors = [&](std::size_t i, std::span<double> less_one) {
    const auto ranking = rankings_[i].items();
    thread_local std::vector<std::uint32_t> place, code;
    place.assign(n, static_cast<std::uint32_t>(n));
    code.resize(n);
    for (std::size_t j = 0; j < ranking.size(); ++j) place[ranking[j]] = static_cast<std::uint32_t>(j);
    for (std::size_t k = 0; k < num; ++k) {
      double* const out = &less_one[k * (n - 1)];
      const double* const of = &theta[k * n];
      if (code_ == Code::v) code_v(ranking, position[k], code);
      for (std::size_t p = 0; p + 1 < n; ++p) {
        const std::uint32_t a = place[now.center[k][p]], b = place[now.center[k][p + 1]], first = std::min(a, b);
        if (code_ == Code::v) {
          const double ahead = b < a ? 1.0 : 0.0, here = code[p], next = code[p + 1];
          out[p] = std::expm1(of[p] * (here - next - (1.0 - ahead)) + of[p + 1] * (next - here + ahead));
        } else {
          out[p] = first == n ? 0.0 : a < b ? shrink[k * n + first] : grow[k * n + first];
        }
      }
    }
  };
  return logliks_after({loglik, rankings_.weights(), memberships, num, n}, workers, factors);
}

std::vector<double> GeneralizedEngine::center_gaps(const Parameters& now, const Workers& workers) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  std::vector<double> gaps(num_components, infinity);
  if (code_ == Code::s || n > 64) return gaps;
  const Stats stats = pass(now, true, workers, {});
  for (std::size_t k = 0; k < num_components; ++k) {
    gaps[k] = 0.0;
    if (!(stats.mass[k] > 1e-9 * total_weight())) continue;
    PairMatrix pairs(n);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        if (a != b) pairs(a, b) = stats.before(a, b, n, k);
    double cost = 0.0;
    for (std::size_t j = 0; j + 1 < n; ++j) cost += stats.mass[k] * stage_cost(stats.stage_sum[k * n + j] / stats.mass[k], n - j);
    const GeneralizedConsensus found = solver_.solve_v(pairs, stats.mass[k], ConsensusMethod::exact, limits_, now.center[k]);
    const double gap = cost - found.lower_bound;
    if (!found.optimal || gap > 1e-9 * (1.0 + found.cost)) gaps[k] = std::max(gap, 0.0);
  }
  return gaps;
}

void GeneralizedEngine::derivatives(const Parameters& now, std::size_t k, std::span<double> score,
                                    std::span<double> information) const {
  const std::size_t n = num_items_, stages = n - 1;
  const auto position = inverse_order(now.center[k]);
  std::vector<double> mean(stages), variance(stages);
  for (std::size_t j = 0; j < stages; ++j)
    mean[j] = stage_mean(now.theta[k][j], n - j), variance[j] = stage_variance(now.theta[k][j], n - j);
  std::vector<std::uint32_t> code(n);
  for (std::size_t i = 0; i < num_rankings(); ++i) {
    const auto ranking = rankings_[i].items();
    write_code(code_, ranking, position, code);
    for (std::size_t j = 0; j < stages; ++j) {
      score[i * stages + j] = j < ranking.size() ? mean[j] - static_cast<double>(code[j]) : 0.0;
      information[i * stages + j] = j < ranking.size() ? variance[j] : 0.0;
    }
  }
}

Parameters GeneralizedEngine::from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const {
  Parameters result = plain_.from_labels(labels, num_components);
  for (auto& theta : result.theta) theta.assign(num_items_ > 0 ? num_items_ - 1 : 0, theta[0]);
  return result;
}

void GeneralizedEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  for (std::size_t k = 0; k < num_components; ++k) {
    const auto position = inverse_order(now.center[k]);
    const std::vector<double> log_z = running_log_z(now.theta[k], n);
    const double log_weight = now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity;
    const Blocks blocks(num_rankings());
    parallel_for(blocks.count(), threads, [&](std::size_t b) {
      std::vector<std::uint32_t> code(n);
      for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
        const auto ranking = rankings_[i].items();
        write_code(code_, ranking, position, code);
        double value = log_weight - log_z[ranking.size()];
        for (std::size_t j = 0; j < std::min(ranking.size(), now.theta[k].size()); ++j)
          value -= now.theta[k][j] * static_cast<double>(code[j]);
        out[i * num_components + k] = value;
      }
    });
  }
}

}  // namespace caucus::mallows_mixture
