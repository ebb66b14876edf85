// Options of Plackett-Luce regression and of its rival.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "caucus/base/options.h"

namespace caucus::pl_regression {

enum class Method { em, gibbs, variational, logit_lasso };
enum class ShapeStep { collapsed, given_weights };

}  // namespace caucus::pl_regression

namespace caucus {
template <>
inline constexpr std::array<std::string_view, 4> enum_names<pl_regression::Method>{"em", "gibbs", "variational", "logit-lasso"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<pl_regression::ShapeStep>{"collapsed", "given-weights"};
}  // namespace caucus

namespace caucus::pl_regression {

inline bool is_sampler(Method method) { return method == Method::gibbs || method == Method::logit_lasso; }

struct Options {
  Method method = Method::em;
  std::string a = "auto";  // a number, "learn", "cv", or "auto"
  std::optional<double> b;
  int iterations = 50000;
  std::optional<double> tolerance;
  int sweeps = 10000;
  std::optional<int> burnin;
  std::optional<int> thin;
  int chains = 2;
  int draws = 1000;
  double a_min = 1e-4;
  double a_max = 100.0;
  ShapeStep a_step = ShapeStep::collapsed;
  int folds = 5;
  double lasso_shape = 1.0;
  double lasso_rate = 1.0;
  double intercept_variance = 100.0;
  std::string checkpoint;
  double checkpoint_every = 60.0;

  static constexpr auto fields() {
    using O = Options;
    return std::tuple{
        field("method", &O::method, "em, gibbs, variational, or the rival logit-lasso"),
        field("a", &O::a, "shape of the Gamma prior: a number, learn (gibbs, variational), cv (em), auto (em: 1; others: learn)"),
        field("b", &O::b, 0.0, 1e12, "rate of the Gamma prior; auto is 0 for em with a = 1 and 1 otherwise"),
        field("iterations", &O::iterations, 1, 1e9, "em, variational: limit of steps"),
        field("tolerance", &O::tolerance, 0.0, 1.0,
              "em, variational: gain of the objective per row below which a fit has converged; auto is 1e-14 (em: still to be had) "
              "or 1e-12 (variational: of a step)"),
        field("sweeps", &O::sweeps, 1, 1e9, "samplers: sweeps of each chain, burn-in included"),
        field("burnin", &O::burnin, 0, 1e9, "samplers: sweeps dropped; auto is half of the sweeps"),
        field("thin", &O::thin, 1, 1e6, "samplers: keep every so many sweeps; auto is 1, more where memory would pass 256 MB"),
        field("chains", &O::chains, 1, 256, "samplers: chains, run in parallel"),
        field("draws", &O::draws, 1, 1e6, "draws in the model file that predictions average over"),
        field("a-min", &O::a_min, 1e-12, 1e6, "smallest a when it is learned"),
        field("a-max", &O::a_max, 1e-12, 1e9, "largest a when it is learned"),
        field("a-step", &O::a_step, "gibbs: draw of a with the weights integrated out, or given the weights (mixes slowly)"),
        field("folds", &O::folds, 2, 100, "folds of cross-validation for a"),
        field("lasso-shape", &O::lasso_shape, 1e-6, 1e6, "logit-lasso: shape of the Gamma prior of theta"),
        field("lasso-rate", &O::lasso_rate, 1e-6, 1e6, "logit-lasso: rate of the Gamma prior of theta"),
        field("intercept-variance", &O::intercept_variance, 1e-6, 1e9, "logit-lasso: prior variance of the intercepts"),
        field("checkpoint", &O::checkpoint, "save what was done in this file now and then, and go on from it where it exists"),
        field("checkpoint-every", &O::checkpoint_every, 0, 1e9, "seconds between two saves")};
  }
};

}  // namespace caucus::pl_regression
