// Tables 2 and 3 of Archambeau & Caron (2012): one fit for each data set, split and method serves both, and Figure 3.
#include "paper4.h"

#include <cstdio>
#include <span>

#include "caucus/base/random.h"
#include "caucus/evaluate/classification.h"
#include "caucus/evaluate/regression_scores.h"

namespace caucus::experiments::paper4 {

using pl_regression::Method;

namespace {

// What the paper prints: misclassification and its standard deviation, then seconds and effective sample size. 0: not printed.
struct Printed {
  double error, deviation, seconds, ess;
};
struct PrintedRow {
  const char* data;
  Printed logit, gibbs, variational;
};
constexpr PrintedRow printed[]{{"lenses", {.700, .087, 26.0, 304}, {.825, .071, 8.6, 2916}, {.821, .073, 0, 0}},
                               {"iris", {.086, .086, 139.9, 8}, {.186, .055, 10.8, 14}, {.181, .057, 0, 0}},
                               {"wine", {.080, .038, 184.9, 8}, {.048, .019, 15.1, 23}, {.093, .048, 0, 0}},
                               {"heart", {.215, .046, 128.8, 270}, {.170, .023, 16.0, 14}, {.223, .056, 0, 0}},
                               {"pima", {.240, .024, 409.6, 675}, {.238, .015, 23.2, 23}, {.239, .017, 0, 0}},
                               {"german", {.262, .021, 561.1, 418}, {.260, .017, 58.0, 17}, {.298, .015, 0, 0}},
                               {"sushi", {.672, 0, 21600, 0}, {.656, 0, 120, 0}, {0, 0, 0, 0}},
                               {"colon", {.33, .15, 0, 0}, {.36, .11, 0, 0}, {0, 0, 0, 0}}};

Printed in_paper(const std::string& data, const std::string& method) {
  for (const PrintedRow& row : printed)
    if (data.starts_with(row.data)) return method == "logit-lasso" ? row.logit : method == "gibbs" ? row.gibbs : row.variational;
  return {0, 0, 0, 0};
}

Table take_rows(const Table& table, std::span<const std::size_t> rows) {
  Table part;
  part.source = table.source;
  part.num_rows = rows.size();
  for (const Column& column : table.columns) {
    Column kept{column.name, {}, {}};
    for (const std::size_t row : rows) {
      if (column.is_numeric())
        kept.numbers.push_back(column.numbers[row]);
      else
        kept.texts.push_back(column.texts[row]);
    }
    part.columns.push_back(std::move(kept));
  }
  return part;
}

struct Split {
  Table train, test;
};
Split split_rows(const Table& table, const DataSet& set, int split) {
  std::vector<std::size_t> order(table.num_rows);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  RandomStream(1, Purpose::fold, static_cast<std::uint64_t>(split)).shuffle(std::span(order));
  const std::size_t num_train = set.num_train > 0 ? set.num_train : order.size() / 2;
  return {take_rows(table, std::span(order).first(num_train)), take_rows(table, std::span(order).subspan(num_train))};
}

Json fit_and_score(const Split& data, const Request& request, std::uint64_t seed, bool roc) {
  Run run;
  run.threads = 1;  // so that CPU seconds are the seconds of one core
  run.seed = seed;
  const double begun = cpu_seconds();
  const pl_regression::Result fit = pl_regression::fit(pl_regression::class_input(data.train, request.input), request.options, run);
  const double seconds = cpu_seconds() - begun;
  const pl_regression::Predictions predictions = pl_regression::predict_table(fit.model, data.test);
  const PredictionScores scores = score_predictions(predictions).value();
  Json line{{"cpu_seconds", brief(seconds)}};
  line["misclassification"] = brief(scores.misclassification);
  if (scores.num_unseen > 0) line["unseen"] = scores.num_unseen;  // rows of a class that training lacks: errors, with no log loss
  if (scores.log_loss) line["log_loss"] = brief(*scores.log_loss);
  if (scores.auc) line["auc"] = brief(*scores.auc);
  if (const auto& sampling = fit.summary.sampling; sampling && sampling->ess_min)
    line["ess_min"] = brief(*sampling->ess_min), line["ess_loglik"] = brief(*sampling->ess_loglik);
  if (!fit.model.is_logit()) line["a"] = brief(fit.model.a);
  line["num_nonzero"] = (fit.model.lambda.array() > 1e-4 * fit.model.lambda.cwiseAbs().sum()).count();
  line["loglik"] = brief(fit.summary.loglik);
  if (roc) line["roc"] = roc_on_grid(predictions);
  return line;
}

// How a is set: the paper's text allows more than one reading, and Tables 2 and 3 depend on it.
struct Variant {
  const char *name, *title;
  Method method;
  const char* a;
  pl_regression::ShapeStep step = pl_regression::ShapeStep::collapsed;
};
constexpr Variant variants[]{
    {"gibbs-given-weights", "a drawn given the weights", Method::gibbs, "learn", pl_regression::ShapeStep::given_weights},
    {"gibbs-a0.1", "a = 0.1", Method::gibbs, "0.1"},
    {"gibbs-a0.3", "a = 0.3", Method::gibbs, "0.3"},
    {"gibbs-a1", "a = 1", Method::gibbs, "1"},
    {"em-cv", "PL-EM, a by cross-validation", Method::em, "cv"}};

void run_shapes(const Settings& settings, Results& results) {
  for (const DataSet& set : data_sets) {
    if (set.num_train > 0 || (settings.quick && set.key != "wine")) continue;
    const int splits = settings.trials > 0 ? settings.trials : settings.quick ? 2 : set.splits;
    const Table table = load(set, settings.data);
    for (int split = 0; split < splits; ++split)
      for (const Variant& variant : variants) {
        const std::string key = fmt::format("shape/{}/{}/{}", set.key, split, variant.name);
        if (results.has(key)) continue;
        Request request = request_for(set, variant.method, settings.quick ? 600 : 10000);
        request.options.a = variant.a;
        request.options.a_step = variant.step;
        if (variant.method == Method::em) request.options.iterations = 5000;
        const std::uint64_t seed = static_cast<std::uint64_t>(split) + 1;
        results.add(key, seed, fit_and_score(split_rows(table, set, split), request, seed, false));
      }
  }
}

void run_some(const Settings& settings, Results& results, bool only_roc) {
  for (const DataSet& set : data_sets) {
    const bool roc = set.key == "heart" || set.key == "pima", large = set.key == "sushi" || set.key == "colon";
    if (only_roc && !roc) continue;
    if (settings.quick && set.num_train > 0 && !large) continue;
    const int splits = settings.trials > 0 ? settings.trials : settings.quick ? (large ? 1 : 2) : set.splits;
    const Table table = load(set, settings.data);
    for (int split = 0; split < splits; ++split) {
      const Split data = split_rows(table, set, split);
      for (const Method method : {Method::gibbs, Method::variational, Method::em, Method::logit_lasso}) {
        const std::string key = fmt::format("fit/{}/{}/{}", set.key, split, name_of(method));
        if (results.has(key)) continue;
        if (settings.quick && large && (method == Method::logit_lasso || method == Method::variational)) continue;  // too slow
        Request request = request_for(set, method, settings.quick ? (large ? 100 : 600) : 10000);
        if (method == Method::em || settings.quick) request.options.iterations = settings.quick ? 200 : 5000;
        const std::uint64_t seed = static_cast<std::uint64_t>(split) + 1;
        results.add(key, seed, fit_and_score(data, request, seed, roc));
        const Json& line = results.lines().at(key);
        fmt::print(stderr, "{}: misclassification {:.3f}, {:.1f} s\n", key, line["misclassification"].get<double>(),
                   line["cpu_seconds"].get<double>());
      }
    }
  }
}

std::string mean_cell(const Mean& mean, int digits) {
  return mean.count == 0 ? "not run" : fmt::format("{:.{}f} ({:.{}f})", mean.mean(), digits, mean.deviation(), digits);
}

std::string paper_cell(const Printed& paper) {
  if (paper.error == 0.0) return {};
  return paper.deviation == 0.0 ? fmt::format("{:.3f}", paper.error) : fmt::format("{:.3f} ({:.3f})", paper.error, paper.deviation);
}

// How far from the paper's, in the paper's standard deviations.
std::string apart(const Mean& ours, const Printed& paper) {
  return ours.count == 0 || paper.deviation == 0.0 ? std::string()
                                                   : fmt::format("{:+.1f}", (ours.mean() - paper.error) / paper.deviation);
}

Report report_table2(const Settings&, const Results& results) {
  std::string text =
      "Misclassification, mean (standard deviation) over splits. \"Apart\": ours minus the paper's, in the paper's standard "
      "deviations.\n\n"
      "| data | splits | logit-lasso | paper | PL-Gibbs | paper | apart | PL-Var | paper | apart | PL-EM (a = 1) |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n";
  const auto get = [&](const DataSet& set, const char* method, const char* field) {
    return over_splits(results, set.key, method, field);
  };
  std::vector<std::pair<std::string, std::vector<Series>>> rows;
  for (const DataSet& set : data_sets) {
    std::vector<Series> dots;
    for (const auto& [method, name] : {std::pair{"logit-lasso", "logit-lasso"}, std::pair{"gibbs", "PL-Gibbs"},
                                       std::pair{"variational", "PL-Var"}, std::pair{"em", "PL-EM"}}) {
      if (const Mean ours = get(set, method, "misclassification"); ours.count > 0) dots.push_back({name, {{ours.mean(), 0.0}}});
      if (const Printed paper = in_paper(set.key, method); paper.error > 0.0 && std::string(method) != "em")
        dots.push_back({std::string("paper: ") + name, {{paper.error, 0.0}}});
    }
    rows.emplace_back(set.name, dots);
    const Mean logit = get(set, "logit-lasso", "misclassification"), gibbs = get(set, "gibbs", "misclassification"),
               variational = get(set, "variational", "misclassification"), em = get(set, "em", "misclassification");
    const Printed paper_gibbs = in_paper(set.key, "gibbs"), paper_variational = in_paper(set.key, "variational");
    text +=
        fmt::format("| {} | {}{} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", set.name, gibbs.count,
                    logit.count > 0 && logit.count < gibbs.count ? fmt::format(" (logit-lasso {})", logit.count) : std::string(),
                    mean_cell(logit, 3), paper_cell(in_paper(set.key, "logit-lasso")), mean_cell(gibbs, 3), paper_cell(paper_gibbs),
                    apart(gibbs, paper_gibbs), mean_cell(variational, 3), paper_cell(paper_variational),
                    apart(variational, paper_variational), mean_cell(em, 3));
  }
  text +=
      "\nHeld-out log loss, and area under the ROC curve (three and more classes: each against the rest, averaged).\n\n"
      "| data | log loss: logit-lasso | PL-Gibbs | PL-Var | PL-EM | AUC: logit-lasso | PL-Gibbs | PL-Var | PL-EM "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const DataSet& set : data_sets) {
    text += "| " + set.name;
    for (const char* field : {"log_loss", "auc"})
      for (const char* method : {"logit-lasso", "gibbs", "variational", "em"})
        text += " | " + mean_cell(get(set, method, field), 3);
    text += " |\n";
  }
  text +=
      "\nThe learned a, and how many weights are above 1e-4 of the total.\n\n"
      "| data | a: PL-Gibbs | PL-Var | weights: PL-Gibbs, mean | PL-Var | PL-EM |\n|---|---|---|---|---|---|\n";
  for (const DataSet& set : data_sets)
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", set.name, mean_cell(get(set, "gibbs", "a"), 3),
                        mean_cell(get(set, "variational", "a"), 3), mean_cell(get(set, "gibbs", "num_nonzero"), 0),
                        mean_cell(get(set, "variational", "num_nonzero"), 0), mean_cell(get(set, "em", "num_nonzero"), 0));
  return {text, dot_chart("Misclassification, mean over splits", "share of the test rows", rows)};
}

