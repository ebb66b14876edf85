// Meila & Chen (2010): Figures 6 to 9, section 8, and what goes beyond them.
//
//   paper5_dpm fig6|fig7|fig8|fig9|college|scaling|apa [--quick] [--out FILE] [--data FOLDER] [--runs R] [--seconds S]
//   paper5_dpm tables --out FILE       prints Markdown tables of what FILE holds
//   paper5_dpm svg fig6|fig7 --out FILE --svg PICTURE
//
// One line of JSON per run is appended to FILE; runs that are there already are skipped, so a stopped experiment goes on where it was.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/chain.h"
#include "caucus/infer/dp_mallows/fit.h"
#include "caucus/infer/dp_mallows/fitted.h"
#include "caucus/infer/kernel_mallows/ebms.h"
#include "caucus/infer/kernel_mallows/kde.h"
#include "caucus/io/io.h"
#include "caucus/model/clustering.h"
#include "caucus/model/stage_sampler.h"

namespace {

using namespace caucus;
using namespace caucus::dp_mallows;
using nlohmann::json;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

struct Settings {
  bool quick = false;
  std::string out = "experiments/results/paper5.jsonl";
  std::string data = "../shared/data";
  std::string svg;
  int runs = 10;
  double seconds = infinity;  // college: stop then; a later call goes on
};

class Log {
 public:
  explicit Log(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      const json row = json::parse(line, nullptr, false);
      if (!row.is_discarded()) rows.push_back(row), done_.insert(row.at("key").get<std::string>());
    }
  }
  bool has(const std::string& key) const { return done_.count(key) > 0; }
  void add(const std::string& key, json row) {
    row["key"] = key;
    std::ofstream(path_, std::ios::app) << row.dump() << "\n";
    rows.push_back(row);
    done_.insert(key);
    std::cerr << key << "\n";
  }
  std::vector<json> rows;

 private:
  std::string path_;
  std::set<std::string> done_;
};

// One ranking of length t about a center: stage by stage.
std::vector<Item> draw_ranking(const std::vector<Item>& center, const std::vector<double>& theta, std::size_t t, RandomStream& rng) {
  std::vector<Item> left = center, ranking;
  for (std::size_t j = 0; j < t; ++j) {
    const std::size_t s = left.size() > 1 ? draw_stage(theta[j], left.size(), rng) : 0;
    ranking.push_back(left[s]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(s));
  }
  return ranking;
}

struct Mixture {
  std::vector<Center> centers;
  std::vector<double> theta;
};

void add_point(Points& points, const std::vector<Item>& ranking) {
  points.add_ranking(ranking);
  points.ranking.push_back(static_cast<std::uint32_t>(points.ranking.size()));
}

Dataset to_dataset(const Points& points) {
  Dataset data;
  data.source = "synthetic";
  for (std::size_t i = 0; i < points.num_items; ++i) data.items.push_back(std::to_string(i + 1));
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto ranking = points.of_point(i);
    builder.add(std::vector<ItemId>(ranking.begin(), ranking.end()));
  }
  data.rankings = builder.build();
  return data;
}

PriorParameters flat(double alpha, double nu) {
  PriorParameters prior;
  prior.alpha = alpha;
  prior.nu = nu;
  return prior;
}

// Section 6: ten clusters of 500 points, n = 20; each true center drawn from the posterior given 100 rankings at theta = 0.7.
Points figure6_data(int dataset, int replicate, ClusterLabels& truth, std::size_t per_cluster) {
  constexpr std::size_t n = 20;
  const std::size_t t = dataset % 2 == 1 ? 10 : 19;
  RandomStream rng(1000 + static_cast<std::uint64_t>(dataset), Purpose::generate, static_cast<std::uint64_t>(replicate));
  Points points;
  points.num_items = n;
  std::vector<double> theta(n - 1, 1.0);
  for (std::size_t j = 0; j < theta.size(); ++j) {
    if (dataset == 3) theta[j] = 1.5 - 0.1 * static_cast<double>(j);
    if (dataset == 4) theta[j] = 1.5 - 0.05 * static_cast<double>(j);
    theta[j] = std::max(theta[j], 0.0);
  }
  const std::vector<double> flat_theta(n - 1, 0.7);
  Center origin;
  sample_uniform(n, origin, rng);
  Points hundred;
  hundred.num_items = n;
  std::vector<Member> members;
  for (std::uint32_t i = 0; i < 100; ++i) {
    add_point(hundred, draw_ranking(origin.order, flat_theta, n - 1, rng));
    members.push_back({i, 1.0});
  }
  CenterSampler sampler;
  sampler.load(hundred, members);
  for (std::uint32_t k = 0; k < 10; ++k) {
    // Stagewise from the posterior at theta estimated as drawn; a few corrected steps.
    Center center;
    const std::vector<double> posterior_theta(n - 1, 0.7);
    sampler.sample_stagewise(posterior_theta, center, rng);
    for (int step = 0; step < 20; ++step) sampler.metropolis_stagewise(posterior_theta, center, rng), sampler.swap_adjacent(posterior_theta, center, rng);
    for (std::size_t i = 0; i < per_cluster; ++i) {
      add_point(points, draw_ranking(center.order, theta, t, rng));
      truth.push_back(k);
    }
  }
  points.index_points();
  return points;
}

