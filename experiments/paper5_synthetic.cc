// Figures 6 and 7, and split-merge proposals on the data of Figure 6.
#include "caucus/infer/dp_mallows/chain.h"
#include "paper5.h"

namespace caucus::experiments::paper5 {

namespace {

using namespace dp_mallows;

struct Clustered {
  Points points;
  ClusterLabels truth;
};

// Section 6: "centers drawn from the conjugate posterior of sigma, conditioned on 100 permutations drawn randomly from a GM with
// theta = 0.7". Conditioned on 100 rankings of one GM that posterior is practically one ranking, and ten equal centers cannot be
// told apart. Independent: each center has a GM of its own. Nested: all are drawn from one GM with theta = 0.7.
enum class Centers { independent, nested };

// Ten clusters of 500 points, n = 20.
Clustered figure6_data(int dataset, int replicate, std::size_t per_cluster, Centers centers) {
  constexpr std::size_t n = 20;
  const std::size_t t = dataset % 2 == 1 ? 10 : 19;
  RandomStream rng(1000 + static_cast<std::uint64_t>(dataset), Purpose::generate, static_cast<std::uint64_t>(replicate));
  std::vector<double> theta(n - 1, 1.0);
  if (dataset > 2)
    for (std::size_t j = 0; j < n - 1; ++j) theta[j] = std::max(0.0, 1.5 - (dataset == 3 ? 0.1 : 0.05) * static_cast<double>(j));
  const std::vector<double> flat_theta(n, 0.7);
  Center origin;
  sample_uniform(n, origin, rng);
  Clustered result;
  result.points.num_items = n;
  for (std::uint32_t k = 0; k < 10; ++k) {
    if (centers == Centers::independent && k > 0) sample_uniform(n, origin, rng);
    const std::vector<Item> center = draw_ranking(origin.order, flat_theta, n, rng);
    for (std::size_t i = 0; i < per_cluster; ++i) {
      add_point(result.points, draw_ranking(center, theta, t, rng));
      result.truth.push_back(k);
    }
  }
  result.points.index_points();
  return result;
}

// Sweeps that are written down: dense at first, then some 10 % apart.
bool is_recorded(int sweep, int last) {
  if (sweep <= 10 || sweep == last) return true;
  const auto decade = static_cast<int>(std::floor(20.0 * std::log10(sweep)));
  return decade != static_cast<int>(std::floor(20.0 * std::log10(sweep - 1)));
}

struct ChainCase {
  Method method = Method::exact_gibbs;
  int split_merge = 0, start_clusters = 20, sweeps = 250;
  StartCenters start_centers = StartCenters::fitted;
};

// One chain: distance to the truth and clusters by sweep and CPU seconds.
Json follow_chain(const Clustered& data, const ChainCase& one, int replicate) {
  const Prior prior(flat_prior(1.0, 1.0), data.points.num_items, data.points.num_stages, one.method == Method::beta_gibbs);
  ChainSettings settings;
  settings.method = one.method;
  settings.split_merge = one.split_merge;
  settings.start_clusters = one.start_clusters;
  settings.start_centers = one.start_centers;
  Chain chain(data.points, prior, settings, RandomStream(1, Purpose::chain, static_cast<std::uint64_t>(replicate)));
  Json sweeps = Json::array(), seconds = Json::array(), vi = Json::array(), clusters = Json::array();
  double spent = -cpu_seconds();
  chain.start_randomly();
  spent += cpu_seconds();
  for (int sweep = 1; sweep <= one.sweeps; ++sweep) {
    const double begun = cpu_seconds();
    chain.sweep();
    spent += cpu_seconds() - begun;
    if (!is_recorded(sweep, one.sweeps)) continue;
    sweeps.push_back(sweep);
    seconds.push_back(rounded(spent, 4));
    vi.push_back(rounded(variation_of_information(chain.labels(), data.truth), 4));
    clusters.push_back(chain.clusters().size());
  }
  Json line{
      {"sweeps", sweeps}, {"seconds", seconds}, {"vi", vi}, {"clusters", clusters}, {"log_joint", rounded(chain.log_joint(), 9)}};
  if (one.split_merge > 0) {
    const SplitMergeCounts& counts = chain.split_merge_counts();
    line["accepted"] = {counts.splits_accepted, counts.merges_accepted};
    line["tried"] = {counts.splits_tried, counts.merges_tried};
  }
  return line;
}

// Means over lines that recorded the same sweeps.
struct Averaged {
  std::vector<double> sweeps, seconds, vi, clusters;
  double log_joint = 0.0, final_vi_deviation = 0.0;
  std::size_t runs = 0;
};
Averaged average(const std::vector<const Json*>& lines) {
  Averaged result;
  result.runs = lines.size();
  const std::size_t length = (*lines[0])["sweeps"].size();
  Mean joint, last_vi;
  for (const Json* line : lines) joint.add((*line)["log_joint"].get<double>()), last_vi.add((*line)["vi"].back().get<double>());
  result.log_joint = joint.mean();
  result.final_vi_deviation = last_vi.deviation();
  for (std::size_t i = 0; i < length; ++i) {
    Mean seconds, vi, clusters;
    for (const Json* line : lines) {
      seconds.add((*line)["seconds"][i].get<double>());
      vi.add((*line)["vi"][i].get<double>());
      clusters.add((*line)["clusters"][i].get<double>());
    }
    result.sweeps.push_back((*lines[0])["sweeps"][i].get<double>());
    result.seconds.push_back(seconds.mean()), result.vi.push_back(vi.mean()), result.clusters.push_back(clusters.mean());
  }
  return result;
}
double at_sweep(const Averaged& all, const std::vector<double>& values, double sweep) {
  std::size_t i = 0;
  while (i + 1 < all.sweeps.size() && all.sweeps[i + 1] <= sweep) ++i;
  return values[i];
}
Series by(const std::string& name, const std::vector<double>& x, const std::vector<double>& vi) {
  Series series{name, {}};
  // The paper's axis ends at 1e-4; a perfect clustering is drawn there.
  for (std::size_t i = 0; i < x.size(); ++i) series.points.push_back({std::max(x[i], 1e-3), std::max(vi[i], 1e-4)});
  return series;
}

constexpr Method methods[] = {Method::beta_gibbs, Method::slice_gibbs, Method::exact_gibbs};

}  // namespace

// The paper's reading and start, our start on the same data, and the reading that does not fit.
struct Figure6Part {
  const char* prefix;
  Centers centers;
  StartCenters start;
  int replicates, sweeps;
  const char* title;
};
constexpr Figure6Part figure6_parts[]{
    {"figure6/independent/random", Centers::independent, StartCenters::random, 10, 60,
     "Independent centers, start as in the paper (`--start-centers random`)"},
    {"figure6/independent/fitted", Centers::independent, StartCenters::fitted, 4, 60,
     "Independent centers, the default start (`--start-centers fitted`)"},
    {"figure6/nested/random", Centers::nested, StartCenters::random, 4, 60,
     "Centers drawn from one GM with theta = 0.7, start as in the paper"},
    {"figure6", Centers::nested, StartCenters::fitted, 10, 250, "Centers drawn from one GM with theta = 0.7, the default start"}};

std::string figure6_prefix(const Figure6Part& part, int dataset, Method method) {
  return fmt::format("{}/{}/{}/", part.prefix, dataset, name_of(method));
}

void run_figure6(const Settings& settings, Results& results) {
  for (const Figure6Part& part : figure6_parts)
    for (int replicate = 0; replicate < std::min(trials(settings, 10), part.replicates); ++replicate)
      for (int dataset = 1; dataset <= 4; ++dataset)
        for (const Method method : methods) {
          const std::string key = figure6_prefix(part, dataset, method) + std::to_string(replicate);
          if (results.has(key)) continue;
          // The paper compares the first two samplers; two runs show where ours stands.
          if (part.sweeps < 250 && method == Method::exact_gibbs && replicate >= 2) continue;
          const Clustered data = figure6_data(dataset, replicate, settings.quick ? 50 : 500, part.centers);
          results.add(
              key, static_cast<std::uint64_t>(replicate),
              follow_chain(data, {.method = method, .sweeps = settings.quick ? 20 : part.sweeps, .start_centers = part.start},
                           replicate));
        }
}

Report report_figure6(const Settings&, const Results& results) {
  Report report;
  std::string charts;
  for (const Figure6Part& part : figure6_parts) {
    std::string table;
    for (int dataset = 1; dataset <= 4; ++dataset) {
      std::vector<Series> by_sweep, by_seconds;
      for (const Method method : methods) {
        const std::vector<const Json*> lines = lines_of(results, figure6_prefix(part, dataset, method));
        if (lines.empty()) continue;
        const Averaged all = average(lines);
        const auto found = std::ranges::count_if(lines, [](const Json* line) { return (*line)["vi"].back().get<double>() < 1e-3; });
        table += fmt::format(
            "| {} | {} | {} | {:.3f} | {:.3f} | {:.4f} | {:.4f} | {:.3f} | {} of {} | {:.1f} | {:.0f} | {:.1f} |\n", dataset,
            name_of(method), all.runs, at_sweep(all, all.vi, 10), at_sweep(all, all.vi, 20), at_sweep(all, all.vi, 50),
            all.vi.back(), all.final_vi_deviation, found, all.runs, all.clusters.back(), all.log_joint, all.seconds.back());
        by_sweep.push_back(by(std::string(name_of(method)), all.sweeps, all.vi));
        by_seconds.push_back(by(std::string(name_of(method)), all.seconds, all.vi));
      }
      if (&part != &figure6_parts[0] || by_sweep.empty()) continue;  // what is drawn is the paper's
      charts +=
          placed(0, 380.0 * (dataset - 1),
                 line_chart(fmt::format("Data set {}: by sweep", dataset), "sweep", "VI", by_sweep, 60, true, false, {1e-4, 10.0}) +
                     line_chart(fmt::format("Data set {}: by CPU seconds", dataset), "CPU seconds", "VI", by_seconds, 520, true,
                                true, {1e-4, 10.0}));
    }
    if (table.empty()) continue;
    report.table += fmt::format(
        "{}{}. Variation of information to the truth (nats), mean over runs; CPU seconds of one core. N = 5000, n = 20, ten "
        "clusters, "
        "start with 20, {} sweeps. Found: VI below 0.001 at the end.\n\n"
        "| data set | method | runs | VI after 10 | 20 | 50 | last | sd | found | clusters at last | log joint | CPU s |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n{}",
        report.table.empty() ? "" : "\n", part.title, part.sweeps, table);
  }
  if (!charts.empty()) report.svg = svg_page(940, 4 * 380, charts);
  return report;
}

// 1 - Beta(a, b) / B~eta(a, b, n). The legend's number is "the equivalent sample size plus two": legend 4 is b = 6 of Beta(a, b).
// log_beta_integral(a, b) is of Beta(a, b + 1); n is the stage size - 1.
void run_figure7(const Settings&, Results& results) {
  for (const std::size_t n : {10, 20, 50})
    for (const double legend : {4.0, 8.0, 16.0, 32.0}) {
      const double b = legend + 2.0;
      const std::string key = fmt::format("figure7/{}/{}", n, b);
      if (results.has(key)) continue;
      Json a_values = Json::array(), errors = Json::array();
      for (double a = 2.0; a <= 10.0; a += 0.5) {
        a_values.push_back(a);
        errors.push_back(rounded(-std::expm1(log_beta_integral(a, b - 1.0) - log_stage_integral(n + 1, a, b - 1.0))));
      }
      results.add(key, 0, {{"n", n}, {"b", b}, {"a", a_values}, {"error", errors}});
    }
}

Report report_figure7(const Settings&, const Results& results) {
  Report report;
  std::string charts;
  double left = 60;
  for (const int n : {10, 20, 50}) {
    std::vector<Series> all;
    for (const int b : {6, 10, 18, 34})
      for (const Json* line : lines_of(results, fmt::format("figure7/{}/{}", n, b))) {
        if ((*line)["b"].get<int>() != b) continue;
        const Json& e = (*line)["error"];
        if (report.table.empty())
          report.table =
              "1 - Beta(a, b) / B~eta(a, b, n). The paper's axes end at 0.15, 0.02 and 6e-4.\n\n| n | legend | b | a = 2 | a = 5 | "
              "a = 10 |\n|---|---|---|---|---|---|\n";
        report.table += fmt::format("| {} | {} | {} | {:.2e} | {:.2e} | {:.2e} |\n", n, b - 2, b, e[0].get<double>(),
                                    e[6].get<double>(), e[16].get<double>());
        Series one{fmt::format("{} (b = {})", b - 2, b), {}};
        for (std::size_t i = 0; i < e.size(); ++i) one.points.push_back({(*line)["a"][i].get<double>(), e[i].get<double>()});
        all.push_back(std::move(one));
      }
    charts += line_chart(fmt::format("n = {}: relative error", n), "a", "1 - Beta / B~eta", all, left, false, false,
                         {0.0, n == 10   ? 0.16
                               : n == 20 ? 0.02
                                         : 6e-4});
    left += 455;
  }
  if (!report.table.empty()) report.svg = svg_page(left, 380, charts);
  return report;
}

void run_split_merge(const Settings& settings, Results& results) {
  for (int replicate = 0; replicate < trials(settings, 5); ++replicate)
    for (const int dataset : {1, 2})
      for (const int start : {1, 20})
        for (const int proposals : {0, 5}) {
          const std::string key = fmt::format("splitmerge/{}/{}/{}/{}", dataset, start, proposals, replicate);
          if (results.has(key)) continue;
          const Clustered data = figure6_data(dataset, replicate, settings.quick ? 50 : 500, Centers::nested);
          results.add(key, static_cast<std::uint64_t>(replicate),
                      follow_chain(data, {.split_merge = proposals, .start_clusters = start, .sweeps = settings.quick ? 6 : 100},
                                   replicate));
        }
}

Report report_split_merge(const Settings&, const Results& results) {
  Report report;
  std::string charts;
  double top = 0;
  for (const int dataset : {1, 2}) {
    double left = 60;
    for (const int start : {1, 20}) {
      std::vector<Series> by_seconds;
      for (const int proposals : {0, 5}) {
        const std::vector<const Json*> lines = lines_of(results, fmt::format("splitmerge/{}/{}/{}/", dataset, start, proposals));
        if (lines.empty()) continue;
        const Averaged all = average(lines);
        Mean splits, merges;
        for (const Json* line : lines)
          if (line->contains("accepted"))
            splits.add((*line)["accepted"][0].get<double>()), merges.add((*line)["accepted"][1].get<double>());
        if (report.table.empty())
          report.table =
              "exact-gibbs on the data of Figure 6 with and without 5 split-merge proposals per sweep; VI to the truth in nats, "
              "means over runs.\n\n"
              "| data set | start clusters | proposals | runs | VI after 5 | 20 | last | clusters at last | log joint | CPU s | "
              "splits, merges accepted per run |\n"
              "|---|---|---|---|---|---|---|---|---|---|---|\n";
        report.table += fmt::format("| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.1f} | {:.0f} | {:.1f} | {} |\n", dataset,
                                    start, proposals, all.runs, at_sweep(all, all.vi, 5), at_sweep(all, all.vi, 20), all.vi.back(),
                                    all.clusters.back(), all.log_joint, all.seconds.back(),
                                    splits.count > 0 ? fmt::format("{:.1f}, {:.1f}", splits.mean(), merges.mean()) : "-");
        by_seconds.push_back(by(proposals > 0 ? "split-merge" : "Gibbs alone", all.seconds, all.vi));
      }
      charts += placed(
          0, top, line_chart(fmt::format("Data set {}, start with {}", dataset, start), "CPU seconds", "VI", by_seconds, left));
      left += 460;
    }
    top += 380;
  }
  if (!report.table.empty()) report.svg = svg_page(940, top, charts);
  return report;
}

}  // namespace caucus::experiments::paper5
