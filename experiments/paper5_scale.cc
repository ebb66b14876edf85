// Section 8's size and the cost of a sweep. The college applications are not public: theirs are drawn here.
#include <sys/resource.h>

#include <numeric>

#include "caucus/infer/dp_mallows/chain.h"
#include "paper5.h"

namespace caucus::experiments::paper5 {

namespace {

using namespace dp_mallows;

constexpr std::size_t num_large = 27;  // of at least 1 %, as the paper found

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

struct Applications {
  Points points;
  ClusterLabels truth;
  std::vector<Center> centers;
};

// `count` rankings of up to t of n items from 27 large and many small clusters; the first choices agree best. Unequal: the clusters
// of 5 % and more (the first four) agree less than the others, the small ones more, so that the lines of Figure 11 differ.
constexpr double concentration(std::size_t cluster) { return cluster < 4 ? 0.75 : cluster < num_large ? 1.0 : 1.25; }

Applications draw_applications(std::size_t count, std::size_t n, std::size_t t, std::size_t num_small, bool unequal = false) {
  RandomStream rng(4000, Purpose::generate, 0);
  Applications result;
  result.centers.resize(num_large + num_small);
  for (Center& center : result.centers) sample_uniform(n, center, rng);
  std::vector<double> weights, theta;
  for (std::size_t k = 0; k < result.centers.size(); ++k)
    weights.push_back(k < num_large ? 1.0 / (1.0 + 0.1 * static_cast<double>(k)) : 0.004);
  for (std::size_t j = 0; j < t; ++j) theta.push_back(0.9 - 0.6 * static_cast<double>(j) / static_cast<double>(t));
  result.points.num_items = n;
  for (std::size_t i = 0; i < count; ++i) {
    result.truth.push_back(static_cast<std::uint32_t>(rng.categorical(weights)));
    const std::size_t length = t <= 3 ? t : 3 + rng.below(t - 2);  // 6.5 on average for t = 10
    std::vector<double> own = theta;
    if (unequal)
      for (double& value : own) value *= concentration(result.truth.back());
    add_point(result.points, draw_ranking(result.centers[result.truth.back()].order, own, length, rng));
  }
  result.points.index_points();
  return result;
}

// CPU seconds of every sweep, as a user of fit() sees them.
struct Watch : Observer {
  std::vector<double> seconds;
  double last = cpu_seconds();
  Flow progress(const Progress&) override {
    const double now = cpu_seconds();
    seconds.push_back(now - last);
    last = now;
    return Flow::proceed;
  }
};

// The five largest clusters as Table 1 has them: each course with its place in the true center of most of the cluster's members.
Json top_courses(const Result& result, const Applications& data) {
  Json columns = Json::array();
  for (std::size_t c = 0; c < std::min<std::size_t>(5, result.components.size()); ++c) {
    std::vector<std::size_t> members(data.centers.size(), 0);
    for (std::size_t i = 0; i < data.truth.size(); ++i) members[data.truth[i]] += result.labels[i] == c ? 1 : 0;
    const auto group = static_cast<std::size_t>(std::max_element(members.begin(), members.end()) - members.begin());
    Json items = Json::array();
    for (std::size_t k = 0; k < 10; ++k) {
      const Item item = result.components[c].consensus[k];
      items.push_back({item + 1, data.centers[group].position[static_cast<std::size_t>(item)] + 1});
    }
    columns.push_back({{"share", result.components[c].size / static_cast<double>(data.truth.size())},
                       {"pure", static_cast<double>(members[group]) / result.components[c].size},
                       {"items", items}});
  }
  return columns;
}

// theta_j averaged with weight cluster size over clusters with a share in [low, high): Figure 11.
std::vector<double> mean_theta(const std::vector<Component>& components, double total, double low, double high) {
  std::vector<double> theta(10, 0.0);
  double weight = 0.0;
  for (const Component& component : components) {
    if (component.size < low * total || component.size >= high * total) continue;
    weight += component.size;
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] += component.size * component.theta[j];
  }
  for (double& value : theta) value = weight > 0.0 ? rounded(value / weight) : 0.0;
  return theta;
}

}  // namespace