void figure6(const Settings& settings, Log& log) {
  const int iterations = settings.quick ? 20 : 250;
  const std::size_t per_cluster = settings.quick ? 50 : 500;
  for (int replicate = 0; replicate < settings.runs; ++replicate)
    for (int dataset = 1; dataset <= 4; ++dataset)
      for (Method method : {Method::beta_gibbs, Method::exact_gibbs, Method::slice_gibbs})
        for (int split_merge : {0, 5}) {
          if (split_merge > 0 && method != Method::exact_gibbs) continue;
          const std::string key = fmt::format("fig6{}/{}/{}{}/{}", settings.quick ? "-quick" : "", dataset, name_of(method), split_merge > 0 ? "+sm" : "", replicate);
          if (log.has(key)) continue;
          ClusterLabels truth;
          const Points points = figure6_data(dataset, replicate, truth, per_cluster);
          const Prior prior(flat(1.0, 1.0), 20, points.num_stages, method == Method::beta_gibbs);
          ChainSettings chain_settings;
          chain_settings.method = method;
          chain_settings.split_merge = split_merge;
          Chain chain(points, prior, chain_settings, RandomStream(1, Purpose::chain, static_cast<std::uint64_t>(replicate)));
          const double begun = cpu_seconds();
          chain.start_randomly();
          std::vector<double> vi, seconds;
          for (int i = 0; i < iterations; ++i) {
            chain.sweep();
            seconds.push_back(cpu_seconds() - begun);
            vi.push_back(variation_of_information(chain.labels(), truth));
          }
          log.add(key, {{"figure", "fig6"}, {"dataset", dataset}, {"method", std::string(name_of(method)) + (split_merge > 0 ? "+split-merge" : "")}, {"vi", vi},
                        {"seconds", seconds}, {"clusters", chain.clusters().size()}, {"log_joint", chain.log_joint()}});
        }
}

// Figure 7: 1 - Beta(a, b) / B~eta(a, b, n), with the paper's b = ours + 1 and n = stage size - 1.
void figure7(const Settings&, Log& log) {
  for (std::size_t n : {10, 20, 50})
    for (double b : {4.0, 8.0, 16.0, 32.0}) {
      const std::string key = fmt::format("fig7/{}/{}", n, b);
      if (log.has(key)) continue;
      std::vector<double> a_values, errors;
      for (double a = 2.0; a <= 10.0; a += 0.5) {
        a_values.push_back(a);
        errors.push_back(-std::expm1(log_beta_integral(a, b - 1.0) - log_stage_integral(n + 1, a, b - 1.0)));
      }
      log.add(key, {{"figure", "fig7"}, {"n", n}, {"b", b}, {"a", a_values}, {"error", errors}});
    }
}

