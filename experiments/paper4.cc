// Tables 2 and 3 and Figures 2 to 4 of Archambeau & Caron (2012), "Plackett-Luce regression".
//
//   paper4 --data SHARED/data --out DIR [--quick] [--only iris,wine] [--methods gibbs,variational,logit-lasso] [--report]
//
// Every (data set, split, method) is one line of DIR/results.jsonl and is not run again: stop it and start it as you like. --report only
// writes DIR/tables.md and the figures from what is there. Splits: half and half where the paper is silent, 50/12 for colon, 4000/1000 for sushi.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "caucus/base/random.h"
#include "caucus/evaluate/classification.h"
#include "caucus/io/io.h"
#include "caucus/io/table.h"
#include "caucus/service/regression.h"
#include "caucus/service/regression_path.h"

namespace {

using namespace caucus;
using pl_regression::Method;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct DataSet {
  std::string name, file, target;
  std::vector<std::string> ignore;
  std::size_t num_train;  // 0: half
  int splits;
  bool take_logs;
};

const std::vector<DataSet> data_sets{{"lenses", "lenses.csv", "class", {}, 0, 20, false},
                                     {"iris", "iris.csv", "class", {}, 0, 20, false},
                                     {"wine", "wine.csv", "class", {}, 0, 20, false},
                                     {"heart", "heart_statlog.csv", "class", {}, 0, 20, false},
                                     // The paper does not say how it splits: the same with two thirds to learn from.
                                     {"wine 2/3", "wine.csv", "class", {}, 119, 20, false},
                                     {"heart 2/3", "heart_statlog.csv", "class", {}, 180, 20, false},
                                     {"pima", "pima_diabetes.csv", "class", {}, 0, 20, false},
                                     {"german", "german_credit_numeric.csv", "class", {}, 0, 20, false},
                                     {"sushi", "sushi_users_favourite.csv", "class", {"user_id"}, 4000, 5, false},
                                     {"colon", "colon.csv.gz", "class", {}, 50, 20, true}};

// What the paper prints: misclassification (sd), then seconds and ESS.
struct Printed { const char *logit, *gibbs, *variational; double logit_seconds, logit_ess, gibbs_seconds, gibbs_ess; };
const std::map<std::string, Printed> printed{{"lenses", {".700 (.087)", ".825 (.071)", ".821 (.073)", 26.0, 304, 8.6, 2916}},
                                             {"iris", {".086 (.086)", ".186 (.055)", ".181 (.057)", 139.9, 8, 10.8, 14}},
                                             {"wine", {".080 (.038)", ".048 (.019)", ".093 (.048)", 184.9, 8, 15.1, 23}},
                                             {"heart", {".215 (.046)", ".170 (.023)", ".223 (.056)", 128.8, 270, 16.0, 14}},
                                             {"wine 2/3", {".080 (.038)", ".048 (.019)", ".093 (.048)", 184.9, 8, 15.1, 23}},
                                             {"heart 2/3", {".215 (.046)", ".170 (.023)", ".223 (.056)", 128.8, 270, 16.0, 14}},
                                             {"pima", {".240 (.024)", ".238 (.015)", ".239 (.017)", 409.6, 675, 23.2, 23}},
                                             {"german", {".262 (.021)", ".260 (.017)", ".298 (.015)", 561.1, 418, 58.0, 17}},
                                             {"sushi", {".672", ".656", "", 21600, 0, 120, 0}},
                                             {"colon", {".33 (.15)", ".36 (.11)", "", 0, 0, 0, 0}}};

Table load(const DataSet& set, const std::string& folder) {
  Table table = read_table(folder + "/uci/" + set.file);
  if (set.take_logs)
    for (Column& column : table.columns)
      if (column.name != set.target)
        for (double& value : column.numbers) value = std::log(value);
  return table;
}

Table take_rows(const Table& table, std::span<const std::size_t> rows) {
  Table part;
  part.source = table.source;
  part.num_rows = rows.size();
  for (const Column& column : table.columns) {
    Column kept{column.name, {}, {}};
    for (const std::size_t row : rows) {
      if (column.is_numeric()) kept.numbers.push_back(column.numbers[row]);
      else kept.texts.push_back(column.texts[row]);
    }
    part.columns.push_back(std::move(kept));
  }
  return part;
}

struct Settings {
  std::string data, out;
  bool quick = false, report_only = false;
  std::set<std::string> only, methods;
};

RegressionRequest request_for(const DataSet& set, Method method, bool quick) {
  RegressionRequest request;
  request.method = method;
  request.target = set.target;
  request.ignore = set.ignore;
  request.options.iterations = quick ? 600 : 10000;
  request.options.chains = 1;
  request.options.draws = 5000;
  return request;
}

std::string results_path(const Settings& settings) { return settings.out + (settings.quick ? "/quick.jsonl" : "/results.jsonl"); }

std::vector<Json> read_results(const Settings& settings) {
  std::vector<Json> results;
  std::ifstream in(results_path(settings));
  for (std::string line; std::getline(in, line);) {
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_discarded()) results.push_back(std::move(json));
  }
  return results;
}

