#include "caucus/infer/pl_regression/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "caucus/base/error.h"
#include "caucus/base/mcmc_diagnostics.h"
#include "caucus/base/version.h"
#include "caucus/data/checksum.h"
#include "caucus/data/folds.h"
#include "caucus/infer/journal.h"
#include "caucus/infer/pl_regression/chains.h"
#include "caucus/infer/pl_regression/em.h"
#include "caucus/infer/pl_regression/gibbs.h"
#include "caucus/infer/pl_regression/logit_lasso.h"
#include "caucus/infer/pl_regression/variational.h"
#include "caucus/infer/stopping.h"

namespace caucus::pl_regression {

namespace {

// How many sweeps apart draws are kept, so that all of them fit in 256 MB.
int automatic_thin(const Options& options, int burnin, std::size_t num_coefficients) {
  const double numbers = static_cast<double>(num_coefficients) * options.chains * std::max(options.sweeps - burnin, 1);
  return std::max(1, static_cast<int>(std::ceil(numbers / 64e6)));
}

ChainPlan chain_plan(const Options& options, std::size_t num_coefficients) {
  ChainPlan plan;
  plan.sweeps = options.sweeps;
  plan.burnin = options.burnin.value_or(options.sweeps / 2);
  if (plan.burnin >= plan.sweeps)
    throw UsageError(
        fmt::format("burnin = {} leaves none of {} sweeps; --sweeps counts the burn-in too", plan.burnin, plan.sweeps));
  plan.thin = options.thin.value_or(automatic_thin(options, plan.burnin, num_coefficients));
  return plan;
}

// What a checkpoint must agree on: everything that bears on the chains but the number of sweeps.
std::string checkpoint_key(const RegressionData& data, const Options& options, std::uint64_t seed) {
  OptionMap shown = show_options(options);
  for (const char* name : {"iterations", "sweeps", "draws", "burnin", "thin", "chains", "checkpoint", "checkpoint-every"})
    shown.erase(name);  // the plan says some of these, the others do not matter
  Saver content;
  content(std::span(data.w.data(), static_cast<std::size_t>(data.w.size())), data.outcome, data.offsets, data.weights);
  return fmt::format("seed {}; data {}; {}", seed, checksum(content.bytes()), fmt::join(shown, " "));
}

template <class Chain>
Posterior run_with_checkpoints(std::vector<Chain>& chains, const ChainPlan& plan, const RegressionData& data,
                               const Options& options, const Run& run) {
  if (options.checkpoint.empty()) return run_chains(chains, plan, run);
  return run_chains(chains, plan, run, {options.checkpoint, checkpoint_key(data, options, run.seed), options.checkpoint_every});
}

struct Diagnosis {
  double ess_min = 0.0, rhat_max = 1.0;
};
Diagnosis diagnose(const Posterior& posterior, int threads) {
  const std::size_t size = posterior.num_coefficients;
  std::vector<double> ess(size), rhat(size);
  parallel_for(size, threads, [&](std::size_t j) {
    std::vector<std::vector<double>> chains(posterior.chains.size());
    for (std::size_t c = 0; c < chains.size(); ++c)
      for (std::size_t d = 0; d < posterior.num_draws(c); ++d) chains[c].push_back(static_cast<double>(posterior.draw(c, d)[j]));
    ess[j] = effective_sample_size(chains);
    rhat[j] = split_rhat(chains);
  });
  return {*std::min_element(ess.begin(), ess.end()), *std::max_element(rhat.begin(), rhat.end())};
}

// Six digits: what the model file holds, so that predictions do not change when it is read back.
double six_digits(double value) {
  char text[32];
  const auto end = fmt::format_to_n(text, sizeof text, "{:.6g}", value).out;
  std::from_chars(text, end, value);
  return value;
}

RowMatrix as_matrix(const std::vector<double>& values, Eigen::Index rows, Eigen::Index columns) {
  return Eigen::Map<const RowMatrix>(values.data(), rows, columns);
}

// Up to `limit` draws, evenly over all chains.
std::vector<RowMatrix> kept_draws(const Posterior& posterior, std::size_t total, std::size_t limit, Eigen::Index rows,
                                  Eigen::Index columns) {
  std::vector<RowMatrix> draws;
  const std::size_t kept = std::min(total, limit);
  for (std::size_t i = 0; i < kept; ++i) {
    std::size_t index = i * total / kept, chain = 0;
    while (index >= posterior.num_draws(chain)) index -= posterior.num_draws(chain++);
    RowMatrix draw(rows, columns);
    for (Eigen::Index j = 0; j < draw.size(); ++j)
      draw.data()[j] = six_digits(static_cast<double>(posterior.draw(chain, index)[j]));
    draws.push_back(std::move(draw));
  }
  return draws;
}

void describe_chains(const Posterior& posterior, std::size_t total, int threads, Summary& summary) {
  Sampling& sampling = *summary.sampling;
  const Diagnosis diagnosis = diagnose(posterior, threads);
  sampling.ess_min = diagnosis.ess_min;
  if (std::isfinite(diagnosis.rhat_max))
    sampling.rhat_max = diagnosis.rhat_max;
  else
    summary.warnings.emplace_back("some weights stand still at different values in different chains: run longer");
  std::vector<std::vector<double>> loglik;
  double mean_loglik = 0.0;
  for (const ChainDraws& draws : posterior.chains) {
    loglik.push_back(draws.loglik);
    for (const double value : draws.loglik) mean_loglik += value / static_cast<double>(total);
  }
  sampling.ess_loglik = effective_sample_size(loglik);
  sampling.mean_loglik = mean_loglik;
  sampling.rhat_loglik = split_rhat(loglik);
  if (diagnosis.rhat_max > 1.1)
    summary.warnings.push_back(
        fmt::format("R-hat is up to {:.2f}: the chains have not met; more sweeps make the weights surer", diagnosis.rhat_max));
}

void take_posterior(const Posterior& posterior, const Options& options, const ChainPlan& plan, Eigen::Index rows,
                    Eigen::Index columns, const Run& run, Result& fit) {
  fit.model.lambda = as_matrix(posterior.mean(), rows, columns);
  fit.model.median = as_matrix(posterior.median(), rows, columns);
  fit.summary.stop_reason = posterior.stop_reason;
  fit.summary.iterations = posterior.iterations;
  std::size_t total = 0;
  for (std::size_t c = 0; c < posterior.chains.size(); ++c) total += posterior.num_draws(c);
  Sampling& sampling = fit.summary.sampling.emplace();
  sampling.chains = posterior.chains.size();
  sampling.burnin = plan.burnin;
  sampling.thin = plan.thin;
  sampling.num_draws = total;
  if (total == 0) {
    fit.summary.warnings.emplace_back("stopped during burn-in: there are no draws; the weights are not an estimate");
    fit.model.lambda.setConstant(1.0 / static_cast<double>(rows * columns));
    return;
  }
  const std::size_t room = std::max<std::size_t>(1, 2000000 / posterior.num_coefficients);
  fit.model.draws = kept_draws(posterior, total, std::min(static_cast<std::size_t>(options.draws), room), rows, columns);
  describe_chains(posterior, total, run.threads, fit.summary);
}

// Flags that a method has no use for are said, not passed over.
void note_unused(const Options& options, Summary& summary) {
  if (options.method == Method::logit_lasso && (options.a != "auto" || options.b))
    summary.warnings.emplace_back("logit-lasso has no a and b: they are not used; its prior is set by lasso-shape and lasso-rate");
}

struct ShapeChoice {
  bool learn = false, cross_validate = false;
  double value = 1.0;