// The mean test log-likelihood per ballot and its clustering distance, for one training size.
void figure8(const Settings& settings, Log& log) {
  const std::vector<std::size_t> sizes = settings.quick ? std::vector<std::size_t>{100, 400} : std::vector<std::size_t>{100, 150, 400, 1100, 2980, 8100, 22030};
  constexpr std::size_t n = 12, t = 5;
  for (int replicate = 0; replicate < settings.runs; ++replicate)
    for (std::size_t size : sizes) {
      const std::string key = fmt::format("fig8{}/{}/{}", settings.quick ? "-quick" : "", size, replicate);
      if (log.has(key)) continue;
      RandomStream rng(2000, Purpose::generate, static_cast<std::uint64_t>(replicate) * 100000 + size);
      std::vector<Center> centers(3);
      for (Center& center : centers) sample_uniform(n, center, rng);
      const std::vector<double> theta(t, 1.0);
      Points train, test;
      train.num_items = test.num_items = n;
      ClusterLabels train_truth, test_truth;
      const auto fill = [&](Points& points, ClusterLabels& truth, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          truth.push_back(static_cast<std::uint32_t>(rng.below(3)));
          add_point(points, draw_ranking(centers[truth.back()].order, theta, t, rng));
        }
        points.index_points();
      };
      fill(train, train_truth, size);
      fill(test, test_truth, settings.quick ? 500 : 3000);
      const Dataset train_data = to_dataset(train), test_data = to_dataset(test);
      json row{{"figure", "fig8"}, {"n", size}};
      const auto score = [&](const FittedModel& model, const std::string& name, double seconds) {
        const std::vector<double> log_prob = log_probs(model, test_data, 1);
        double total = 0.0;
        for (std::size_t i = 0; i < log_prob.size(); ++i) total += test_data.rankings.weight(i) * log_prob[i];
        json one{{"test_loglik", total / test_data.rankings.total_weight()}, {"seconds", seconds}};
        if (model.num_components() > 1 || name != "kde") {
          const std::size_t k = model.num_components();
          const auto labels_of = [&](const Dataset& data) {
            const std::vector<double> member = memberships(model, data, 1);
            ClusterLabels labels;
            for (std::size_t r = 0; r < data.rankings.num_rows(); ++r) {
              const auto row_begin = member.begin() + static_cast<std::ptrdiff_t>(data.rankings.row_ranking(r) * k);
              labels.push_back(static_cast<std::uint32_t>(std::max_element(row_begin, row_begin + static_cast<std::ptrdiff_t>(k)) - row_begin));
            }
            return labels;
          };
          one["vi_test"] = variation_of_information(labels_of(test_data), test_truth);
          one["vi_train"] = variation_of_information(labels_of(train_data), train_truth);
          one["clusters"] = k;
        }
        row[name] = one;
      };
      std::vector<Component> true_components;
      for (const Center& center : centers) {
        Component component;
        component.size = 1.0;
        component.consensus = center.order;
        component.theta = theta;
        true_components.push_back(component);
      }
      score(FittedDpm(train_data.items, Unranked::last, flat(1.0, 1.0), true_components, {}), "true", 0.0);
      Options options;
      options.method = Method::exact_gibbs;
      options.iterations = settings.quick ? 60 : 300;
      options.burnin = options.iterations / 2;
      Run run;
      run.threads = 1;
      double begun = cpu_seconds();
      const Result result = dp_mallows::fit(train_data, train, flat(1.0, 1.0), options, run);
      const double dpm_seconds = cpu_seconds() - begun;
      score(FittedDpm(train_data.items, Unranked::last, flat(1.0, 1.0), result.components, result.predictive), "dpm", dpm_seconds);
      row["dpm"]["vi_train"] = variation_of_information(result.labels, train_truth);
      begun = cpu_seconds();
      score(kernel_mallows::FittedKde(train_data.items, Unranked::last, train_data.rankings, 1.0), "kde", 0.0);
      kernel_mallows::KdeOptions cross_validated;
      cross_validated.left_out = 200;
      const auto bandwidth = kernel_mallows::choose_bandwidth(train_data.rankings, n, cross_validated, run);
      score(kernel_mallows::FittedKde(train_data.items, Unranked::last, train_data.rankings, bandwidth.theta), "kde_cv", cpu_seconds() - begun);
      row["kde_cv"]["theta"] = bandwidth.theta;
      if (size <= 3000) {
        begun = cpu_seconds();
        kernel_mallows::EbmsResult blurred = kernel_mallows::ebms(train_data, {}, run);
        const double seconds = cpu_seconds() - begun;
        const std::size_t k = blurred.sizes.size();
        score(kernel_mallows::FittedEbms(train_data.items, Unranked::last, blurred.sizes, blurred.centers, std::vector<double>(k, blurred.theta)), "ebms", seconds);
        ClusterLabels found;
        for (std::size_t r = 0; r < train_data.rankings.num_rows(); ++r) found.push_back(blurred.cluster[train_data.rankings.row_ranking(r)]);
        row["ebms"]["vi_train"] = variation_of_information(found, train_truth);
      }
      log.add(key, row);
    }
}

