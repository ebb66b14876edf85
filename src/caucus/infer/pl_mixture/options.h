// Options of the family "pl".
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "caucus/base/options.h"
#include "caucus/model/pl_regression_features.h"

namespace caucus::pl_mixture {

enum class Method { em, em_lsr, emm, em_cml, em_gmm, em_slsr, spectral, gibbs };
enum class Init { automatic, spectral, random, kmeans, moments, tensor, file };
enum class Toggle { automatic, on, off };
enum class Bootstrap { parametric, nonparametric };
enum class Link { logit, probit };
enum class RankRule { components, paper };
enum class Chain { automatic, explicit_chain, implicit_product };

}  // namespace caucus::pl_mixture

namespace caucus {
template <>
inline constexpr std::array<std::string_view, 8> enum_names<pl_mixture::Method>{"em",     "em-lsr",  "emm",      "em-cml",
                                                                                "em-gmm", "em-slsr", "spectral", "gibbs"};
template <>
inline constexpr std::array<std::string_view, 7> enum_names<pl_mixture::Init>{"auto",    "spectral", "random", "kmeans",
                                                                              "moments", "tensor",   "file"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<pl_mixture::Toggle>{"auto", "on", "off"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<pl_mixture::Bootstrap>{"parametric", "nonparametric"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<pl_mixture::Link>{"logit", "probit"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<pl_mixture::RankRule>{"components", "paper"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<pl_mixture::Chain>{"auto", "explicit", "implicit"};
}  // namespace caucus

namespace caucus::pl_mixture {

struct Options {
  int components = 1;
  Method method = Method::em;
  Init init = Init::automatic;
  std::string init_file;
  std::optional<int> restarts;
  int iterations = 10000;
  double tolerance = 1e-8;
  std::optional<double> regularization;
  bool estimate_weights = true;
  Toggle standard_errors = Toggle::automatic;
  int bootstrap = 0;
  Bootstrap bootstrap_kind = Bootstrap::parametric;
  bool center = true;
  RankRule rank_rule = RankRule::components;
  Link link = Link::logit;
  int kmeans_restarts = 20;
  Chain chain = Chain::automatic;
  int sweeps = 2000;
  int burnin = 500;
  double prior_shape = 1.0;
  double prior_rate = 0.001;
  double prior_weight = 1.0;
  std::string membership;
  MissingValues missing = MissingValues::error;

  static constexpr auto fields() {
    using O = Options;
    return std::tuple{
        field("components", &O::components, 1, 1000, "number of groups"),
        field("method", &O::method, "how to fit"),
        field("init", &O::init, "where to start; auto takes spectral, random, k-means and ballots in turn and keeps the best"),
        field("init-file", &O::init_file, "a model file of this family to start from (init = file)"),
        field("restarts", &O::restarts, 1, 100000,
              "number of starts; auto: as many as a fixed amount of work allows, fewer where they agree"),
        field("iterations", &O::iterations, 1, 1e9, "most passes over the data per start"),
        field("tolerance", &O::tolerance, 0, 1,
              "distance from the local maximum that counts as converged, relative to the log-likelihood"),
        field("regularization", &O::regularization, 0, 1e6,
              "pseudo-comparisons each item wins and loses against an item of utility 0; auto: none where the comparison graph is "
              "strongly "
              "connected, else 0.1; 0 forbids them"),
        field("estimate-weights", &O::estimate_weights, "off keeps the groups equally large (or as the init file has them)"),
        field("standard-errors", &O::standard_errors,
              "from the observed information; auto leaves them out where they would take long"),
        field("bootstrap", &O::bootstrap, 0, 1e6, "number of bootstrap samples for standard errors and intervals; 0: none"),
        field("bootstrap-kind", &O::bootstrap_kind, "draw samples from the fitted model, or resample the rankings"),
        field("center", &O::center, "spectral start: subtract the mean of the pairwise embedding"),
        field("rank-rule", &O::rank_rule, "spectral start: keep as many singular vectors as groups, or by the paper's threshold"),
        field("link", &O::link, "spectral start: logit (Plackett-Luce) or probit (Thurstone) link of the pairwise probabilities"),
        field("kmeans-restarts", &O::kmeans_restarts, 1, 10000, "spectral and kmeans starts: restarts of k-means++"),
        field("chain", &O::chain, "em-lsr: build the Markov chain, or multiply by it without building it"),
        field("sweeps", &O::sweeps, 1, 1e9, "gibbs: sweeps in all"),
        field("burnin", &O::burnin, 0, 1e9, "gibbs: sweeps dropped at the beginning"),
        field("prior-shape", &O::prior_shape, 1e-6, 1e6, "gibbs: shape of the gamma prior of each worth"),
        field("prior-rate", &O::prior_rate, 1e-9, 1e6, "gibbs: rate of the gamma prior of each worth"),
        field("prior-weight", &O::prior_weight, 1e-6, 1e6, "gibbs: Dirichlet prior of the mixing weights"),
        field(
            "membership", &O::membership,
            "what puts a voter into a group: columns of the voters, as in \"age + region\"; factor(x) takes numbers as categories"),
        field("missing", &O::missing,
              "membership: voters of whom something is missing are an error, left out, or taken as average")};
  }
};

}  // namespace caucus::pl_mixture