void run_college(const Settings& settings, Results& results) {
  const std::size_t count = settings.quick ? 3000 : 53757, n = settings.quick ? 100 : 533;
  const int sweeps = settings.quick ? 10 : 500;
  for (int trial = 1; trial <= trials(settings, 4); ++trial) {
    const std::string key = fmt::format("college/unequal/{}", trial);
    if (results.has(key)) continue;
    const Applications data = draw_applications(count, n, 10, 150, true);
    Options options;
    options.method = Method::beta_gibbs;
    options.alpha = options.nu = 100.0;
    options.sweeps = sweeps;
    options.burnin = sweeps / 2;
    options.thin = 5;
    options.predictive_draws = 2;
    options.start_clusters = 180;
    Watch watch;
    Run run;
    run.seed = static_cast<std::uint64_t>(trial);
    run.threads = 1;
    run.observer = &watch;
    const Result result = dp_mallows::fit(to_dataset(data.points), data.points, flat_prior(100.0, 100.0), options, run);
    const auto total = static_cast<double>(count);
    std::vector<double> sizes;
    for (const Component& component : result.components) sizes.push_back(component.size);
    const auto at_least = [&](double size) {
      return std::count_if(sizes.begin(), sizes.end(), [&](double one) { return one >= size; });
    };
    // A thinned record: means over tenths of the run, and the first ten sweeps one by one.
    Json record = Json::array();
    const std::vector<double>& clusters = result.traces[0].num_clusters;
    const auto add = [&](std::size_t begin, std::size_t end) {
      double seconds = 0.0, most = 0.0, alive = 0.0;
      for (std::size_t i = begin; i < end; ++i)
        seconds += watch.seconds[i], most = std::max(most, watch.seconds[i]), alive += clusters[i];
      const auto length = static_cast<double>(end - begin);
      record.push_back({{"first", begin + 1},
                        {"last", end},
                        {"clusters", rounded(alive / length)},
                        {"seconds", rounded(seconds / length)},
                        {"slowest", rounded(most)}});
    };
    for (std::size_t i = 0; i < std::min<std::size_t>(10, clusters.size()); ++i) add(i, i + 1);
    for (std::size_t i = 10; i < clusters.size(); i = std::min(clusters.size(), i + 49)) add(i, std::min(clusters.size(), i + 49));
    results.add(key, run.seed,
                {{"count", count},
                 {"n", n},
                 {"sweeps", result.iterations},
                 {"record", record},
                 {"clusters", sizes.size()},
                 {"sizes", sizes},
                 {"singletons", sizes.size() - static_cast<std::size_t>(at_least(2.0))},
                 {"tenth_percent", at_least(0.001 * total)},
                 {"percent", at_least(0.01 * total)},
                 {"vi", variation_of_information(result.labels, data.truth)},
                 {"rand", adjusted_rand_index(result.labels, data.truth)},
                 {"theta_all", mean_theta(result.components, total, 0.0, 2.0)},
                 {"theta_small", mean_theta(result.components, total, 0.0, 0.05)},
                 {"theta_large", mean_theta(result.components, total, 0.05, 2.0)},
                 {"table1", top_courses(result, data)},
                 {"megabytes", rounded(peak_megabytes(), 4)}});
  }
}