void figure9(const Settings& settings, Log& log) {
  const Dataset all = read_dataset(settings.data + "/ratings/jester1_top5_of70.soi");
  const std::vector<std::size_t> sizes = settings.quick ? std::vector<std::size_t>{100} : std::vector<std::size_t>{100, 1000, 3000};
  for (int replicate = 0; replicate < settings.runs; ++replicate)
    for (std::size_t size : sizes) {
      const std::string key = fmt::format("fig9{}/{}/{}", settings.quick ? "-quick" : "", size, replicate);
      if (log.has(key)) continue;
      RandomStream rng(3000, Purpose::fold, static_cast<std::uint64_t>(replicate));
      std::vector<std::size_t> rows(all.rankings.num_rows());
      std::iota(rows.begin(), rows.end(), std::size_t{0});
      rng.shuffle(std::span(rows));
      const std::size_t test_size = settings.quick ? 300 : 3000;
      Dataset train = all, test = all;
      test.rankings = all.rankings.select_rows(std::span(rows).first(test_size));
      train.rankings = all.rankings.select_rows(std::span(rows).subspan(test_size, size));
      json row{{"figure", "fig9"}, {"n", size}};
      const auto mean = [&](const FittedModel& model) {
        const std::vector<double> log_prob = log_probs(model, test, 1);
        double total = 0.0;
        for (std::size_t i = 0; i < log_prob.size(); ++i) total += test.rankings.weight(i) * log_prob[i];
        return total / test.rankings.total_weight();
      };
      Options options;
      options.iterations = settings.quick ? 40 : 200;
      options.burnin = options.iterations / 2;
      Run run;
      run.threads = 1;
      const Points points = make_points(train);
      const double begun = cpu_seconds();
      const Result result = dp_mallows::fit(train, points, flat(1.0, 1.0), options, run);
      row["dpm"] = mean(FittedDpm(train.items, Unranked::last, flat(1.0, 1.0), result.components, result.predictive));
      row["seconds"] = cpu_seconds() - begun;
      row["clusters"] = result.components.size();
      row["theta"] = result.components[0].theta;
      for (double theta : {0.03, 0.1, 0.4, 1.0})
        row[fmt::format("kde{}", theta)] = mean(kernel_mallows::FittedKde(train.items, Unranked::last, train.rankings, theta));
      log.add(key, row);
    }
}

// Section 8's size: N rankings of up to 10 of n items from 27 large and 150 small clusters.
Points college_data(std::size_t count, std::size_t n, std::size_t t, std::size_t small, ClusterLabels& truth) {
  RandomStream rng(4000, Purpose::generate, 0);
  constexpr std::size_t large = 27;
  std::vector<Center> centers(large + small);
  for (Center& center : centers) sample_uniform(n, center, rng);
  std::vector<double> weights;
  for (std::size_t k = 0; k < centers.size(); ++k) weights.push_back(k < large ? 1.0 / (1.0 + 0.1 * static_cast<double>(k)) : 0.004);
  std::vector<double> theta;
  for (std::size_t j = 0; j < t; ++j) theta.push_back(0.9 - 0.06 * static_cast<double>(j) * 10.0 / static_cast<double>(t));
  Points points;
  points.num_items = n;
  for (std::size_t i = 0; i < count; ++i) {
    truth.push_back(static_cast<std::uint32_t>(rng.categorical(weights)));
    // Lengths from 3 up, 6.5 on average for t = 10.
    const std::size_t length = t <= 3 ? t : 3 + rng.below(t - 2);
    add_point(points, draw_ranking(centers[truth.back()].order, theta, length, rng));
  }
  points.index_points();
  return points;
}

void college(const Settings& settings, Log& log) {
  const std::size_t count = settings.quick ? 3000 : 53757, n = settings.quick ? 100 : 533;
  const int sweeps = settings.quick ? 10 : 500;
  const std::string key = fmt::format("college{}", settings.quick ? "-quick" : "");
  if (log.has(key)) return;
  ClusterLabels truth;
  const Points points = college_data(count, n, 10, 150, truth);
  const Dataset data = to_dataset(points);
  Options options;
  options.method = Method::beta_gibbs;
  options.alpha = options.nu = 100.0;
  options.iterations = sweeps;
  options.burnin = sweeps / 2;
  options.thin = 5;
  options.predictive_draws = 2;
  options.checkpoint = settings.out + "." + key + ".checkpoint";
  options.checkpoint_every = 10;
  options.start_clusters = 180;
  // Seconds per sweep beside the number of clusters, from the observer.
  struct Watch : Observer {
    std::vector<double> seconds;
    double last = cpu_seconds();
    Flow progress(const Progress&) override {
      const double now = cpu_seconds();
      seconds.push_back(now - last);
      last = now;
      return Flow::proceed;
    }
  } watch;
  Run run;
  run.threads = 1;
  run.observer = &watch;
  run.time_limit = settings.seconds;
  const Result result = dp_mallows::fit(data, points, flat(100.0, 100.0), options, run);
  std::size_t substantial = 0, singletons = 0;
  for (const Component& component : result.components) {
    substantial += component.size >= 0.01 * static_cast<double>(count) ? 1 : 0;
    singletons += component.size == 1.0 ? 1 : 0;
  }
  std::vector<double> theta(10, 0.0), sizes;
  for (const Component& component : result.components) {
    sizes.push_back(component.size);
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] += component.size / static_cast<double>(count) * component.theta[j];
  }
  log.add(result.stop_reason == StopReason::time_limit ? fmt::format("{}/first {} sweeps", key, result.iterations) : key,
          {{"figure", "college"}, {"count", count}, {"n", n}, {"sweeps", result.iterations}, {"seconds_per_sweep", watch.seconds},
                {"num_clusters", result.traces[0].num_clusters}, {"clusters", result.components.size()}, {"substantial", substantial},
                {"singletons", singletons}, {"vi", variation_of_information(result.labels, truth)}, {"ari", adjusted_rand_index(result.labels, truth)},
                {"theta", theta}, {"sizes", sizes}, {"peak_megabytes", peak_megabytes()}});
}

