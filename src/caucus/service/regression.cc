#include "caucus/service/regression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "caucus/base/error.h"
#include "caucus/evaluate/classification.h"
#include "caucus/evaluate/mcmc_diagnostics.h"
#include "caucus/infer/family.h"
#include "caucus/infer/pl_regression/em.h"
#include "caucus/infer/pl_regression/gibbs.h"
#include "caucus/infer/pl_regression/logit_lasso.h"
#include "caucus/infer/pl_regression/variational.h"
#include "caucus/io/io.h"
#include "caucus/io/source.h"

namespace caucus {

using namespace pl_regression;

namespace {

std::vector<Column> covariate_columns(std::span<const Column> columns, const RegressionRequest& request) {
  for (const std::string& name : request.ignore)
    if (std::none_of(columns.begin(), columns.end(), [&](const Column& column) { return column.name == name; }))
      throw UsageError(fmt::format("ignore: the table has no column '{}'", name));
  std::vector<Column> kept;
  for (const Column& column : columns)
    if (column.name != request.target &&
        std::find(request.ignore.begin(), request.ignore.end(), column.name) == request.ignore.end())
      kept.push_back(column);
  return kept;
}

// How many sweeps apart draws are kept, so that all of them fit in 256 MB.
int automatic_thin(const Options& options, int burnin, std::size_t num_coefficients) {
  const double numbers = static_cast<double>(num_coefficients) * options.chains * std::max(options.sweeps - burnin, 1);
  return std::max(1, static_cast<int>(std::ceil(numbers / 64e6)));
}

ChainPlan chain_plan(const Options& options, std::size_t num_coefficients) {
  ChainPlan plan;
  plan.iterations = options.sweeps;
  plan.burnin = options.burnin.value_or(options.sweeps / 2);
  if (plan.burnin >= plan.iterations)
    throw UsageError(
        fmt::format("burnin = {} leaves none of {} sweeps; --sweeps counts the burn-in too", plan.burnin, plan.iterations));
  plan.thin = options.thin.value_or(automatic_thin(options, plan.burnin, num_coefficients));
  return plan;
}

// What a checkpoint must agree on: everything that bears on the chains but the number of sweeps. More sweeps go on where it
// ends, if the burn-in stays as it was.
std::string checkpoint_key(const RegressionInput& input, const RegressionRequest& request, const Run& run) {
  OptionMap options = show_options(request.options);
  for (const char* name : {"iterations", "sweeps", "draws", "burnin", "thin"}) options.erase(name);  // the plan says these
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const RegressionData& data = input.data;
  XXH3_128bits_update(state, data.w.data(), static_cast<std::size_t>(data.w.size()) * sizeof(double));
  XXH3_128bits_update(state, data.outcome.data(), data.outcome.size() * sizeof(data.outcome[0]));
  XXH3_128bits_update(state, data.offsets.data(), data.offsets.size() * sizeof(std::size_t));
  XXH3_128bits_update(state, data.weights.data(), data.weights.size() * sizeof(double));
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{} seed {} {} {:016x}{:016x}", name_of(request.method), run.seed, fmt::join(options, " "), hash.high64,
                     hash.low64);
}

template <class Chain>
pl_regression::Posterior run_with_checkpoints(std::vector<Chain>& chains, const ChainPlan& plan, const RegressionInput& input,
                                              const RegressionRequest& request, const Run& run) {
  if (request.checkpoint.empty()) return run_chains(chains, plan, run);
  Checkpointing checkpoints;
  checkpoints.key = checkpoint_key(input, request, run);
  checkpoints.every = request.checkpoint_every;
  checkpoints.save = [path = request.checkpoint](const std::string& text) { write_file(path, text); };
  if (std::filesystem::exists(request.checkpoint)) checkpoints.resume = std::string(Source::open(request.checkpoint).text());
  try {
    return run_chains(chains, plan, run, checkpoints);
  } catch (const DataError& failure) {
    throw DataError(fmt::format("{}: {}", request.checkpoint, failure.what()));
  }
}

struct Diagnosis {
  double ess_min = 0.0, rhat_max = 1.0;
};
Diagnosis diagnose(const pl_regression::Posterior& posterior, int threads) {
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

void take_posterior(const pl_regression::Posterior& posterior, const Options& options, const ChainPlan& plan, Eigen::Index rows,
                    Eigen::Index columns, const Run& run, RegressionFit& fit) {
  fit.model.lambda = as_matrix(posterior.mean(), rows, columns);
  fit.model.median = as_matrix(posterior.median(), rows, columns);
  std::size_t total = 0;
  for (std::size_t c = 0; c < posterior.chains.size(); ++c) total += posterior.num_draws(c);
  if (total == 0) {
    fit.summary.warnings.emplace_back("stopped during burn-in: there are no draws; the weights are not an estimate");
    fit.model.lambda.setConstant(1.0 / static_cast<double>(rows * columns));
  }
  const std::size_t limit = std::max<std::size_t>(
      1, std::min<std::size_t>(static_cast<std::size_t>(options.draws), 2000000 / posterior.num_coefficients));
  const std::size_t kept = std::min(total, limit);
  for (std::size_t i = 0; i < kept; ++i) {  // evenly over all chains
    std::size_t index = i * total / kept, chain = 0;
    while (index >= posterior.num_draws(chain)) index -= posterior.num_draws(chain++);
    RowMatrix draw(rows, columns);
    for (Eigen::Index j = 0; j < draw.size(); ++j)
      draw.data()[j] = six_digits(static_cast<double>(posterior.draw(chain, index)[j]));
    fit.model.draws.push_back(std::move(draw));
  }
  fit.summary.stop_reason = posterior.stop_reason;
  fit.summary.iterations = posterior.iterations;
  if (total > 0) {
    const Diagnosis diagnosis = diagnose(posterior, run.threads);
    fit.summary.ess_min = diagnosis.ess_min;
    if (std::isfinite(diagnosis.rhat_max))
      fit.summary.rhat_max = diagnosis.rhat_max;
    else
      fit.summary.warnings.emplace_back("some weights stand still at different values in different chains: run longer");
    std::vector<std::vector<double>> loglik;
    double mean_loglik = 0.0;
    for (const ChainDraws& draws : posterior.chains) {
      loglik.push_back(draws.loglik);
      for (const double value : draws.loglik) mean_loglik += value / static_cast<double>(total);
    }
    fit.summary.ess_loglik = effective_sample_size(loglik);
    fit.summary.details["posterior_mean_loglik"] = mean_loglik;
    fit.summary.details["rhat_loglik"] = split_rhat(loglik);
    if (diagnosis.rhat_max > 1.1)
      fit.summary.warnings.push_back(
          fmt::format("R-hat is up to {:.2f}: the chains have not met; more sweeps make the weights surer", diagnosis.rhat_max));
  }
  fit.summary.details["chains"] = posterior.chains.size();
  fit.summary.details["burnin"] = plan.burnin;
  fit.summary.details["thin"] = plan.thin;
  fit.summary.details["num_draws"] = total;
}

// Flags that a method has no use for are said, not passed over.
void note_unused(const RegressionRequest& request, RegressionSummary& summary) {
  const bool sampler = request.method == Method::gibbs || request.method == Method::logit_lasso;
  if (request.method == Method::logit_lasso && (request.options.a != "auto" || request.options.b))
    summary.warnings.emplace_back("logit-lasso has no a and b: they are not used; its prior is set by lasso-shape and lasso-rate");
  if (!sampler && !request.checkpoint.empty())
    summary.warnings.push_back(fmt::format("{} keeps no checkpoint; it is for gibbs and logit-lasso", name_of(request.method)));
}

struct ShapeChoice {
  bool learn = false, cross_validate = false;
  double value = 1.0;
};
ShapeChoice choose_shape(const RegressionRequest& request) {
  const std::string& text = request.options.a;
  const bool em = request.method == Method::em;
  if (text == "auto") return {!em, false, 1.0};
  if (text == "learn") {
    if (em) throw UsageError("a = learn: em does not learn a; give a number or cv, or use gibbs or variational");
    return {true, false, 1.0};
  }
  if (text == "cv") {
    if (!em) throw UsageError("a = cv: cross-validation is for em; gibbs and variational learn a by themselves");
    return {false, true, 1.0};
  }
  const double value = detail::parse_double("a", text);
  if (!(value > 0.0 && value <= 1e6)) throw UsageError(fmt::format("a = {} is outside (0, 1e+06]", text));
  return {false, false, value};
}

double rate_for(const Options& options, double a) { return options.b.value_or(a == 1.0 ? 0.0 : 1.0); }

// Mean held-out log loss of em for each a; the best one, ties to the larger a.
double cross_validated_shape(const RegressionInput& input, const RegressionRequest& request, const Run& run,
                             RegressionSummary& summary) {
  const std::vector<double> grid{5.0, 2.0, 1.5, 1.2, 1.0, 0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05};
  const std::size_t n = input.data.num_rows();
  const auto folds = static_cast<std::size_t>(request.options.folds);
  if (n < folds) throw DataError(fmt::format("folds = {} is more than the {} rows", folds, n));
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  RandomStream(run.seed, Purpose::fold).shuffle(std::span(order));
  double best_loss = infinity, best = 1.0;
  for (const double a : grid) {
    double loss = 0.0, wrong = 0.0, count = 0.0;
    for (std::size_t fold = 0; fold < folds; ++fold) {
      std::vector<std::size_t> in, out;
      for (std::size_t i = 0; i < n; ++i) (i % folds == fold ? out : in).push_back(order[i]);
      const RegressionData train_part = input.data.select(in), test_part = input.data.select(out);
      Run quiet = run;
      quiet.observer = nullptr;
      const EmResult fit =
          fit_em(train_part, {a, rate_for(request.options, a), std::min(request.options.iterations, 2000), 1e-10}, quiet);
      const RowMatrix probabilities = class_probabilities(test_part.w, fit.lambda);
      for (std::size_t i = 0; i < test_part.num_rows(); ++i) {
        const std::size_t one[] = {i};
        loss -= std::max(regression_loglik(test_part.select(one), fit.lambda), std::log(1e-15));
        const auto row =
            std::span(probabilities.data() + static_cast<std::ptrdiff_t>(i * input.data.num_classes), input.data.num_classes);
        wrong += most_probable(row) == test_part.order(i)[0] ? 0.0 : 1.0;
        count += 1.0;
      }
      StopReason why{};
      if (run.report({"cross-validation", static_cast<int>(fold) + 1, static_cast<int>(folds), -loss}, why) == Flow::stop)
        return best;
    }
    summary.details["cross_validation"].push_back({{"a", a}, {"log_loss", loss / count}, {"misclassification", wrong / count}});
    if (loss < best_loss) best_loss = loss, best = a;
  }
  return best;
}

}  // namespace

nlohmann::ordered_json RegressionSummary::to_json() const {
  nlohmann::ordered_json json{{"log_posterior", log_posterior},
                              {"loglik", loglik},
                              {"num_nonzero", num_nonzero},
                              {"stop_reason", name_of(stop_reason)},
                              {"iterations", iterations}};
  if (ess_min) json["ess_min"] = *ess_min;
  if (rhat_max) json["rhat_max"] = *rhat_max;
  if (ess_loglik) json["ess_loglik"] = *ess_loglik;
  json.update(details);
  if (!warnings.empty()) json["warnings"] = warnings;
  return json;
}

std::string class_in(const Column& column, std::size_t row) {
  if (!column.is_numeric()) return column.texts[row];
  return std::isnan(column.numbers[row]) ? std::string() : fmt::format("{}", column.numbers[row]);
}

RegressionInput class_input(const Table& table, const RegressionRequest& request) {
  const Column& target = table.column(request.target);
  RegressionInput input;
  std::vector<Column> columns = covariate_columns(table.columns, request);
  // Rows without a class cannot teach.
  std::vector<std::size_t> known;
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    if (!class_in(target, row).empty()) {
      known.push_back(row);
      continue;
    }
    if (request.features.missing == MissingValues::error)
      throw DataError(fmt::format("{}: row {}: the target '{}' is missing; --missing drop leaves such rows out", table.source,
                                  row + 1, request.target));
  }
  if (known.size() < table.num_rows) {
    input.warnings.push_back(fmt::format("{} rows without a target were left out", table.num_rows - known.size()));
    for (Column& column : columns) {
      Column kept{column.name, {}, {}};
      for (const std::size_t row : known) {
        if (column.is_numeric())
          kept.numbers.push_back(column.numbers[row]);
        else
          kept.texts.push_back(column.texts[row]);
      }
      column = std::move(kept);
    }
  }
  if (known.empty()) throw DataError(fmt::format("{}: there are no rows to learn from", table.source));
  std::map<std::string, std::uint32_t> numbers;
  for (const std::size_t row : known) numbers.emplace(class_in(target, row), 0);
  if (numbers.size() < 2)
    throw DataError(fmt::format("{}: the target '{}' has only the class '{}'; a regression needs at least two", table.source,
                                request.target, numbers.begin()->first));
  if (numbers.size() > 20 && 2 * numbers.size() > known.size())
    throw DataError(fmt::format("{}: the target '{}' has {} different values in {} rows: a column of classes is expected",
                                table.source, request.target, numbers.size(), known.size()));
  for (const auto& [name, number] : numbers) input.classes.push_back(name);
  if (target.is_numeric())
    std::sort(input.classes.begin(), input.classes.end(), [](const std::string& a, const std::string& b) {
      return detail::parse_double("class", a) < detail::parse_double("class", b);
    });
  for (std::size_t k = 0; k < input.classes.size(); ++k) numbers[input.classes[k]] = static_cast<std::uint32_t>(k);
  try {
    input.map = FeatureMap::learn(columns, request.features, input.warnings);
    EncodedRows encoded = input.map.encode(columns);
    input.warnings.insert(input.warnings.end(), encoded.warnings.begin(), encoded.warnings.end());
    input.data.w = input.map.features(encoded.x, encoded.rows);
    input.x = std::move(encoded.x);
    for (const std::size_t row : encoded.rows) input.data.outcome.push_back(numbers.at(class_in(target, known[row])));
  } catch (const DataError& failure) {
    throw DataError(fmt::format("{}: {}", table.source, failure.what()));
  }
  input.data.num_classes = input.classes.size();
  return input;
}

