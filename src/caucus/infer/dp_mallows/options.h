// Options of the Dirichlet process mixture of generalized Mallows models.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "caucus/base/options.h"

namespace caucus::dp_mallows {

enum class Method { exact_gibbs, beta_gibbs, slice_gibbs };
enum class CenterMove { corrected, paper };
enum class StartCenters { fitted, random };

}  // namespace caucus::dp_mallows

namespace caucus {
template <>
inline constexpr std::array<std::string_view, 3> enum_names<dp_mallows::Method>{"exact-gibbs", "beta-gibbs", "slice-gibbs"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<dp_mallows::CenterMove>{"corrected", "paper"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<dp_mallows::StartCenters>{"fitted", "random"};
}  // namespace caucus

namespace caucus::dp_mallows {

struct Options {
  Method method = Method::exact_gibbs;
  double alpha = 1.0;
  std::string alpha_prior = "none";
  double nu = 1.0;
  std::string r = "1";
  int sweeps = 1000;
  int burnin = 500;
  int chains = 1;
  int thin = 1;
  int gibbs_steps = 10;
  int slice_steps = 3;
  CenterMove center_move = CenterMove::corrected;
  int split_merge = 0;
  int split_merge_scans = 3;
  int start_clusters = 20;
  StartCenters start_centers = StartCenters::fitted;
  std::string center_prior;
  double center_strength = 1.0;
  int auxiliary = 3;
  std::optional<int> predictive_draws;
  std::string draws;
  std::string draw_assignments;
  std::string draws_cmdstan;
  std::string co_clustering;
  std::string checkpoint;
  double checkpoint_every = 60.0;

  static constexpr auto fields() {
    using O = Options;
    return std::tuple{
        field("method", &O::method, "sampler: exact integral over theta, its Beta approximation, or theta drawn by slices"),
        field("alpha", &O::alpha, 1e-12, 1e9, "concentration of the Dirichlet process: larger makes more clusters"),
        field("alpha-prior", &O::alpha_prior, "shape,rate of a Gamma prior: alpha is then sampled (none: alpha stays fixed)"),
        field("nu", &O::nu, 1e-6, 1e9, "strength of the prior on theta, in ballots"),
        field("r", &O::r, "prior mean code of each stage: one number, or a list r_1,r_2,..."),
        field("sweeps", &O::sweeps, 1, 1e9, "sweeps per chain, burn-in included"),
        field("burnin", &O::burnin, 0, 1e9, "sweeps dropped from the start of each chain"),
        field("chains", &O::chains, 1, 1000, "independent chains, run on threads"),
        field("thin", &O::thin, 1, 1e6, "keep every k-th sweep after burn-in"),
        field("gibbs-steps", &O::gibbs_steps, 1, 10000, "draws of sigma and theta per cluster and sweep"),
        field("slice-steps", &O::slice_steps, 1, 10000, "slice-gibbs: slice steps per theta"),
        field("center-move", &O::center_move, "draw of sigma: with the Metropolis correction, or uncorrected as in the paper"),
        field("split-merge", &O::split_merge, 0, 1e6, "split-merge proposals per sweep (Jain and Neal 2007)"),
        field("split-merge-scans", &O::split_merge_scans, 0, 1000, "restricted scans that prepare a split-merge proposal"),
        field("start-clusters", &O::start_clusters, 1, 1e6, "clusters of the random start"),
        field("start-centers", &O::start_centers,
              "centers of the start: drawn given the random clusters, or random too, as in the paper"),
        field("center-prior", &O::center_prior,
              "a ranking the centers are expected to resemble: item names, best first, comma-separated"),
        field("center-strength", &O::center_strength, 0, 1e6, "weight of center-prior, in units of nu"),
        field("auxiliary", &O::auxiliary, 1, 1000, "with center-prior: candidate clusters per ballot (Neal 2000, algorithm 8)"),
        field("predictive-draws", &O::predictive_draws, 0, 10000,
              "draws kept in the model for the posterior predictive of score; auto: 100 to 400, and up to eight times the kept "
              "sweeps to take them from, until their Monte Carlo error is below 0.01 nats per ballot"),
        field("draws", &O::draws, "file for one line per kept sweep (CSV)"),
        field("draw-assignments", &O::draw_assignments, "file for the cluster label of every ballot in every kept sweep (CSV)"),
        field("draws-cmdstan", &O::draws_cmdstan, "prefix of one CmdStan CSV per chain: PREFIX-1.csv, ..."),
        field("co-clustering", &O::co_clustering, "file for the co-clustering matrix of the ballots (CSV, at most 5000 ballots)"),
        field("checkpoint", &O::checkpoint, "file that saves the chains; where it exists, they go on from it"),
        field("checkpoint-every", &O::checkpoint_every, 0, 1e9, "seconds between two saves")};
  }
};

}  // namespace caucus::dp_mallows