// Seconds per sweep against N, C, t and n, each alone: assignment and centers of beta-gibbs from the true clusters.
void scaling(const Settings& settings, Log& log) {
  struct Case {
    std::string what;
    std::size_t count, n, t, small;
  };
  std::vector<Case> cases;
  const std::size_t base = settings.quick ? 1000 : 10000;
  for (std::size_t factor : {1, 2, 4}) cases.push_back({"N", base * factor, 533, 10, 150});
  for (std::size_t small : {20, 65, 155, 335}) cases.push_back({"C", base, 533, 10, small});
  for (std::size_t t : {3, 5, 10, 20}) cases.push_back({"t", base, 533, t, 150});
  for (std::size_t n : {133, 266, 533, 1066, 2132}) cases.push_back({"n", base, n, 10, 150});
  for (const Case& c : cases) {
    const std::string key = fmt::format("scaling{}/{}/{}/{}/{}/{}", settings.quick ? "-quick" : "", c.what, c.count, c.n, c.t, c.small);
    if (log.has(key)) continue;
    ClusterLabels truth;
    const Points points = college_data(c.count, c.n, c.t, c.small, truth);
    const Prior prior(flat(1e-6, 100.0), c.n, points.num_stages, true);
    ChainSettings chain_settings;
    chain_settings.method = Method::beta_gibbs;
    Chain chain(points, prior, chain_settings, RandomStream(1, Purpose::chain, 1));
    ChainState state;
    state.labels = canonical_labels(truth);
    state.alpha = 1e-6;
    RandomStream rng(4000, Purpose::test, 1);
    for (std::size_t k = 0; k < std::size_t{*std::max_element(state.labels.begin(), state.labels.end())} + 1; ++k) {
      Center center;
      sample_uniform(c.n, center, rng);
      state.centers.push_back(center.order);
    }
    chain.restore(state);
    chain.resample_centers();
    state = chain.state();
    chain.restore(state);
    double assignment = 0.0, centers = 0.0, clusters = 0.0;
    constexpr int sweeps = 3;
    for (int i = 0; i < sweeps; ++i) {
      const double begun = cpu_seconds();
      chain.resample_assignments();
      const double middle = cpu_seconds();
      chain.resample_centers();
      assignment += (middle - begun) / sweeps;
      centers += (cpu_seconds() - middle) / sweeps;
      clusters += static_cast<double>(chain.clusters().size()) / sweeps;
      chain.restore(chain.state());
    }
    log.add(key, {{"figure", "scaling"}, {"what", c.what}, {"count", c.count}, {"n", c.n}, {"t", c.t}, {"clusters", clusters},
                  {"assignment_seconds", assignment}, {"center_seconds", centers}});
  }
}