Report report_college(const Settings&, const Results& results) {
  const std::vector<const Json*> runs = lines_of(results, "college/unequal/");
  if (runs.empty()) return {};
  const Json& first = *runs[0];
  Report report;
  report.table = fmt::format(
      "Section 8: N = {}, n = {}, 3 to 10 listed, {} sweeps of beta-gibbs, alpha = nu = 100. The paper's data are not public; ours "
      "are drawn from "
      "27 large and 150 small clusters; theta_j falls from 0.9 to 0.3, times 0.75 in the four clusters above 5 % and 1.25 in the "
      "small ones. Only the form compares.\n\n"
      "| | paper |",
      first["count"].get<int>(), first["n"].get<int>(), first["sweeps"].get<int>());
  for (std::size_t i = 0; i < runs.size(); ++i) report.table += fmt::format(" run {} |", i + 1);
  report.table += "\n|---|---|" + std::string();
  for (std::size_t i = 0; i < runs.size(); ++i) report.table += "---|";
  const auto row = [&](const char* what, const char* paper, const char* name, const char* format) {
    report.table += fmt::format("\n| {} | {} |", what, paper);
    for (const Json* run : runs) report.table += fmt::format(fmt::runtime(format), (*run)[name].get<double>());
  };
  row("clusters", "177", "clusters", " {:.0f} |");
  row("singletons", "114", "singletons", " {:.0f} |");
  row("with at least 0.1 %", "35", "tenth_percent", " {:.0f} |");
  row("with at least 1 %", "27 (23 to 27)", "percent", " {:.0f} |");
  row("VI to the truth (nats)", "", "vi", " {:.4f} |");
  row("adjusted Rand index", "", "rand", " {:.4f} |");
  row("peak memory, MB", "", "megabytes", " {:.0f} |");
  report.table +=
      "\n\nCost of a sweep, run 1 (CPU seconds of one core, clusters alive):\n\n| sweeps | clusters | s per sweep | slowest "
      "|\n|---|---|---|---|\n";
  for (const Json& part : first["record"])
    report.table += fmt::format("| {} to {} | {:.0f} | {:.3f} | {:.3f} |\n", part["first"].get<int>(), part["last"].get<int>(),
                                part["clusters"].get<double>(), part["seconds"].get<double>(), part["slowest"].get<double>());
  report.table +=
      "\nTable 1: first ten of the five largest clusters; each item with its place in the true center (in brackets).\n\n| rank |";
  for (std::size_t c = 0; c < first["table1"].size(); ++c)
    report.table += fmt::format(" cluster {} ({:.1f} %) |", c + 1, 100.0 * first["table1"][c]["share"].get<double>());
  report.table += "\n|---|";
  for (std::size_t c = 0; c < first["table1"].size(); ++c) report.table += "---|";
  for (std::size_t k = 0; k < 10; ++k) {
    report.table += fmt::format("\n| {} |", k + 1);
    for (const Json& column : first["table1"])
      report.table += fmt::format(" {} ({}) |", column["items"][k][0].get<int>(), column["items"][k][1].get<int>());
  }
  report.table += "\n";
  std::vector<Series> sizes, theta;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Series one{fmt::format("run {}", i + 1), {}};
    double place = 0.0;
    for (const Json& size : (*runs[i])["sizes"]) one.points.push_back({place += 1.0, size.get<double>()});
    sizes.push_back(std::move(one));
  }
  for (const auto& [name, field] :
       {std::pair{"all clusters", "theta_all"}, std::pair{"below 5 %", "theta_small"}, std::pair{"5 % and more", "theta_large"}}) {
    Series one{name, {}};
    for (std::size_t j = 0; j < 10; ++j) {
      Mean mean;
      for (const Json* run : runs) mean.add((*run)[field][j].get<double>());
      if (mean.mean() > 0.0) one.points.push_back({static_cast<double>(j + 1), mean.mean()});
    }
    theta.push_back(std::move(one));
  }
  report.table += "\nFigure 11: mean theta_j by cluster size, mean over runs.\n\n| clusters |";
  for (int j = 1; j <= 10; ++j) report.table += fmt::format(" j = {} |", j);
  report.table += "\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Series& one : theta) {
    report.table += fmt::format("| {} |", one.name);
    for (const auto& point : one.points) report.table += fmt::format(" {:.3f} |", point.second);
    report.table += "\n";
  }
  report.svg = svg_page(920, 380,
                        line_chart("Figure 10: cluster sizes", "cluster", "size", sizes, 60, true, false) +
                            line_chart("Figure 11: mean theta_j by cluster size", "rank j", "theta_j", theta, 500, false, false));
  return report;
}

