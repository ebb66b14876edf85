// Figures 2 to 4 of Archambeau & Caron (2012).
#include <span>

#include "caucus/evaluate/classification.h"
#include "caucus/infer/pl_regression/path.h"
#include "paper4.h"

namespace caucus::experiments::paper4 {

using pl_regression::Method;

namespace {

const DataSet iris{"iris", "iris", "iris.csv", {}, 0, 1};
struct Estimate {
  const char *key, *title;
};
constexpr Estimate estimates[]{{"map", "MAP (EM)"},
                               {"posterior-mean", "posterior mean (Gibbs)"},
                               {"posterior-median", "posterior median (Gibbs)"},
                               {"variational-mean", "variational mean"}};

// 10 down to 0.01 in equal steps of the logarithm, two digits: these are also the labels.
std::vector<double> path_grid(bool quick) {
  std::vector<double> grid = pl_regression::default_path_grid(quick ? 4 : 19);
  for (double& a : grid) a = brief(a, 2.0);
  return grid;
}

std::string path_key(double a) { return fmt::format("path/iris/{}", a); }

constexpr int cells = 60;
constexpr double region_low = -2.0, region_high = 2.5;
struct Panel {
  const char *key, *title;
  Method method;
  std::vector<std::string> formulas;
};
const std::vector<Panel>& panels() {
  static const std::vector<Panel> all{
      {"regions/iris/gibbs", "PL-Gibbs, exp(x), exp(-x)", Method::gibbs, {}},
      {"regions/iris/gibbs-sums", "PL-Gibbs, exp(x1 + x2), exp(-x1 - x2) too", Method::gibbs, {"exp(x1 + x2); exp(-x1 - x2)"}},
      {"regions/iris/logit-lasso", "logit-lasso", Method::logit_lasso, {}}};
  return all;
}

}  // namespace

void run_figure2(const Settings& settings, Results& results) {
  const std::vector<double> grid = path_grid(settings.quick);
  bool complete = true;
  for (const double a : grid) complete &= results.has(path_key(a));
  if (complete) return;
  Request request = request_for(iris, Method::em, settings.quick ? 600 : 10000);
  request.options.iterations = 5000;
  const pl_regression::Input input = pl_regression::class_input(load(iris, settings.data), request.input);
  Run run;
  run.threads = settings.threads;
  const std::vector<pl_regression::PathPoint> path = pl_regression::regularization_path(input, request.options, grid, run);
  for (const double a : grid) {
    Json line;
    for (const pl_regression::PathPoint& point : path) {
      if (point.a != a) continue;
      Json& weights = line[point.estimate] = Json::array();
      for (Eigen::Index j = 0; j < point.lambda.size(); ++j) weights.push_back(brief(point.lambda.data()[j], 4.0));
    }
    if (a == grid.front())  // class and feature of each weight
      for (const std::string& name : input.classes)
        for (const auto& feature : input.map.list()) line["names"].push_back(fmt::format("{}: {}", name, feature.name));
    if (!results.has(path_key(a))) results.add(path_key(a), run.seed, line);
  }
}

Report report_figure2(const Settings& settings, const Results& results) {
  Report report;
  report.table = "Weights of iris above 1e-3 of the total, and the largest, as a falls.\n\n| a |";
  for (const Estimate& estimate : estimates) report.table += fmt::format(" {} | largest |", estimate.title);
  report.table += "\n|---|---|---|---|---|---|---|---|---|\n";
  std::vector<std::vector<Series>> lines(std::size(estimates));
  for (const double a : path_grid(settings.quick)) {
    const auto found = results.lines().find(path_key(a));
    if (found == results.lines().end()) return {};
    report.table += fmt::format("| {} |", a);
    for (std::size_t e = 0; e < lines.size(); ++e) {
      const auto weights = found->second[estimates[e].key].get<std::vector<double>>();
      lines[e].resize(weights.size());
      std::size_t above = 0;
      for (std::size_t j = 0; j < weights.size(); ++j)
        lines[e][j].points.emplace_back(a, weights[j]), above += weights[j] > 1e-3 ? 1 : 0;
      report.table += fmt::format(" {} of {} | {:.3f} |", above, weights.size(), *std::max_element(weights.begin(), weights.end()));
    }
    report.table += "\n";
  }
  const Json& first = results.lines().at(path_key(path_grid(settings.quick).front()));
  if (first.contains("names")) {  // the lines that stand out are named beside the last panel, and drawn over the others
    std::vector<std::vector<Series>> rest(lines.size()), above(lines.size());
    for (std::size_t j = 0; j < lines.back().size(); ++j) {
      const bool named = std::ranges::any_of(lines.back()[j].points, [](const auto& point) { return point.second > 0.062; });
      if (named) lines.back()[j].name = first["names"][j].get<std::string>();
      for (std::size_t e = 0; e < lines.size(); ++e) (named ? above : rest)[e].push_back(lines[e][j]);
    }
    for (std::size_t e = 0; e < lines.size(); ++e) {
      lines[e] = std::move(rest[e]);
      lines[e].insert(lines[e].end(), above[e].begin(), above[e].end());
    }
  }
  std::string body;
  for (std::size_t e = 0; e < lines.size(); ++e)
    body += line_chart(estimates[e].title, "a", e == 0 ? "weight, of a total of 1" : "", lines[e],
                       60.0 + 365.0 * static_cast<double>(e), false);
  report.svg = svg_page(60 + 365 * 4 + 150, 375, body);
  return report;
}

// The curves of the splits are averaged at equal false positive rates.
Report report_figure3(const Settings&, const Results& results) {
  Report report;
  report.table =
      "True positive rate at a false positive rate, mean over splits.\n\n| data | method | 0.05 | 0.1 | 0.2 | 0.3 | 0.5 | AUC "
      "|\n|---|---|---|---|---|---|---|---|\n";
  std::string body;
  double left = 60.0;
  for (const std::string data : {"heart", "pima"}) {
    std::vector<Series> lines;
    for (const char* method : {"gibbs", "variational", "logit-lasso"}) {
      std::vector<Mean> rates(roc_steps + 1);
      for (const auto& [key, line] : results.lines())
        if (key.starts_with("fit/" + data + "/") && key.ends_with(std::string("/") + method))
          for (std::size_t i = 0; i < rates.size(); ++i) rates[i].add(line["roc"][i].get<double>());
      if (rates.front().count == 0) continue;
      const std::string name = std::string(method) == "gibbs"         ? "PL-Gibbs"
                               : std::string(method) == "variational" ? "PL-Var"
                                                                      : method;
      const double area = over_splits(results, data, method, "auc").mean();
      report.table += fmt::format("| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |\n", data, name,
                                  rates[2].mean(), rates[4].mean(), rates[8].mean(), rates[12].mean(), rates[20].mean(), area);
      lines.push_back({fmt::format("{}, AUC {:.3f}", name, area), {{0.0, 0.0}}});
      for (int i = 0; i <= roc_steps; ++i)
        lines.back().points.emplace_back(static_cast<double>(i) / roc_steps, rates[static_cast<std::size_t>(i)].mean());
    }
    body += line_chart(data, "false positive rate", "true positive rate", lines, left, false, false);
    left += 500.0;
  }
  report.svg = svg_page(1020, 375, body);
  return report;
}

// Petal length and width, all 150 flowers. A line holds the regions row by row from below: class, cells, class, cells, ...
void run_figure4(const Settings& settings, Results& results) {
  DataSet petals = iris;
  petals.ignore = {"sepal_length", "sepal_width"};
  const Table table = load(petals, settings.data);
  for (const Panel& panel : panels()) {
    if (results.has(panel.key)) continue;
    Request request = request_for(petals, panel.method, settings.quick ? 600 : 10000);
    request.options.draws = 500;
    request.input.features.formulas = panel.formulas;
    const pl_regression::Input input = pl_regression::class_input(table, request.input);
    Run run;
    run.threads = 1;
    const pl_regression::Fitted model = pl_regression::fit(input, request.options, run).model;
    RowMatrix grid(cells * cells, 2);
    for (int i = 0; i < cells; ++i)
      for (int j = 0; j < cells; ++j)
        grid.row(i * cells + j) << region_low + (region_high - region_low) * (j + 0.5) / cells,
            region_low + (region_high - region_low) * (i + 0.5) / cells;
    const RowMatrix on_grid = model.predict(grid), own = model.predict(input.x);
    const auto best = [](const RowMatrix& p, Eigen::Index row) {
      return most_probable(std::span(p.data() + p.cols() * row, static_cast<std::size_t>(p.cols())));
    };
    int wrong = 0;
    for (Eigen::Index i = 0; i < own.rows(); ++i) wrong += best(own, i) == input.data.outcome[static_cast<std::size_t>(i)] ? 0 : 1;
    Json rows = Json::array();
    for (int i = 0; i < cells; ++i) {
      std::vector<std::uint32_t> runs;
      for (int j = 0; j < cells; ++j) {
        const std::uint32_t winner = best(on_grid, i * cells + j);
        if (runs.empty() || runs[runs.size() - 2] != winner) runs.insert(runs.end(), {winner, 0});
        ++runs.back();
      }
      rows.push_back(runs);
    }
    results.add(panel.key, run.seed, {{"classes", input.classes}, {"wrong", wrong}, {"rows", rows}});
  }
}

Report report_figure4(const Settings&, const Results& results) {
  constexpr double size = 300, top = 30, step = size / cells;
  const char* fills[] = {"#9ecae1", "#fdae6b", "#a1d99b"};
  Report report;
  report.table =
      "Flowers of the 150 in the region of another class, petal length and width only, learned from all.\n\n| model | wrong "
      "|\n|---|---|\n";
  std::string body;
  double left = 50.0;
  for (const Panel& panel : panels()) {
    const auto found = results.lines().find(panel.key);
    if (found == results.lines().end()) return {};
    const Json& line = found->second;
    std::vector<std::string> paths(line["classes"].size());
    for (std::size_t i = 0; i < line["rows"].size(); ++i) {
      double x = left;
      const auto runs = line["rows"][i].get<std::vector<std::size_t>>();
      for (std::size_t r = 0; r + 1 < runs.size(); r += 2) {
        const double width = step * static_cast<double>(runs[r + 1]);
        paths.at(runs[r]) +=
            fmt::format("M{:g},{:g}h{:g}v{:g}h-{:g}z", x, top + size - step * static_cast<double>(i + 1), width, step + 0.2, width);
        x += width;
      }
    }
    for (std::size_t k = 0; k < paths.size(); ++k) {
      body += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", fills[k % 3], paths[k]);
      body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
                          left + 100.0 * static_cast<double>(k), top + size + 44, fills[k % 3],
                          left + 14 + 100.0 * static_cast<double>(k), top + size + 53, line["classes"][k].get<std::string>());
    }
    body += fmt::format(
        "<text x=\"{}\" y=\"18\" font-weight=\"bold\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
        "stroke=\"#999\"/>\n"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">petal length, standardised</text>\n",
        left, panel.title, left, top, size, size, left + size / 2, top + size + 32);
    for (int tick = -2; tick <= 2; ++tick) {
      const double at = size * (tick - region_low) / (region_high - region_low);
      body += fmt::format(
          "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
          left + at, top + size + 16, tick, left - 4, top + size - at + 4, tick);
    }
    if (left < 60.0)
      body += fmt::format(
          "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 {} {})\">petal width, standardised</text>\n",
          left - 26, top + size / 2, left - 26, top + size / 2);
    report.table += fmt::format("| {} | {} |\n", panel.title, line["wrong"].get<int>());
    left += size + 40;
  }
  report.svg = svg_page(left, top + size + 65, body);
  return report;
}

}  // namespace caucus::experiments::paper4