void run_all(const Settings& settings) {
  std::set<std::string> done;
  for (const Json& one : read_results(settings))
    done.insert(fmt::format("{}/{}/{}", one["data"].get<std::string>(), one["split"].get<int>(), one["method"].get<std::string>()));
  for (const DataSet& set : data_sets) {
    if (!settings.only.empty() && !settings.only.contains(set.name)) continue;
    const Table table = load(set, settings.data);
    for (int split = 0; split < (settings.quick ? 2 : set.splits); ++split) {
      std::vector<std::size_t> order(table.num_rows);
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      RandomStream(1, Purpose::fold, static_cast<std::uint64_t>(split)).shuffle(std::span(order));
      const std::size_t num_train = set.num_train > 0 ? set.num_train : order.size() / 2;
      const Table train_table = take_rows(table, std::span(order).first(num_train)), test_table = take_rows(table, std::span(order).subspan(num_train));
      for (const Method method : {Method::gibbs, Method::variational, Method::em, Method::logit_lasso}) {
        const std::string name(name_of(method));
        if (!settings.methods.empty() && !settings.methods.contains(name)) continue;
        if (done.contains(fmt::format("{}/{}/{}", set.name, split, name))) continue;
        RegressionRequest request = request_for(set, method, settings.quick);
        if (method == Method::em) request.options.max_steps = 5000;
        const std::clock_t begun = std::clock();
        Run run;
        run.threads = 1;
        run.seed = static_cast<std::uint64_t>(split) + 1;
        const RegressionFit fit = train_classes(train_table, request, run);
        const double seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
        const Predictions predictions = predict_table(fit.model, test_table, {});
        Json line{{"data", set.name}, {"split", split}, {"method", name}, {"cpu_seconds", seconds}};
        line.update(prediction_scores(predictions, false));
        if (fit.summary.ess_min) line["ess_min"] = *fit.summary.ess_min, line["ess_loglik"] = *fit.summary.ess_loglik;
        if (!fit.model.is_logit()) line["a"] = fit.model.a;
        line["num_nonzero"] = (fit.model.lambda.array() > 1e-4 * fit.model.lambda.cwiseAbs().sum()).count();
        line["loglik"] = fit.summary.loglik;
        if (predictions.probabilities.cols() == 2) {  // for the ROC curves
          for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
            line["scores"].push_back(std::round(1e4 * predictions.probabilities(static_cast<Eigen::Index>(predictions.labelled[i]), 1)) / 1e4);
            line["labels"].push_back(predictions.labels[i]);
          }
        }
        std::ofstream(results_path(settings), std::ios::app) << line.dump() << '\n';
        fmt::print("{} split {} {}: misclassification {:.3f}, {:.1f} s\n", set.name, split, name, line["misclassification"].get<double>(), seconds);
        std::fflush(stdout);
      }
    }
  }
}