void run_scaling(const Settings& settings, Results& results) {
  struct Case {
    std::string what;
    std::size_t count, n, t, num_small;
  };
  std::vector<Case> cases;
  const std::size_t base = settings.quick ? 1000 : 10000;
  for (const std::size_t factor : {1, 2, 4}) cases.push_back({"N", base * factor, 533, 10, 150});
  if (!settings.quick) cases.push_back({"N", 53757, 533, 10, 150});
  for (const std::size_t num_small : {20, 65, 155, 335}) cases.push_back({"clusters", base, 533, 10, num_small});
  for (const std::size_t t : {3, 5, 10, 20}) cases.push_back({"t", base, 533, t, 150});
  for (const std::size_t n : {133, 266, 533, 1066, 2132}) cases.push_back({"n", base, n, 10, 150});
  for (const Case& one : cases) {
    const std::string key = fmt::format("scaling/{}/{}/{}/{}/{}", one.what, one.count, one.n, one.t, one.num_small);
    if (results.has(key)) continue;
    const Applications data = draw_applications(one.count, one.n, one.t, one.num_small);
    // The chain starts at the true clusters and opens no others, so their number stays put.
    const Prior prior(flat_prior(1e-6, 100.0), one.n, data.points.num_stages, true);
    ChainSettings chain_settings;
    chain_settings.method = Method::beta_gibbs;
    Chain chain(data.points, prior, chain_settings, RandomStream(1, Purpose::chain, 1));
    ChainState state;
    state.labels = canonical_labels(data.truth);
    state.alpha = 1e-6;
    std::vector<bool> seen(data.centers.size(), false);
    for (const std::uint32_t group : data.truth)
      if (!seen[group]) seen[group] = true, state.centers.push_back(data.centers[group].order);
    chain.restore(state);
    Mean assignments, centers, clusters;
    for (int sweep = 0; sweep < (settings.quick ? 1 : 5); ++sweep) {
      const double begun = cpu_seconds();
      chain.resample_assignments();
      const double middle = cpu_seconds();
      chain.resample_centers();
      centers.add(cpu_seconds() - middle);
      assignments.add(middle - begun);
      clusters.add(static_cast<double>(chain.clusters().size()));
      chain.restore(chain.state());
    }
    results.add(key, 1,
                {{"what", one.what},
                 {"count", one.count},
                 {"n", one.n},
                 {"t", one.t},
                 {"clusters", clusters.mean()},
                 {"assignments", rounded(assignments.mean(), 4)},
                 {"centers", rounded(centers.mean(), 4)}});
  }
}

Report report_scaling(const Settings&, const Results& results) {
  Report report;
  std::string charts;
  double left = 60;
  for (const std::string what : {"N", "clusters", "t", "n"}) {
    std::vector<const Json*> lines = lines_of(results, "scaling/" + what + "/");
    if (lines.empty()) continue;
    const std::string field = what == "N" ? "count" : what;
    std::sort(lines.begin(), lines.end(),
              [&](const Json* a, const Json* b) { return (*a)[field].get<double>() < (*b)[field].get<double>(); });
    if (report.table.empty())
      report.table =
          "CPU seconds of a sweep of beta-gibbs, the number of clusters held at the truth (5 sweeps each).\n\n"
          "| varied | N | n | t at most | clusters | assignments | centers | sweep |\n|---|---|---|---|---|---|---|---|\n";
    Series assignments{"assignments", {}}, centers{"centers", {}}, linear{"linear", {}};
    for (const Json* line : lines) {
      const double x = (*line)[field].get<double>(), a = (*line)["assignments"].get<double>(), c = (*line)["centers"].get<double>();
      report.table += fmt::format("| {} | {} | {} | {} | {:.0f} | {:.3f} | {:.3f} | {:.3f} |\n", what, (*line)["count"].get<int>(),
                                  (*line)["n"].get<int>(), (*line)["t"].get<int>(), (*line)["clusters"].get<double>(), a, c, a + c);
      assignments.points.push_back({x, a}), centers.points.push_back({x, c});
      linear.points.push_back({x, assignments.points[0].second * x / assignments.points[0].first});
    }
    std::vector<Series> all{assignments, centers};
    if (what != "n") all.push_back(linear);
    charts += line_chart("CPU seconds of a sweep against " + what, what, "seconds", all, left);
    left += 460;
  }
  if (!charts.empty()) report.svg = svg_page(left, 380, charts);
  return report;
}

}  // namespace caucus::experiments::paper5