Report report_table3(const Settings& settings, const Results& results) {
  const char* methods[] = {"logit-lasso", "gibbs"};
  std::string text = fmt::format(
      "CPU seconds of one core for {}, smallest effective sample size over the weights, and their ratio. Relative speed: the "
      "larger of the two ratios over this one, as in "
      "the paper.\n\n| data | method | seconds | paper | ESS | paper | seconds / ESS | paper | relative speed | paper "
      "|\n|---|---|---|---|---|---|---|---|---|---|\n",
      settings.quick ? "a few sweeps" : "10000 sweeps, 5000 of them kept");
  std::vector<std::pair<std::string, std::vector<Series>>> rows;
  const auto number = [](double value, int digits) { return value > 0.0 ? fmt::format("{:.{}f}", value, digits) : std::string(); };
  for (const DataSet& set : data_sets) {
    double seconds[2] = {0, 0}, ess[2] = {0, 0}, cost[2] = {0, 0}, paper_cost[2] = {0, 0};
    for (const int m : {0, 1}) {
      const Printed paper = in_paper(set.key, methods[m]);
      const Mean time = over_splits(results, set.key, methods[m], "cpu_seconds");
      if (time.count > 0)
        seconds[m] = time.mean(), ess[m] = over_splits(results, set.key, methods[m], "ess_min").mean(),
        cost[m] = seconds[m] / ess[m];
      if (paper.ess > 0.0) paper_cost[m] = paper.seconds / paper.ess;
    }
    std::vector<Series> dots;
    for (const int m : {0, 1}) {
      const std::string name = m == 0 ? "logit-lasso" : "PL-Gibbs";
      if (cost[m] > 0.0) dots.push_back({name, {{std::log10(cost[m]), 0.0}}});
      if (paper_cost[m] > 0.0) dots.push_back({"paper: " + name, {{std::log10(paper_cost[m]), 0.0}}});
    }
    rows.emplace_back(set.name, dots);
    for (const int m : {0, 1}) {
      const Printed paper = in_paper(set.key, methods[m]);
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", set.name, m == 0 ? "logit-lasso" : "PL-Gibbs",
                          seconds[m] > 0.0 ? number(seconds[m], 2) : "not run", number(paper.seconds, 1), number(ess[m], 0),
                          number(paper.ess, 0), number(cost[m], 5), number(paper_cost[m], 3),
                          cost[0] > 0.0 && cost[1] > 0.0 ? number(std::max(cost[0], cost[1]) / cost[m], 1) : std::string(),
                          paper_cost[m] > 0.0 ? number(std::max(paper_cost[0], paper_cost[1]) / paper_cost[m], 0) : std::string());
    }
  }
  return {text, dot_chart("Seconds per effective draw (the paper: Matlab, 2012)", "CPU seconds", rows, true)};
}