// The complete APA ballots, where the Beta approximation runs away.
void apa(const Settings& settings, Log& log) {
  const Dataset data = read_dataset(settings.data + "/classic/apa1980_complete.soc");
  for (Method method : {Method::exact_gibbs, Method::slice_gibbs, Method::beta_gibbs})
    for (CenterMove move : {CenterMove::corrected, CenterMove::paper}) {
      const std::string key = fmt::format("apa{}/{}/{}", settings.quick ? "-quick" : "", name_of(method), name_of(move));
      if (log.has(key)) continue;
      Options options;
      options.method = method;
      options.center_move = move;
      options.iterations = settings.quick ? 20 : 400;
      options.burnin = options.iterations / 2;
      Run run;
      run.threads = 1;
      const double begun = cpu_seconds();
      const Points points = make_points(data);
      const Result result = dp_mallows::fit(data, points, flat(1.0, 1.0), options, run);
      double mean = 0.0, largest = 0.0, theta = 0.0;
      for (const Draw& draw : result.draws) mean += draw.num_clusters / static_cast<double>(result.draws.size()), largest = std::max<double>(largest, draw.num_clusters);
      for (const Component& component : result.components)
        for (double value : component.theta) theta = std::max(theta, value);
      const FittedDpm model(data.items, Unranked::last, flat(1.0, 1.0), result.components, result.predictive);
      const std::vector<double> log_prob = log_probs(model, data, 1);
      double loglik = 0.0;
      for (std::size_t i = 0; i < log_prob.size(); ++i) loglik += data.rankings.weight(i) * log_prob[i];
      log.add(key, {{"figure", "apa"}, {"method", name_of(method)}, {"move", name_of(move)}, {"mean_clusters", mean}, {"max_clusters", largest},
                    {"max_theta", theta}, {"loglik", loglik}, {"log_joint", result.draws.back().log_joint}, {"seconds", cpu_seconds() - begun}});
    }
}

double mean_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()); }