struct Stats {
  std::vector<double> values;
  double mean() const {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  double deviation() const {
    double sum = 0.0;
    for (const double value : values) sum += (value - mean()) * (value - mean());
    return values.size() > 1 ? std::sqrt(sum / static_cast<double>(values.size() - 1)) : 0.0;
  }
};

void write_tables(const Settings& settings) {
  std::map<std::string, std::map<std::string, std::map<std::string, Stats>>> all;  // data, method, quantity
  for (const Json& one : read_results(settings))
    for (const char* key : {"misclassification", "log_loss", "auc", "cpu_seconds", "ess_min", "ess_loglik", "a", "num_nonzero"})
      if (one.contains(key)) all[one["data"]][one["method"]][key].values.push_back(one[key].get<double>());
  std::string text = "# Archambeau & Caron (2012): ours next to the paper's\n\n## Table 2: misclassification, mean (sd) over splits\n\n"
                     "| data | splits | logit-lasso | paper | PL-Gibbs | paper | PL-Var | paper | PL-EM (a = 1) |\n|---|---|---|---|---|---|---|---|---|\n";
  const auto cell = [&](const std::string& data, const std::string& method, const char* key, int digits) -> std::string {
    const auto found = all[data].find(method);
    if (found == all[data].end() || found->second[key].values.empty()) return "not run";
    const Stats& stats = found->second[key];
    return fmt::format("{:.{}f} ({:.{}f})", stats.mean(), digits, stats.deviation(), digits);
  };
  for (const DataSet& set : data_sets) {
    const Printed& paper = printed.at(set.name);
    std::size_t splits = 0;
    for (auto& [method, values] : all[set.name]) splits = std::max(splits, values["misclassification"].values.size());
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", set.name, splits, cell(set.name, "logit-lasso", "misclassification", 3), paper.logit,
                        cell(set.name, "gibbs", "misclassification", 3), paper.gibbs, cell(set.name, "variational", "misclassification", 3),
                        paper.variational, cell(set.name, "em", "misclassification", 3));
  }
  text += "\n## Held-out log loss and AUC (Figure 3 in numbers)\n\n| data | logit-lasso log loss | PL-Gibbs | PL-Var | logit-lasso AUC | PL-Gibbs | PL-Var "
          "|\n|---|---|---|---|---|---|---|\n";
  for (const DataSet& set : data_sets)
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", set.name, cell(set.name, "logit-lasso", "log_loss", 3), cell(set.name, "gibbs", "log_loss", 3),
                        cell(set.name, "variational", "log_loss", 3), cell(set.name, "logit-lasso", "auc", 3), cell(set.name, "gibbs", "auc", 3),
                        cell(set.name, "variational", "auc", 3));
  text += "\n## Table 3: CPU seconds for 10000 sweeps, smallest effective sample size of 5000 draws, seconds per effective draw\n\n"
          "Relative speed: seconds per effective draw of the slower over this one's, as in the paper.\n\n"
          "| data | method | seconds | paper | ESS | paper | s / ESS | paper | relative speed | paper |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const DataSet& set : data_sets) {
    const Printed& paper = printed.at(set.name);
    double cost[2] = {0.0, 0.0}, paper_cost[2] = {0.0, 0.0};
    const std::string methods[2] = {"logit-lasso", "gibbs"};
    const double seconds[2] = {paper.logit_seconds, paper.gibbs_seconds}, ess[2] = {paper.logit_ess, paper.gibbs_ess};
    for (const int m : {0, 1}) {
      auto& values = all[set.name][methods[m]];
      if (!values["ess_min"].values.empty()) cost[m] = values["cpu_seconds"].mean() / values["ess_min"].mean();
      if (ess[m] > 0.0) paper_cost[m] = seconds[m] / ess[m];
    }
    for (const int m : {0, 1}) {
      auto& values = all[set.name][methods[m]];
      const auto number = [](double value, const char* format) { return value > 0.0 ? fmt::format(fmt::runtime(format), value) : std::string(); };
      if (values["ess_min"].values.empty()) {
        text += fmt::format("| {} | {} | not run | {} | | {} | | {} | | |\n", set.name, methods[m], number(seconds[m], "{:.1f}"), number(ess[m], "{:.0f}"),
                            number(paper_cost[m], "{:.3f}"));
        continue;
      }
      text += fmt::format("| {} | {} | {:.2f} | {} | {:.0f} | {} | {:.5f} | {} | {} | {} |\n", set.name, methods[m], values["cpu_seconds"].mean(),
                          number(seconds[m], "{:.1f}"), values["ess_min"].mean(), number(ess[m], "{:.0f}"), cost[m], number(paper_cost[m], "{:.3f}"),
                          cost[0] > 0.0 && cost[1] > 0.0 ? fmt::format("{:.1f}", std::max(cost[0], cost[1]) / cost[m]) : std::string(),
                          paper_cost[m] > 0.0 ? fmt::format("{:.0f}", std::max(paper_cost[0], paper_cost[1]) / paper_cost[m]) : std::string());
    }
  }
  text += "\n## Learned a, and weights above 1e-4 of the total\n\n| data | a, PL-Gibbs | a, PL-Var | weights, PL-Gibbs mean | PL-Var | PL-EM |\n|---|---|---|---|---|---|\n";
  for (const DataSet& set : data_sets)
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", set.name, cell(set.name, "gibbs", "a", 3), cell(set.name, "variational", "a", 3),
                        cell(set.name, "gibbs", "num_nonzero", 0), cell(set.name, "variational", "num_nonzero", 0), cell(set.name, "em", "num_nonzero", 0));
  write_file(settings.out + (settings.quick ? "/quick.md" : "/tables.md"), text);
}