// Both tables side by side: a reading of how a is set must fit both.
Report report_shapes(const Settings&, const Results& results) {
  std::string text =
      "Misclassification, mean (standard deviation) over splits; smallest effective sample size of 5000 draws, mean; half of the "
      "rows to learn from. In brackets the splits of the column \"a learned\" and of those after it.\n\n| data | paper: PL-Gibbs | "
      "a learned, collapsed |";
  for (const Variant& variant : variants) text += fmt::format(" {} |", variant.title);
  text += "\n|---|---|---|";
  std::vector<std::string> names{"gibbs"};
  for (const Variant& variant : variants) names.emplace_back(variant.name), text += "---|";
  text += "\n";
  bool any = false;
  for (const DataSet& set : data_sets) {
    if (set.num_train > 0 || over_splits(results, set.key, variants[0].name, "misclassification").count == 0) continue;
    any = true;
    const Printed paper = in_paper(set.key, "gibbs");
    text += fmt::format("| {} ({}, {} splits) | {}; ESS {:.0f} |", set.name,
                        over_splits(results, set.key, "gibbs", "misclassification").count,
                        over_splits(results, set.key, variants[0].name, "misclassification").count, paper_cell(paper), paper.ess);
    for (const std::string& name : names) {
      text += " " + mean_cell(over_splits(results, set.key, name, "misclassification"), 3);
      if (const Mean ess = over_splits(results, set.key, name, "ess_min"); ess.count > 0)
        text += fmt::format("; ESS {:.0f}", ess.mean());
      if (const Mean a = over_splits(results, set.key, name, "a"); a.count > 0 && a.deviation() > 1e-6)
        text += fmt::format("; a {:.3f}", a.mean());
      text += " |";
    }
    text += "\n";
  }
  return any ? Report{text, ""} : Report{};
}

}  // namespace

