// Figures 8 and 9 (density and clustering against rivals) and the complete APA ballots.
#include <numeric>

#include "caucus/infer/dp_mallows/fitted.h"
#include "caucus/infer/kernel_mallows/fit.h"
#include "caucus/infer/kernel_mallows/fitted.h"
#include "caucus/io/io.h"
#include "paper5.h"

namespace caucus::experiments::paper5 {

namespace {

using namespace dp_mallows;

FittedDpm fitted_dpm(const Dataset& data, const Result& result) {
  return {data.items, Unranked::last, flat_prior(1.0, 1.0), result.components, result.predictive};
}

// The most likely component of every row.
ClusterLabels labels_of(const FittedModel& model, const Dataset& data) {
  const std::size_t k = model.num_components();
  const std::vector<double> member = memberships(model, data, 1);
  ClusterLabels labels;
  for (std::size_t r = 0; r < data.rankings.num_rows(); ++r) {
    const auto begin = member.begin() + static_cast<std::ptrdiff_t>(data.rankings.row_ranking(r) * k);
    labels.push_back(static_cast<std::uint32_t>(std::max_element(begin, begin + static_cast<std::ptrdiff_t>(k)) - begin));
  }
  return labels;
}

struct Labelled {
  Points points;
  ClusterLabels truth;
};
Labelled draw_mixture(const std::vector<Center>& centers, const std::vector<double>& theta, std::size_t count, RandomStream& rng) {
  Labelled result;
  result.points.num_items = centers[0].order.size();
  for (std::size_t i = 0; i < count; ++i) {
    result.truth.push_back(static_cast<std::uint32_t>(rng.below(centers.size())));
    add_point(result.points, draw_ranking(centers[result.truth.back()].order, theta, theta.size(), rng));
  }
  result.points.index_points();
  return result;
}

Json figure8_case(std::size_t clusters, std::size_t size, std::size_t test_size, int sweeps, int replicate) {
  constexpr std::size_t n = 12, t = 5;
  // "A fixed mixture model": the same for every N and run.
  RandomStream fixed(2000, Purpose::generate, 0);
  std::vector<Center> centers(clusters);
  for (Center& center : centers) sample_uniform(n, center, fixed);
  RandomStream rng(2000, Purpose::generate, static_cast<std::uint64_t>(replicate) * 100000 + size);
  const std::vector<double> theta(t, 1.0);
  const Labelled train = draw_mixture(centers, theta, size, rng), test = draw_mixture(centers, theta, test_size, rng);
  const Dataset train_data = to_dataset(train.points), test_data = to_dataset(test.points);
  Json line{{"n", size}};
  const auto score = [&](const FittedModel& model, const std::string& name, double seconds) {
    Json one{{"test_loglik", rounded(mean_log_prob(model, test_data), 6)}, {"seconds", rounded(seconds, 3)}};
    if (!name.starts_with("kde")) {
      one["vi_test"] = rounded(variation_of_information(labels_of(model, test_data), test.truth), 4);
      one["vi_train"] = rounded(variation_of_information(labels_of(model, train_data), train.truth), 4);
      one["clusters"] = model.num_components();
    }
    line[name] = one;
  };
  std::vector<Component> true_components;
  for (const Center& center : centers) {
    Component component;
    component.size = 1.0;
    component.consensus = center.order;
    component.theta = theta;
    true_components.push_back(component);
  }
  score(FittedDpm(train_data.items, Unranked::last, flat_prior(1.0, 1.0), true_components, {}), "true", 0.0);
  Options options;
  options.method = Method::beta_gibbs;  // the paper's
  options.sweeps = sweeps;
  options.burnin = sweeps / 2;
  Run run;
  run.threads = 1;
  double begun = cpu_seconds();
  const Result result = dp_mallows::fit(train_data, train.points, flat_prior(1.0, 1.0), options, run);
  const double seconds = cpu_seconds() - begun;
  score(fitted_dpm(train_data, result), "dpm", seconds);
  line["dpm"]["vi_train"] = rounded(variation_of_information(result.labels, train.truth), 4);
  line["dpm"]["theta"] = rounded(result.components[0].theta[0], 4);
  score(kernel_mallows::FittedKde(train_data.items, Unranked::last, train_data.rankings, 1.0), "kde", 0.0);
  kernel_mallows::KdeOptions cross_validated;
  cross_validated.left_out = 200;
  begun = cpu_seconds();
  const double width = kernel_mallows::choose_bandwidth(train_data.rankings, n, cross_validated, run).theta;
  score(kernel_mallows::FittedKde(train_data.items, Unranked::last, train_data.rankings, width), "kde_cv", cpu_seconds() - begun);
  line["kde_cv"]["theta"] = rounded(width, 4);
  begun = cpu_seconds();
  const kernel_mallows::EbmsResult blurred = kernel_mallows::ebms(train_data, {}, run);
  const double ebms_seconds = cpu_seconds() - begun;
  score(kernel_mallows::FittedEbms(train_data.items, Unranked::last, blurred.sizes, blurred.centers,
                                   std::vector<double>(blurred.sizes.size(), blurred.theta)),
        "ebms", ebms_seconds);
  ClusterLabels found;
  for (std::size_t r = 0; r < train_data.rankings.num_rows(); ++r)
    found.push_back(blurred.cluster[train_data.rankings.row_ranking(r)]);
  line["ebms"]["vi_train"] = rounded(variation_of_information(found, train.truth), 4);
  return line;
}

struct Kept {
  const char *field, *title;
};
constexpr Kept figure8_models[] = {
    {"true", "true"}, {"dpm", "dpm"}, {"ebms", "ebms"}, {"kde", "kde (theta = 1)"}, {"kde_cv", "kde (cross-validated)"}};

}  // namespace

void run_figure8(const Settings& settings, Results& results) {
  const std::vector<std::size_t> sizes =
      settings.quick ? std::vector<std::size_t>{100, 400} : std::vector<std::size_t>{100, 150, 400, 1100, 2980, 8100};
  const auto run = [&](const std::string& prefix, std::size_t clusters, std::size_t size, int replicate) {
    const std::string key = fmt::format("{}{}/{}", prefix, size, replicate);
    if (!results.has(key))
      results.add(key, static_cast<std::uint64_t>(replicate),
                  figure8_case(clusters, size, settings.quick ? 500 : 3000, settings.quick ? 60 : 200, replicate));
  };
  for (int replicate = 0; replicate < trials(settings, 10); ++replicate)
    for (const std::size_t size : sizes) run("figure8/fixed/", 3, size, replicate);
  for (int replicate = 0; replicate < trials(settings, 10); ++replicate)  // footnote 2
    for (const std::size_t size : sizes)
      if (size >= 400 && size <= 2980) run("figure8/K=30/", 30, size, replicate);
}

namespace {

struct Figure8Lines {
  std::vector<Series> loglik, vi;  // vi: of test and of training labels in turn
  Figure8Lines() {
    for (const Kept& model : figure8_models) {
      loglik.push_back({model.title, {}});
      if (std::string(model.field).starts_with("kde")) continue;
      vi.push_back({model.title, {}});
      vi.push_back({std::string(model.title) + ", training", {}});
    }
  }
};

std::string figure8_table(const Results& results, const std::string& prefix, Figure8Lines& drawn) {
  std::map<std::size_t, std::vector<const Json*>> by_size;
  for (const Json* line : lines_of(results, prefix)) by_size[(*line)["n"].get<std::size_t>()].push_back(line);
  if (by_size.empty()) return {};
  std::string table = "| N | runs | true | dpm | ebms | kde (theta = 1) | kde (cross-validated) |\n|---|---|---|---|---|---|---|\n";
  for (const auto& [size, lines] : by_size) {
    table += fmt::format("| {} | {} |", size, lines.size());
    for (std::size_t m = 0; m < std::size(figure8_models); ++m) {
      const std::string field = figure8_models[m].field;
      Mean loglik, test, train, seconds;
      for (const Json* line : lines) {
        if (!line->contains(field)) continue;
        const Json& one = (*line)[field];
        loglik.add(one["test_loglik"].get<double>()), seconds.add(one["seconds"].get<double>());
        if (one.contains("vi_test")) test.add(one["vi_test"].get<double>()), train.add(one["vi_train"].get<double>());
      }
      if (loglik.count == 0) {
        table += " - |";
        continue;
      }
      const auto x = static_cast<double>(size);
      drawn.loglik[m].points.push_back({x, loglik.mean()});
      table += fmt::format(" {:.3f} ± {:.3f}", loglik.mean(), loglik.standard_error());
      if (test.count > 0) {
        table += fmt::format("; {:.3f} ({:.3f})", test.mean(), train.mean());
        drawn.vi[2 * m].points.push_back({x, test.mean()}), drawn.vi[2 * m + 1].points.push_back({x, train.mean()});
      }
      table += seconds.mean() > 0.0 ? fmt::format("; {:.1f} s |", seconds.mean()) : " |";
    }
    table += "\n";
  }
  return table;
}

}  // namespace

Report report_figure8(const Settings&, const Results& results) {
  Figure8Lines drawn, not_drawn;
  const std::string three = figure8_table(results, "figure8/fixed/", drawn);
  if (three.empty()) return {};
  Report report;
  report.table =
      "One mixture of K = 3, n = 12, t = 5, theta = 1; beta-gibbs; 3000 test ballots. Mean test log-likelihood per ballot; VI of "
      "test (of training) labels to the truth; CPU s. ±: standard error over runs.\n\n" +
      three;
  if (const std::string thirty = figure8_table(results, "figure8/K=30/", not_drawn); !thirty.empty())
    report.table += "\nFootnote 2: the same with K = 30.\n\n" + thirty;
  report.svg =
      svg_page(980, 380,
               line_chart("Test log-likelihood per ballot", "N", "log-likelihood", drawn.loglik, 60, false, true, {-8.0, -2.0}) +
                   line_chart("VI to the truth, test and training labels", "N", "VI", drawn.vi, 560, false, true, {0.0, 1.5}));
  return report;
}

void run_figure9(const Settings& settings, Results& results) {
  const Dataset all = read_dataset(settings.data + "/ratings/jester1_top5_of70.soi");
  const std::vector<std::size_t> sizes = settings.quick ? std::vector<std::size_t>{100} : std::vector<std::size_t>{100, 1000, 3000};
  const std::size_t test_size = settings.quick ? 300 : 3000;
  for (int replicate = 0; replicate < trials(settings, 10); ++replicate)
    for (const std::size_t size : sizes) {
      const std::string key = fmt::format("figure9/{}/{}", size, replicate);
      if (results.has(key)) continue;
      RandomStream rng(3000, Purpose::fold, static_cast<std::uint64_t>(replicate));
      std::vector<std::size_t> rows(all.rankings.num_rows());
      std::iota(rows.begin(), rows.end(), std::size_t{0});
      rng.shuffle(std::span(rows));
      Dataset train = all, test = all;
      test.rankings = all.rankings.select_rows(std::span(rows).first(test_size));
      train.rankings = all.rankings.select_rows(std::span(rows).subspan(test_size, size));
      Options options;
      options.sweeps = settings.quick ? 40 : 200;
      options.burnin = options.sweeps / 2;
      Run run;
      run.threads = 1;
      const double begun = cpu_seconds();
      const Result result = dp_mallows::fit(train, make_points(train), flat_prior(1.0, 1.0), options, run);
      const double seconds = cpu_seconds() - begun;
      Json theta = Json::array();
      for (const double value : result.components[0].theta) theta.push_back(rounded(value, 4));
      Json line{{"n", size}, {"seconds", rounded(seconds, 3)}, {"clusters", result.components.size()}, {"theta", theta}};
      line["dpm"] = rounded(mean_log_prob(fitted_dpm(train, result), test), 6);
      for (const double width : {0.03, 0.1, 0.4, 1.0})
        line[fmt::format("kde{}", width)] =
            rounded(mean_log_prob(kernel_mallows::FittedKde(train.items, Unranked::last, train.rankings, width), test), 6);
      results.add(key, static_cast<std::uint64_t>(replicate), std::move(line));
    }
}

Report report_figure9(const Settings&, const Results& results) {
  std::map<std::size_t, std::vector<const Json*>> by_size;
  for (const Json* line : lines_of(results, "figure9/")) by_size[(*line)["n"].get<std::size_t>()].push_back(line);
  if (by_size.empty()) return {};
  Report report;
  report.table =
      "Jester, n = 70, t = 5: mean test log-likelihood per ballot, decimal logarithm as on the paper's axis, which ends at -8 and "
      "-16 (uniform: -9.17); in brackets dpm in nats. Means over runs ± standard error.\n\n"
      "| N | runs | dpm | kde 0.03 | kde 0.1 | kde 0.4 | kde 1 | clusters | largest cluster's theta_j | CPU s "
      "|\n|---|---|---|---|---|---|---|---|---|---|\n";
  const char* names[] = {"dpm", "kde0.03", "kde0.1", "kde0.4", "kde1"};
  std::vector<Series> chart;
  for (const std::string name : names) chart.push_back({name == "dpm" ? name : fmt::format("kde {}", name.substr(3)), {}});
  for (const auto& [size, lines] : by_size) {
    report.table += fmt::format("| {} | {} |", size, lines.size());
    for (std::size_t m = 0; m < std::size(names); ++m) {
      Mean mean;
      for (const Json* line : lines) mean.add((*line)[names[m]].get<double>());
      const double decimal = mean.mean() / std::log(10.0);
      const double error = mean.standard_error() / std::log(10.0);
      report.table += m == 0 ? fmt::format(" {:.3f} ± {:.3f} ({:.3f}) |", decimal, error, mean.mean())
                             : fmt::format(" {:.3f} ± {:.3f} |", decimal, error);
      chart[m].points.push_back({static_cast<double>(size), decimal});
    }
    double fewest = 1e9, most = 0.0, low = 1e9, high = 0.0;
    Mean seconds;
    for (const Json* line : lines) {
      const double clusters = (*line)["clusters"].get<double>();
      fewest = std::min(fewest, clusters), most = std::max(most, clusters);
      for (const Json& value : (*line)["theta"])
        low = std::min(low, value.get<double>()), high = std::max(high, value.get<double>());
      seconds.add((*line)["seconds"].get<double>());
    }
    report.table += fmt::format(" {:.0f} to {:.0f} | {:.3f} to {:.3f} | {:.1f} |\n", fewest, most, low, high, seconds.mean());
  }
  report.svg = svg_page(
      520, 380,
      line_chart("Jester: test log-likelihood per ballot", "N", "decimal logarithm", chart, 60, false, true, {-16.0, -8.0}));
  return report;
}

void run_apa(const Settings& settings, Results& results) {
  const Dataset data = read_dataset(settings.data + "/classic/apa1980_complete.soc");
  struct Case {
    Method method;
    CenterMove move;
    int split_merge, start_clusters;
  };
  // The paper's sampler is beta-gibbs with its own draw of sigma.
  for (const Case& one :
       {Case{Method::exact_gibbs, CenterMove::corrected, 0, 20}, Case{Method::beta_gibbs, CenterMove::paper, 0, 20},
        Case{Method::beta_gibbs, CenterMove::corrected, 0, 20}, Case{Method::exact_gibbs, CenterMove::corrected, 0, 1},
        Case{Method::beta_gibbs, CenterMove::corrected, 0, 1}, Case{Method::slice_gibbs, CenterMove::corrected, 0, 20},
        Case{Method::exact_gibbs, CenterMove::paper, 0, 20}, Case{Method::exact_gibbs, CenterMove::corrected, 5, 20}}) {
    const std::string key =
        fmt::format("apa/{}/{}/{}/{}", name_of(one.method), name_of(one.move), one.split_merge, one.start_clusters);
    if (results.has(key)) continue;
    Options options;
    options.method = one.method;
    options.center_move = one.move;
    options.split_merge = one.split_merge;
    options.start_clusters = one.start_clusters;
    options.sweeps = settings.quick ? 10 : 400;
    options.burnin = options.sweeps / 2;
    Run run;
    run.threads = 1;
    const double begun = cpu_seconds();
    const Result result = dp_mallows::fit(data, make_points(data), flat_prior(1.0, 1.0), options, run);
    const double seconds = cpu_seconds() - begun;
    Mean clusters;
    double most = 0.0, theta = 0.0;
    for (const Draw& draw : result.draws) clusters.add(draw.num_clusters), most = std::max<double>(most, draw.num_clusters);
    for (const Component& component : result.components)
      theta = std::max(theta, *std::max_element(component.theta.begin(), component.theta.end()));
    Json trace = Json::array();
    for (std::size_t i = 0; i < result.traces[0].num_clusters.size(); i += settings.quick ? 5 : 20)
      trace.push_back(result.traces[0].num_clusters[i]);
    results.add(key, run.seed,
                {{"method", name_of(one.method)},
                 {"move", name_of(one.move)},
                 {"split_merge", one.split_merge},
                 {"start", one.start_clusters},
                 {"mean_clusters", rounded(clusters.mean(), 4)},
                 {"most_clusters", most},
                 {"largest_theta", rounded(theta, 4)},
                 {"loglik", rounded(mean_log_prob(fitted_dpm(data, result), data) * data.rankings.total_weight(), 8)},
                 {"log_joint", rounded(result.draws.back().log_joint, 8)},
                 {"trace", trace},
                 {"seconds", rounded(seconds, 4)}});
  }
}

Report report_apa(const Settings&, const Results& results) {
  Report report;
  std::vector<std::pair<std::string, std::vector<Series>>> rows;
  for (const Json* line : lines_of(results, "apa/")) {
    if (report.table.empty())
      report.table =
          "Complete APA ballots (n = 5, t = 4, N = 5738), alpha = nu = r = 1; clusters over the second half of 400 sweeps. `paper` "
          "leaves out the Metropolis correction of sigma.\n\n"
          "| method | center move | split-merge | start | mean clusters | most clusters | largest theta | log-likelihood | last "
          "log joint | CPU s |\n|---|---|---|---|---|---|---|---|---|---|\n";
    report.table += fmt::format(
        "| {} | {} | {} | {} | {:.2f} | {:.0f} | {:.2f} | {:.1f} | {:.1f} | {:.1f} |\n", (*line)["method"].get<std::string>(),
        (*line)["move"].get<std::string>(), (*line)["split_merge"].get<int>(), (*line)["start"].get<int>(),
        (*line)["mean_clusters"].get<double>(), (*line)["most_clusters"].get<double>(), (*line)["largest_theta"].get<double>(),
        (*line)["loglik"].get<double>(), (*line)["log_joint"].get<double>(), (*line)["seconds"].get<double>());
    const std::string name =
        fmt::format("{}{}{}, start {}", (*line)["method"].get<std::string>(), (*line)["move"] == "paper" ? ", paper's move" : "",
                    (*line)["split_merge"].get<int>() > 0 ? ", split-merge" : "", (*line)["start"].get<int>());
    rows.push_back(
        {name,
         {{"mean", {{(*line)["mean_clusters"].get<double>(), 0.0}}}, {"most", {{(*line)["most_clusters"].get<double>(), 0.0}}}}});
  }
  report.svg = dot_chart("Clusters, second half of the chain", "clusters", rows);
  return report;
}

}  // namespace caucus::experiments::paper5