RegressionInput ranking_input(const Dataset& data, const RegressionRequest& request) {
  require_accepted({true, true, true, false}, data, "pl-regression");
  if (data.covariates.empty())
    throw DataError(fmt::format("{}: there are no covariates; a CSV of ballots needs columns about the voters beside the rankings",
                                data.source));
  RegressionInput input;
  input.classes = data.items;
  const std::vector<Column> columns = covariate_columns(data.covariates, request);
  try {
    input.map = FeatureMap::learn(columns, request.features, input.warnings);
    EncodedRows encoded = input.map.encode(columns);
    input.warnings.insert(input.warnings.end(), encoded.warnings.begin(), encoded.warnings.end());
    input.data.w = input.map.features(encoded.x, encoded.rows);
    input.x = std::move(encoded.x);
    input.data.ranking = true;
    input.data.unranked = data.unranked;
    input.data.num_classes = data.num_items();
    input.data.offsets = {0};
    bool weighted = false;
    for (const std::size_t row : encoded.rows) {
      for (const ItemId item : data.rankings[data.rankings.row_ranking(row)].items()) input.data.outcome.push_back(item);
      input.data.offsets.push_back(input.data.outcome.size());
      input.data.weights.push_back(data.rankings.row_weight(row));
      weighted |= input.data.weights.back() != 1.0;
    }
    if (!weighted) input.data.weights.clear();
  } catch (const DataError& failure) {
    throw DataError(fmt::format("{}: {}", data.source, failure.what()));
  }
  return input;
}