void tables(const Log& log) {
  const auto print = [](const std::string& line) { std::cout << line << "\n"; };
  std::map<std::pair<int, std::string>, std::vector<json>> six;
  for (const json& row : log.rows)
    if (row["figure"] == "fig6") six[{row["dataset"].get<int>(), row["method"].get<std::string>()}].push_back(row);
  if (!six.empty()) {
    print("## Figure 6: VI to the truth (nats), mean over replicates\n\n| data set | method | runs | after 10 | 50 | 100 | 250 | CPU s per 250 |\n|---|---|---|---|---|---|---|---|");
    for (const auto& [group, rows] : six) {
      std::string line = fmt::format("| {} | {} | {} |", group.first, group.second, rows.size());
      for (std::size_t at : {10, 50, 100, 250}) {
        std::vector<double> values;
        for (const json& row : rows)
          if (row["vi"].size() >= at) values.push_back(row["vi"][at - 1].get<double>());
        line += values.empty() ? " - |" : fmt::format(" {:.4f} |", mean_of(values));
      }
      std::vector<double> seconds;
      for (const json& row : rows) seconds.push_back(row["seconds"].back().get<double>());
      print(line + fmt::format(" {:.1f} |", mean_of(seconds)));
    }
    print("");
  }
  bool first = true;
  for (const json& row : log.rows)
    if (row["figure"] == "fig7") {
      if (first) print("## Figure 7: 1 - Beta(a, b) / B~eta(a, b, n)\n\n| n | b | a = 2 | a = 5 | a = 10 |\n|---|---|---|---|---|");
      first = false;
      const auto& e = row["error"];
      print(fmt::format("| {} | {} | {:.2e} | {:.2e} | {:.2e} |", row["n"].get<int>(), row["b"].get<double>(), e[0].get<double>(), e[6].get<double>(), e[16].get<double>()));
    }
  std::map<std::size_t, std::vector<json>> eight, nine;
  for (const json& row : log.rows) {
    if (row["figure"] == "fig8") eight[row["n"].get<std::size_t>()].push_back(row);
    if (row["figure"] == "fig9") nine[row["n"].get<std::size_t>()].push_back(row);
  }
  if (!eight.empty()) {
    print("\n## Figure 8: mean test log-likelihood per ballot | VI test | CPU s\n\n| N | runs | true | dpm | kde (theta = 1) | kde (cross-validated) | ebms |\n|---|---|---|---|---|---|---|");
    for (const auto& [size, rows] : eight) {
      std::string line = fmt::format("| {} | {} |", size, rows.size());
      for (const char* name : {"true", "dpm", "kde", "kde_cv", "ebms"}) {
        std::vector<double> loglik, vi, seconds;
        for (const json& row : rows) {
          if (!row.contains(name)) continue;
          loglik.push_back(row[name]["test_loglik"].get<double>());
          seconds.push_back(row[name]["seconds"].get<double>());
          if (row[name].contains("vi_test")) vi.push_back(row[name]["vi_test"].get<double>());
        }
        line += loglik.empty() ? " - |" : fmt::format(" {:.3f}; {}; {:.1f} |", mean_of(loglik), vi.empty() ? "-" : fmt::format("{:.3f}", mean_of(vi)), mean_of(seconds));
      }
      print(line);
    }
  }
  if (!nine.empty()) {
    print("\n## Figure 9: Jester, mean test log-likelihood per ballot\n\n| N | runs | dpm | clusters | kde 0.03 | 0.1 | 0.4 | 1 |\n|---|---|---|---|---|---|---|---|");
    for (const auto& [size, rows] : nine) {
      std::string line = fmt::format("| {} | {} |", size, rows.size());
      for (const char* name : {"dpm", "clusters", "kde0.03", "kde0.1", "kde0.4", "kde1"}) {
        std::vector<double> values;
        for (const json& row : rows) values.push_back(row[name].get<double>());
        line += fmt::format(" {:.3f} |", mean_of(values));
      }
      print(line);
    }
  }
  first = true;
  for (const json& row : log.rows)
    if (row["figure"] == "apa") {
      if (first) print("\n## Complete APA ballots (n = 5, t = 4, N = 5738), alpha = nu = r = 1\n\n| method | center move | mean clusters | largest number | largest theta | loglik | CPU s |\n|---|---|---|---|---|---|---|");
      first = false;
      print(fmt::format("| {} | {} | {:.2f} | {} | {:.1f} | {:.1f} | {:.1f} |", row["method"].get<std::string>(), row["move"].get<std::string>(), row["mean_clusters"].get<double>(),
                        row["max_clusters"].get<double>(), row["max_theta"].get<double>(), row["loglik"].get<double>(), row["seconds"].get<double>()));
    }
  for (const json& row : log.rows)
    if (row["figure"] == "college") {
      std::vector<double> seconds = row["seconds_per_sweep"].get<std::vector<double>>(), tail(seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
      print(fmt::format("\n## Section 8: N = {}, n = {}, up to 10 listed, beta-gibbs, {} sweeps\n\n{:.2f} CPU s per sweep over the second half (largest {:.2f}), {} clusters at the end, "
                        "{} with at least 1 %, {} singletons, VI {:.3f}, adjusted Rand {:.3f}, peak {:.0f} MB.\n",
                        row["count"].get<int>(), row["n"].get<int>(), row["sweeps"].get<int>(), mean_of(tail), *std::max_element(tail.begin(), tail.end()), row["clusters"].get<int>(),
                        row["substantial"].get<int>(), row["singletons"].get<int>(), row["vi"].get<double>(), row["ari"].get<double>(), row["peak_megabytes"].get<double>()));
    }
  first = true;
  for (const json& row : log.rows)
    if (row["figure"] == "scaling") {
      if (first) print("\n## Cost of a sweep (beta-gibbs, CPU s)\n\n| varied | N | n | t | clusters | assignments | centers |\n|---|---|---|---|---|---|---|");
      first = false;
      print(fmt::format("| {} | {} | {} | {} | {:.0f} | {:.3f} | {:.3f} |", row["what"].get<std::string>(), row["count"].get<int>(), row["n"].get<int>(), row["t"].get<int>(),
                        row["clusters"].get<double>(), row["assignment_seconds"].get<double>(), row["center_seconds"].get<double>()));
    }
}

struct Line {
  std::string name;
  std::vector<double> x, y;
};

// One panel of lines; y on a log scale where asked (values below 1e-4 are drawn there).
std::string panel(const std::string& title, const std::vector<Line>& lines, bool log_y, double left, double top) {
  const char* colors[] = {"#1b6ca8", "#c8553d", "#4a8f4a", "#7a5195"};
  double x0 = 1e300, x1 = -1e300, y0 = 1e300, y1 = -1e300;
  const auto map_y = [&](double y) { return log_y ? std::log10(std::max(y, 1e-4)) : y; };
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.x.size(); ++i)
      x0 = std::min(x0, line.x[i]), x1 = std::max(x1, line.x[i]), y0 = std::min(y0, map_y(line.y[i])), y1 = std::max(y1, map_y(line.y[i]));
  if (y1 <= y0) y1 = y0 + 1.0;
  constexpr double width = 320.0, height = 200.0;
  std::string text = fmt::format("<g transform='translate({},{})'><text x='0' y='-8' font-size='13'>{}</text><rect width='{}' height='{}' fill='none' stroke='#999'/>", left, top, title, width, height);
  text += fmt::format("<text x='-6' y='10' font-size='10' text-anchor='end'>{:.3g}</text><text x='-6' y='{}' font-size='10' text-anchor='end'>{:.3g}</text>", log_y ? std::pow(10.0, y1) : y1, height,
                      log_y ? std::pow(10.0, y0) : y0);
  text += fmt::format("<text x='0' y='{}' font-size='10'>{:.3g}</text><text x='{}' y='{}' font-size='10' text-anchor='end'>{:.3g}</text>", height + 13, x0, width, height + 13, x1);
  for (std::size_t k = 0; k < lines.size(); ++k) {
    text += fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.5' points='", colors[k % 4]);
    for (std::size_t i = 0; i < lines[k].x.size(); ++i)
      text += fmt::format("{:.1f},{:.1f} ", width * (lines[k].x[i] - x0) / (x1 - x0), height * (1.0 - (map_y(lines[k].y[i]) - y0) / (y1 - y0)));
    text += fmt::format("'/><text x='{}' y='{}' font-size='11' fill='{}' text-anchor='end'>{}</text>", width - 6, 16 + 14 * k, colors[k % 4], lines[k].name);
  }
  return text + "</g>\n";
}