Table load(const DataSet& set, const std::string& folder) {
  Table table = read_table(folder + "/uci/" + set.file);
  if (set.key == "colon")
    for (Column& column : table.columns)
      if (column.name != "class")
        for (double& value : column.numbers) value = std::log(value);
  return table;
}

Request request_for(const DataSet& set, Method method, int sweeps) {
  Request request;
  request.options.method = method;
  request.input.target = "class";
  request.input.ignore = set.ignore;
  request.options.sweeps = sweeps;
  request.options.chains = 1;
  request.options.draws = 5000;
  return request;
}

Mean over_splits(const Results& results, const std::string& data, const std::string& method, const std::string& field) {
  Mean mean;
  for (const auto& [key, line] : results.lines())
    if ((key.starts_with("fit/" + data + "/") || key.starts_with("shape/" + data + "/")) && key.ends_with("/" + method) &&
        line.contains(field))
      mean.add(line[field].get<double>());
  return mean;
}

std::vector<double> roc_on_grid(const pl_regression::Predictions& predictions) {
  std::vector<double> scores;
  std::vector<std::uint8_t> positive;
  for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
    scores.push_back(predictions.probabilities(static_cast<Eigen::Index>(predictions.labelled[i]), 1));
    positive.push_back(predictions.labels[i] == 1 ? 1 : 0);
  }
  const std::vector<RocPoint> curve = roc_curve(scores, positive);
  std::vector<double> rates;
  std::size_t at = 0;
  for (int step = 0; step <= roc_steps && !curve.empty(); ++step) {
    const double x = static_cast<double>(step) / roc_steps;
    while (at + 1 < curve.size() && curve[at + 1].false_positive_rate <= x) ++at;
    double y = curve[at].true_positive_rate;
    if (at + 1 < curve.size()) {
      const RocPoint &from = curve[at], &to = curve[at + 1];
      y += (to.true_positive_rate - from.true_positive_rate) * (x - from.false_positive_rate) /
           (to.false_positive_rate - from.false_positive_rate);
    }
    rates.push_back(std::round(1e4 * y) / 1e4);
  }
  return rates;
}

void run_fits(const Settings& settings, Results& results) { run_some(settings, results, false); }
void run_roc_fits(const Settings& settings, Results& results) { run_some(settings, results, true); }

}  // namespace caucus::experiments::paper4

namespace caucus::experiments {

std::vector<Target> paper4_targets() {
  using namespace paper4;
  return {{"paper4-figure2", "regularization paths of iris", run_figure2, report_figure2, {"path/"}},
          {"paper4-table2", "misclassification, log loss and AUC of eight data sets", run_fits, report_table2, {"fit/"}},
          {"paper4-shape", "Tables 2 and 3 for other ways to set a", run_shapes, report_shapes, {"shape/"}},
          {"paper4-figure3", "ROC of heart and pima", run_roc_fits, report_figure3, {"fit/heart/", "fit/pima/"}},
          {"paper4-table3", "seconds, effective sample size and relative speed", run_fits, report_table3, {"fit/"}},
          {"paper4-figure4", "decision regions of iris", run_figure4, report_figure4, {"regions/"}}};
}

}  // namespace caucus::experiments