RegressionFit train(const RegressionInput& input, const RegressionRequest& request, const Run& run) {
  validate_options(request.options);
  const Options& options = request.options;
  if (options.a_min > options.a_max) throw UsageError("a-min is above a-max");
  const RegressionData& data = input.data;
  if (data.num_rows() == 0) throw DataError("there are no rows to learn from");
  RegressionFit fit;
  RegressionModel& model = fit.model;
  RegressionSummary& summary = fit.summary;
  summary.warnings = input.warnings;
  note_unused(request, summary);
  model.method = request.method;
  model.classes = input.classes;
  model.features = input.map;
  model.ranking = data.ranking;
  model.unranked = data.unranked;
  model.target = request.target;
  model.seed = run.seed;
  const auto k = static_cast<Eigen::Index>(data.num_classes), p = static_cast<Eigen::Index>(data.num_features());

  if (request.method == Method::logit_lasso) {
    if (data.ranking) throw UsageError("logit-lasso takes class labels, not rankings; use em, gibbs or variational");
    LogitData logit;
    logit.num_classes = data.num_classes;
    logit.labels = data.outcome;
    logit.x.resize(input.x.rows(), input.x.cols() + 1);
    logit.x << input.x, Eigen::VectorXd::Ones(input.x.rows());
    std::vector<LogitChain> chains;
    for (int c = 0; c < options.chains; ++c)
      chains.emplace_back(logit, LogitOptions{options.lasso_shape, options.lasso_rate, options.intercept_variance},
                          RandomStream(run.seed, Purpose::chain, static_cast<std::uint64_t>(c)));
    const ChainPlan plan = chain_plan(options, static_cast<std::size_t>((k - 1) * logit.x.cols()));
    const pl_regression::Posterior posterior = run_with_checkpoints(chains, plan, input, request, run);
    take_posterior(posterior, options, plan, k - 1, logit.x.cols(), run, fit);
    if (model.draws.empty()) model.lambda.setZero();
    const double theta = posterior.hyper_mean();
    summary.details["theta"] = theta;
    const RowMatrix probabilities = logit_probabilities(logit.x, model.lambda);
    for (Eigen::Index i = 0; i < probabilities.rows(); ++i)
      summary.loglik += std::log(probabilities(i, logit.labels[static_cast<std::size_t>(i)]));
    // The Laplace prior of scale 1 / sqrt(theta) at the posterior mean.
    summary.log_posterior = summary.loglik - std::sqrt(theta) * model.lambda.leftCols(input.x.cols()).cwiseAbs().sum();
  } else {
    const ShapeChoice shape = choose_shape(request);
    model.a = shape.value;
    if (request.method == Method::em) {
      if (shape.cross_validate) model.a = cross_validated_shape(input, request, run, summary);
      model.b = rate_for(options, model.a);
      const EmResult em = fit_em(data, {model.a, model.b, options.iterations, options.tolerance.value_or(1e-14)}, run);
      model.lambda = em.lambda;
      summary.stop_reason = em.stop_reason;
      summary.iterations = em.steps;
      summary.details["residual"] = em.residual;
      if (em.unbounded)
        summary.warnings.emplace_back(
            "there is no maximum: some weights fall for ever against the others (of alternatives that never beat the rest, or that "
            "matter only "
            "where all others have none), and the fit was cut short; a > 1, gibbs or variational have an answer");
    } else if (request.method == Method::variational) {
      model.b = options.b.value_or(1.0);
      if (!(model.b > 0.0)) throw UsageError("b = 0: the prior would be improper; give b > 0 (it sets only the scale)");
      const VariationalResult q = fit_variational(data,
                                                  {shape.learn ? std::nullopt : std::optional(shape.value), model.b, options.a_min,
                                                   options.a_max, options.iterations, options.tolerance.value_or(1e-12)},
                                                  run);
      model.lambda = q.mean();
      model.shape = q.shape;
      model.rate = q.rate;
      model.a = q.a;
      summary.stop_reason = q.stop_reason;
      summary.iterations = q.steps;
      summary.details["bound"] = q.bound;
    } else {
      model.b = options.b.value_or(1.0);
      if (!(model.b > 0.0)) throw UsageError("b = 0: the prior would be improper; give b > 0 (it sets only the scale)");
      std::vector<GibbsChain> chains;
      for (int c = 0; c < options.chains; ++c)
        chains.emplace_back(data,
                            GibbsOptions{shape.learn ? std::nullopt : std::optional(shape.value), options.a_min, options.a_max},
                            RandomStream(run.seed, Purpose::chain, static_cast<std::uint64_t>(c)));
      const ChainPlan plan = chain_plan(options, static_cast<std::size_t>(k * p));
      const pl_regression::Posterior posterior = run_with_checkpoints(chains, plan, input, request, run);
      take_posterior(posterior, options, plan, k, p, run, fit);
      if (shape.learn) model.a = posterior.hyper_mean();
      if (!(model.a > 0.0)) model.a = 1.0;
    }
    summary.loglik = regression_loglik(data, model.lambda, run.threads);
    summary.log_posterior = summary.loglik + log_prior(model.lambda, model.a, model.b);
    summary.details["a"] = model.a;
    summary.details["b"] = model.b;
    summary.details["a_learned"] = shape.learn || shape.cross_validate;
  }
  summary.num_nonzero = static_cast<std::size_t>((model.lambda.array() != 0.0).count());
  if (!std::isfinite(summary.loglik)) {
    summary.warnings.emplace_back(
        "some training outcomes have probability 0 under the weights; the log-likelihood is counted with 1e-300 for each");
    summary.loglik = std::max(summary.loglik, -690.0 * data.total_weight());
    summary.log_posterior = summary.loglik + (model.is_logit() ? 0.0 : log_prior(model.lambda, model.a, model.b));
  }
  summary.details["num_rows"] = data.num_rows();
  summary.details["num_features"] = data.num_features();
  summary.details["seconds"] = run.seconds();
  summary.details["seed"] = run.seed;
  summary.details["threads"] = resolve_threads(run.threads);
  summary.details["options"] = show_options(options);
  model.fit = summary.to_json();
  return fit;
}

RegressionFit train_classes(const Table& table, const RegressionRequest& request, const Run& run) {
  return train(class_input(table, request), request, run);
}

RegressionFit train_rankings(const Dataset& data, const RegressionRequest& request, const Run& run) {
  return train(ranking_input(data, request), request, run);
}

}  // namespace caucus
