// Draws of a cluster's central ranking sigma.
//
// Given theta the posterior of sigma is proportional to exp(-cost), where placing item x next costs, summed over the
// items i still to be placed, R[i, x] = sum over members with i at stage j and x not among their first j of theta_j
// (Meila & Chen 2010, Lemma 2). R is never stored. With U[x] = sum over members that list x at stage p of
// theta_p + .. + theta_t, the column sum of x is a constant minus U[x], and once x is placed every item k that a
// member lists before x loses that member's theta at x's stage. One draw costs O(sum of t^2 over the cluster) plus
// the choice of the items, and items no member lists are one group with U = 0.
//
// Lemma 2 calls the stagewise draw exact. It is not, unless the normalisers of the stages do not depend on what was
// placed: the draw has density target / (product of stage normalisers). It is therefore used as a
// Metropolis-Hastings proposal whose log weight is the sum of the log normalisers.
//
// Many members of few items are counted once (PlaceCounts): then R is a matrix after all, made in O(t n^2) for each theta, and no
// draw looks at a member again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/infer/dp_mallows/points.h"

namespace caucus::dp_mallows {

struct Member {
  std::uint32_t ranking;
  double weight;
};

// How often each item stands at each stage, and how often each other item stands before it there: all that a draw of sigma or its
// statistics ask of the members. Items by local number.
class PlaceCounts {
 public:
  void clear(std::size_t stages, std::size_t items);
  void add(std::span<const std::uint32_t> row, double weight);
  // own[x] = theta at x's stages, before[x * items + k] = that where k comes first: what moving x up, or past k, costs.
  void weigh(std::span<const double> theta, std::span<double> own, std::span<double> before) const;
  // S_j and N_j about an order of items; those no member lists (< 0) stand in it too.
  void statistics(std::span<const std::int32_t> order, std::span<double> sums, std::span<double> counts) const;

 private:
  std::size_t stages_ = 0, items_ = 0;
  std::vector<double> own_;     // stage, item
  std::vector<double> before_;  // stage, item, earlier item
};

// The rankings of one cluster, indexed by item, with the workspace of the draws. Loaded once per cluster and sweep.
// `prior` is the informative prior's ranking (R^0) with its weight, or empty.
class CenterSampler {
 public:
  // Thrown out of a draw when `stop` says so: with hundreds of items a single one takes seconds. Nothing is drawn then, and the
  // center given is no permutation any more.
  struct Stopped {};
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }

  void load(const Points& points, std::span<const Member> members, std::span<const Item> prior = {}, double prior_weight = 0.0);

  // Sample-sigma-Stagewise (Figure 2): fills center.order and position. Returns the sum of the log stage normalisers,
  // log target(sigma) - log q(sigma).
  double sample_stagewise(std::span<const double> theta, Center& center, RandomStream& rng);
  // The same sum along a given sigma.
  double log_stage_normalizers(std::span<const double> theta, const Center& center);
  // log q(sigma) of the stagewise draw.
  double log_density(std::span<const double> theta, const Center& center);

  // A Metropolis-Hastings step with the stagewise draw as proposal. Returns whether it moved.
  bool metropolis_stagewise(std::span<const double> theta, Center& center, RandomStream& rng);
  // One Gibbs pass over adjacent pairs, and a shuffle of the items no member lists. O(sum of t^2 + n).
  void swap_adjacent(std::span<const double> theta, Center& center, RandomStream& rng);

  // S_j(sigma) and N_j, the weights of the loaded rankings only (the prior's not).
  void statistics(const Center& center, std::span<double> sums, std::span<double> counts) const;

 private:
  struct Occurrence {
    std::uint32_t row;
    std::uint32_t stage;
  };
  template <class Choose>
  double run_stages(std::span<const double> theta, Choose&& choose);
  // Both answer what theta is still to be placed.
  double start(std::span<const double> theta);
  double start_counted(std::span<const double> theta);
  double place(std::size_t x, std::span<const double> theta);
  void weigh(std::span<const double> theta);
  void index_occurrences();
  double log_odds_of_swap(std::size_t a, std::size_t b, std::span<const double> theta) const;
  void refresh_blocks();

  std::function<bool()> stop_;
  std::size_t stages_run_ = 0;
  std::size_t num_items_ = 0;
  std::size_t num_rows_ = 0;  // members, then the prior
  std::size_t num_members_ = 0;
  std::vector<std::uint32_t> row_offsets_;
  std::vector<std::uint32_t> row_items_;  // local numbers
  std::vector<double> row_weights_;
  std::vector<std::int32_t> local_;  // item -> local number, -1 where no row lists it
  std::vector<Item> listed_;         // local number -> item
  std::vector<Item> unlisted_;
  std::vector<std::uint32_t> occurrence_offsets_;
  std::vector<Occurrence> occurrences_;

  // Counted members, and what they weigh at weighed_; of the rows only the prior's is kept then.
  bool counted_ = false;
  PlaceCounts counts_;
  std::vector<double> weighed_, own_, before_;
  mutable std::vector<std::int32_t> local_order_;

  // Workspace of a draw: U in blocks with their maxima and sums, so that a stage recomputes what changed.
  std::vector<double> gain_;
  std::vector<double> block_max_;
  std::vector<double> block_sum_;
  std::vector<std::uint8_t> dirty_;
  std::vector<double> total_theta_;  // prefix sums of theta
  std::vector<Item> spare_;
  Center proposal_;
  double last_log_q_ = 0.0;  // log probability of the choices of the last run
};

// Sample-sigma-N1 (Figure 4): sigma given one ranking. cumulative[j] is the distribution function of V_j on 0..n-1-j.
void sample_sigma_n1(std::span<const Item> ranking, std::size_t num_items, std::span<const std::vector<double>> cumulative,
                     Center& center, RandomStream& rng);

// A uniform sigma.
void sample_uniform(std::size_t num_items, Center& center, RandomStream& rng);

void set_order(Center& center, std::span<const Item> order);

}  // namespace caucus::dp_mallows