std::string svg_begin(double width, double height) {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"11\">\n"
                     "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", width, height);
}

const std::map<std::string, std::string> method_colours{{"gibbs", "#d62728"}, {"variational", "#2ca02c"}, {"logit-lasso", "#1f77b4"}};

// Figure 3: ROC of heart and pima, the test rows of all splits together.
void figure3(const Settings& settings) {
  std::map<std::string, std::map<std::string, std::pair<std::vector<double>, std::vector<std::uint8_t>>>> pooled;
  for (const Json& one : read_results(settings)) {
    if (!one.contains("scores")) continue;
    auto& [scores, labels] = pooled[one["data"]][one["method"]];
    for (const auto& score : one["scores"]) scores.push_back(score.get<double>());
    for (const auto& label : one["labels"]) labels.push_back(label.get<std::uint8_t>());
  }
  std::string svg = svg_begin(760, 390);
  double x0 = 45;
  for (const std::string data : {"heart", "pima"}) {
    constexpr double size = 310, y0 = 30;
    svg += fmt::format("<text x=\"{}\" y=\"20\" font-weight=\"bold\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\"/>\n",
                       x0, data, x0, y0, size, size);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">false positive rate</text>\n", x0 + size / 2, y0 + size + 16);
    double legend = y0 + size - 50;
    for (const auto& [method, values] : pooled[data]) {
      if (!method_colours.contains(method)) continue;
      std::string points;
      for (const RocPoint& point : roc_curve(values.first, values.second))
        points += fmt::format("{:.1f},{:.1f} ", x0 + size * point.false_positive_rate, y0 + size * (1.0 - point.true_positive_rate));
      svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n", method_colours.at(method), points);
      svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{} AUC {:.3f}</text>\n", x0 + 130, legend, method_colours.at(method), method,
                         auc(std::span<const double>(values.first), std::span<const std::uint8_t>(values.second)));
      legend += 16;
    }
    x0 += 370;
  }
  write_file(settings.out + "/figure3_roc.svg", svg + "</svg>\n");
}