  std::optional<double> fixed() const { return learn ? std::nullopt : std::optional(value); }
};
ShapeChoice choose_shape(const Options& options) {
  const bool em = options.method == Method::em;
  if (options.a == "auto") return {!em, false, 1.0};
  if (options.a == "learn") {
    if (em) throw UsageError("a = learn: em does not learn a; give a number or cv, or use gibbs or variational");
    return {true, false, 1.0};
  }
  if (options.a == "cv") {
    if (!em) throw UsageError("a = cv: cross-validation is for em; gibbs and variational learn a by themselves");
    return {false, true, 1.0};
  }
  const double value = detail::parse_double("a", options.a);
  if (!(value > 0.0 && value <= 1e6)) throw UsageError(fmt::format("a = {} is outside (0, 1e+06]", options.a));
  return {false, false, value};
}

double rate_for(const Options& options, double a) { return options.b.value_or(a == 1.0 ? 0.0 : 1.0); }

double proper_rate(const Options& options) {
  const double b = options.b.value_or(1.0);
  if (!(b > 0.0)) throw UsageError("b = 0: the prior would be improper; give b > 0 (it sets only the scale)");
  return b;
}

// Mean held-out log loss of em for each a; the best one, ties to the larger a.
double cross_validated_shape(const RegressionData& data, const Options& options, const Run& run, Summary& summary) {
  const std::vector<double> grid{5.0, 2.0, 1.5, 1.2, 1.0, 0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05};
  const std::size_t n = data.num_rows();
  if (n < static_cast<std::size_t>(options.folds))
    throw DataError(fmt::format("folds = {} is more than the {} rows", options.folds, n));
  const auto parts = deal_folds(n, options.folds, run.seed);
  Run quiet = run;
  quiet.observer = nullptr;
  double best_loss = infinity, best = 1.0;
  for (const double a : grid) {
    double loss = 0.0, wrong = 0.0;
    for (std::size_t fold = 0; fold < parts.size(); ++fold) {
      std::vector<std::size_t> in;
      for (std::size_t other = 0; other < parts.size(); ++other)
        if (other != fold) in.insert(in.end(), parts[other].begin(), parts[other].end());
      const RegressionData train = data.select(in), test = data.select(parts[fold]);
      const EmResult fitted = fit_em(train, {a, rate_for(options, a), std::min(options.iterations, 2000), 1e-10}, quiet);
      const RowMatrix probabilities = class_probabilities(test.w, fitted.lambda);
      for (std::size_t i = 0; i < test.num_rows(); ++i) {
        const std::size_t one[] = {i};
        loss -= std::max(regression_loglik(test.select(one), fitted.lambda), std::log(1e-15));
        const auto row = std::span(probabilities.data() + static_cast<std::ptrdiff_t>(i * data.num_classes), data.num_classes);
        wrong += most_probable(row) == test.order(i)[0] ? 0.0 : 1.0;
      }
      StopReason why{};
      if (run.report({"cross-validation", static_cast<int>(fold) + 1, options.folds, -loss}, why) == Flow::stop) return best;
    }
    summary.cross_validation.push_back({a, loss / static_cast<double>(n), wrong / static_cast<double>(n)});
    if (loss < best_loss) best_loss = loss, best = a;
  }
  return best;
}

void fit_logit(const Input& input, const Options& options, const Run& run, Result& fit) {
  if (input.data.ranking) throw UsageError("logit-lasso takes class labels, not rankings; use em, gibbs or variational");
  LogitData logit;
  logit.num_classes = input.data.num_classes;
  logit.labels = input.data.outcome;
  logit.x.resize(input.x.rows(), input.x.cols() + 1);
  logit.x << input.x, Eigen::VectorXd::Ones(input.x.rows());
  std::vector<LogitChain> chains;
  for (int c = 0; c < options.chains; ++c)
    chains.emplace_back(logit, LogitOptions{options.lasso_shape, options.lasso_rate, options.intercept_variance},
                        RandomStream(run.seed, Purpose::chain, static_cast<std::uint64_t>(c)));
  const auto rows = static_cast<Eigen::Index>(logit.num_classes) - 1;
  const ChainPlan plan = chain_plan(options, static_cast<std::size_t>(rows * logit.x.cols()));
  const Posterior posterior = run_with_checkpoints(chains, plan, input.data, options, run);
  take_posterior(posterior, options, plan, rows, logit.x.cols(), run, fit);
  if (fit.model.draws.empty()) fit.model.lambda.setZero();
  const double theta = posterior.hyper_mean();
  fit.summary.theta = theta;
  const RowMatrix probabilities = logit_probabilities(logit.x, fit.model.lambda);
  for (Eigen::Index i = 0; i < probabilities.rows(); ++i)
    fit.summary.loglik += std::log(probabilities(i, logit.labels[static_cast<std::size_t>(i)]));
  // The Laplace prior of scale 1 / sqrt(theta) at the posterior mean.
  fit.summary.log_posterior = fit.summary.loglik - std::sqrt(theta) * fit.model.lambda.leftCols(input.x.cols()).cwiseAbs().sum();
}

void fit_by_em(const RegressionData& data, const ShapeChoice& shape, const Options& options, const Run& run, Result& fit) {
  Fitted& model = fit.model;
  if (shape.cross_validate) model.a = cross_validated_shape(data, options, run, fit.summary);
  model.b = rate_for(options, model.a);
  const EmResult em = fit_em(data, {model.a, model.b, options.iterations, options.tolerance.value_or(1e-14)}, run);
  model.lambda = em.lambda;
  fit.summary.stop_reason = em.stop_reason;
  fit.summary.iterations = em.steps;
  fit.summary.residual = em.residual;
  if (em.unbounded)
    fit.summary.warnings.emplace_back(
        "there is no maximum: some weights fall for ever against the others (of alternatives that never beat the rest, or that "
        "matter only where all others have none), and the fit was cut short; a > 1, gibbs or variational have an answer");
}

void fit_variationally(const RegressionData& data, const ShapeChoice& shape, const Options& options, const Run& run, Result& fit) {
  Fitted& model = fit.model;
  model.b = proper_rate(options);
  const VariationalResult q = fit_variational(
      data, {shape.fixed(), model.b, options.a_min, options.a_max, options.iterations, options.tolerance.value_or(1e-12)}, run);
  model.lambda = q.mean();
  model.shape = q.shape;
  model.rate = q.rate;
  model.a = q.a;
  fit.summary.stop_reason = q.stop_reason;
  fit.summary.iterations = q.steps;
  fit.summary.bound = q.bound;
}

void fit_by_gibbs(const RegressionData& data, const ShapeChoice& shape, const Options& options, const Run& run, Result& fit) {
  fit.model.b = proper_rate(options);
  std::vector<GibbsChain> chains;
  for (int c = 0; c < options.chains; ++c)
    chains.emplace_back(data, GibbsOptions{shape.fixed(), options.a_min, options.a_max, options.a_step},
                        RandomStream(run.seed, Purpose::chain, static_cast<std::uint64_t>(c)));
  const std::size_t k = data.num_classes, p = data.num_features();
  const ChainPlan plan = chain_plan(options, k * p);
  const Posterior posterior = run_with_checkpoints(chains, plan, data, options, run);
  take_posterior(posterior, options, plan, static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(p), run, fit);
  if (shape.learn) fit.model.a = posterior.hyper_mean();
  if (!(fit.model.a > 0.0)) fit.model.a = 1.0;
}

void fit_plackett_luce(const RegressionData& data, const Options& options, const Run& run, Result& fit) {
  const ShapeChoice shape = choose_shape(options);
  fit.model.a = shape.value;
  fit.summary.shape_learned = shape.learn || shape.cross_validate;
  if (options.method == Method::em)
    fit_by_em(data, shape, options, run, fit);
  else if (options.method == Method::variational)
    fit_variationally(data, shape, options, run, fit);
  else
    fit_by_gibbs(data, shape, options, run, fit);
  fit.summary.loglik = regression_loglik(data, fit.model.lambda, run.threads);
  fit.summary.log_posterior = fit.summary.loglik + log_prior(fit.model.lambda, fit.model.a, fit.model.b);
}

}  // namespace

Result fit(const Input& input, const Options& options, const Run& run) {
  const double begun = run.seconds();
  validate_options(options);
  if (options.a_min > options.a_max) throw UsageError("a-min is above a-max");
  const RegressionData& data = input.data;
  if (data.num_rows() == 0) throw DataError("there are no rows to learn from");
  Result result;
  Fitted& model = result.model;
  Summary& summary = result.summary;
  summary.warnings = input.warnings;
  note_unused(options, summary);
  model.method = options.method;
  model.classes = input.classes;
  model.features = input.map;
  model.ranking = data.ranking;
  model.unranked = data.unranked;
  model.target = input.target;
  model.seed = run.seed;
  Run own = run;
  std::optional<FileJournal> journal;
  std::optional<JournalScope> scope;
  if (!is_sampler(options.method) && !options.checkpoint.empty()) {
    journal.emplace(
        JournalPlan{options.checkpoint, options.checkpoint_every, true},
        fmt::format("caucus {}; iterations {}; {}", version(), options.iterations, checkpoint_key(data, options, run.seed)),
        run.ranks, [&run](std::string_view message) { run.warn(message); }, [&run] { return should_stop(run); });
    own.journal = &scope.emplace(*journal, "");
  }
  if (model.is_logit())
    fit_logit(input, options, own, result);
  else
    fit_plackett_luce(data, options, own, result);
  summary.num_nonzero = static_cast<std::size_t>((model.lambda.array() != 0.0).count());
  if (!std::isfinite(summary.loglik)) {
    summary.warnings.emplace_back(
        "some training outcomes have probability 0 under the weights; the log-likelihood is counted with 1e-300 for each");
    summary.loglik = std::max(summary.loglik, -690.0 * data.total_weight());
    summary.log_posterior = summary.loglik + (model.is_logit() ? 0.0 : log_prior(model.lambda, model.a, model.b));
  }
  summary.num_rows = data.num_rows();
  summary.num_features = data.num_features();
  summary.seconds = run.seconds() - begun;
  summary.seed = run.seed;
  summary.threads = resolve_threads(run.threads);
  summary.options = show_options(options);
  return result;
}

}  // namespace caucus::pl_regression