void picture(const std::string& figure, const Log& log, const std::string& path) {
  std::string body;
  if (figure == "fig6") {
    for (int dataset = 1; dataset <= 4; ++dataset) {
      std::map<std::string, std::vector<json>> by_method;
      for (const json& row : log.rows)
        if (row["figure"] == "fig6" && row["dataset"] == dataset) by_method[row["method"].get<std::string>()].push_back(row);
      std::vector<Line> iterations, seconds;
      for (const auto& [method, rows] : by_method) {
        Line line{method, {}, {}}, timed{method, {}, {}};
        for (std::size_t i = 0; i < rows[0]["vi"].size(); ++i) {
          double vi = 0.0, at = 0.0;
          for (const json& row : rows) vi += row["vi"][i].get<double>() / static_cast<double>(rows.size()), at += row["seconds"][i].get<double>() / static_cast<double>(rows.size());
          line.x.push_back(static_cast<double>(i + 1)), line.y.push_back(vi);
          timed.x.push_back(at), timed.y.push_back(vi);
        }
        iterations.push_back(line), seconds.push_back(timed);
      }
      if (iterations.empty()) continue;
      body += panel(fmt::format("Data set {}: VI against iteration", dataset), iterations, true, 60, 30 + 260.0 * (dataset - 1));
      body += panel(fmt::format("Data set {}: VI against CPU seconds", dataset), seconds, true, 460, 30 + 260.0 * (dataset - 1));
    }
  } else {
    int place = 0;
    for (int n : {10, 20, 50}) {
      std::vector<Line> lines;
      for (const json& row : log.rows)
        if (row["figure"] == "fig7" && row["n"] == n) lines.push_back({fmt::format("b = {}", row["b"].get<double>()), row["a"].get<std::vector<double>>(), row["error"].get<std::vector<double>>()});
      body += panel(fmt::format("n = {}: relative error against a", n), lines, false, 60 + 400.0 * place, 30);
      ++place;
    }
  }
  write_file(path, fmt::format("<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif'>\n{}</svg>\n", figure == "fig6" ? 840 : 1260, figure == "fig6" ? 1080 : 260, body));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> words;
    Settings settings;
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      const auto value = [&]() -> std::string {
        if (++i >= argc) throw std::runtime_error(word + " needs a value");
        return argv[i];
      };
      if (word == "--quick") settings.quick = true, settings.runs = 1;
      else if (word == "--out") settings.out = value();
      else if (word == "--data") settings.data = value();
      else if (word == "--svg") settings.svg = value();
      else if (word == "--runs") settings.runs = std::stoi(value());
      else if (word == "--seconds") settings.seconds = std::stod(value());
      else words.push_back(word);
    }
    if (words.empty()) throw std::runtime_error("say which: fig6, fig7, fig8, fig9, college, scaling, apa, tables, svg");
    Log log(settings.out);
    if (words[0] == "fig6") figure6(settings, log);
    else if (words[0] == "fig7") figure7(settings, log);
    else if (words[0] == "fig8") figure8(settings, log);
    else if (words[0] == "fig9") figure9(settings, log);
    else if (words[0] == "college") college(settings, log);
    else if (words[0] == "scaling") scaling(settings, log);
    else if (words[0] == "apa") apa(settings, log);
    else if (words[0] == "tables") tables(log);
    else if (words[0] == "svg" && words.size() > 1) picture(words[1], log, settings.svg);
    else throw std::runtime_error("unknown experiment " + words[0]);
  } catch (const std::exception& error) {
    std::cerr << "paper5_dpm: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