// Figure 4: regions of iris in petal length (across) and width. The flowers themselves stay out of the file.
void figure4(const Settings& settings) {
  const Table table = read_table(settings.data + "/uci/iris.csv");
  struct Panel { const char* title; Method method; std::vector<std::string> formulas; };
  const std::vector<Panel> panels{{"PL-Gibbs, exp(x), exp(-x)", Method::gibbs, {}},
                                  {"PL-Gibbs with exp(x1 + x2), exp(-x1 - x2)", Method::gibbs, {"exp(x1 + x2); exp(-x1 - x2)"}},
                                  {"logit-lasso", Method::logit_lasso, {}}};
  const char* fills[] = {"#c6dbef", "#fdd0a2", "#c7e9c0"};
  constexpr double size = 300, low = -2.0, high = 2.5;
  constexpr int cells = 60;
  std::string svg = svg_begin(3 * (size + 20) + 20, size + 60);
  for (std::size_t panel = 0; panel < panels.size(); ++panel) {
    const DataSet set{"iris", "iris.csv", "class", {"sepal_length", "sepal_width"}, 0, 1, false};
    RegressionRequest request = request_for(set, panels[panel].method, settings.quick);
    request.options.draws = 500;
    request.features.formulas = panels[panel].formulas;
    const RegressionInput input = class_input(table, request);
    Run run;
    run.threads = 1;
    const RegressionFit fit = train(input, request, run);
    RowMatrix grid(cells * cells, 2);
    for (int i = 0; i < cells; ++i)
      for (int j = 0; j < cells; ++j) grid.row(i * cells + j) << low + (high - low) * (j + 0.5) / cells, low + (high - low) * (i + 0.5) / cells;
    const RowMatrix p = fit.model.predict(grid);
    const double x0 = 20 + static_cast<double>(panel) * (size + 20), y0 = 30, step = size / cells;
    std::size_t wrong = 0;
    const RowMatrix own = fit.model.predict(input.x);
    for (Eigen::Index i = 0; i < own.rows(); ++i)
      wrong += most_probable(std::span(own.data() + 3 * i, 3)) == input.data.outcome[static_cast<std::size_t>(i)] ? 0 : 1;
    svg += fmt::format("<text x=\"{}\" y=\"20\" font-weight=\"bold\">{} ({} of 150 wrong)</text>\n", x0, panels[panel].title, wrong);
    for (int i = 0; i < cells; ++i)
      for (int j = 0; j < cells; ++j)
        svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x0 + j * step, y0 + size - (i + 1) * step, step + 0.3,
                           step + 0.3, fills[most_probable(std::span(p.data() + 3 * (i * cells + j), 3))]);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">petal length (standardised)</text>\n", x0 + size / 2, y0 + size + 16);
  }
  write_file(settings.out + "/figure4_boundaries.svg", svg + "</svg>\n");
}

void figure2(const Settings& settings) {
  RegressionRequest request = request_for(data_sets[1], Method::em, settings.quick);
  request.options.max_steps = 5000;
  const RegressionInput input = class_input(load(data_sets[1], settings.data), request);
  Run run;
  run.threads = 1;
  const auto path = regularization_path(input, request, default_path_grid(settings.quick ? 5 : 17), run);
  write_file(settings.out + "/figure2_path.svg", path_svg(path, input));
  std::string text = "| a | estimate | weights above 1e-3 of the total | largest |\n|---|---|---|---|\n";
  for (const PathPoint& point : path)
    text += fmt::format("| {:.3f} | {} | {} of {} | {:.3f} |\n", point.a, point.estimate, (point.lambda.array() > 1e-3).count(), point.lambda.size(),
                        point.lambda.maxCoeff());
  write_file(settings.out + "/figure2_path.md", text);
}

std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (flag == "--data") settings.data = value();
    else if (flag == "--out") settings.out = value();
    else if (flag == "--quick") settings.quick = true;
    else if (flag == "--report") settings.report_only = true;
    else if (flag == "--only") settings.only = names_in(value());
    else if (flag == "--methods") settings.methods = names_in(value());
    else return fmt::print(stderr, "unknown flag {}\n", flag), 64;
  }
  if (settings.data.empty() || settings.out.empty()) {
    fmt::print(stderr, "usage: paper4 --data FOLDER --out FOLDER [--quick] [--only iris,wine] [--methods gibbs,...] [--report]\n");
    return 64;
  }
  try {
    fs::create_directories(settings.out);
    if (!settings.report_only) run_all(settings);
    write_tables(settings);
    figure3(settings);
    if (settings.only.empty() || settings.only.contains("iris")) {
      if (!fs::exists(settings.out + "/figure2_path.svg") || settings.quick) figure2(settings);
      if (!fs::exists(settings.out + "/figure4_boundaries.svg") || settings.quick) figure4(settings);
    }
  } catch (const std::exception& failure) {
    fmt::print(stderr, "paper4: {}\n", failure.what());
    return 1;
  }
  return 0;
}
