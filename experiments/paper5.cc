#include "paper5.h"

#include <cstdlib>

#include "caucus/model/stage_sampler.h"

namespace caucus::experiments {

namespace paper5 {

using dp_mallows::Item;
using dp_mallows::Points;

std::vector<Item> draw_ranking(const std::vector<Item>& center, const std::vector<double>& theta, std::size_t t,
                               RandomStream& rng) {
  std::vector<Item> left = center, ranking;
  for (std::size_t j = 0; j < t; ++j) {
    const std::size_t s = left.size() > 1 ? draw_stage(theta[j], left.size(), rng) : 0;
    ranking.push_back(left[s]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(s));
  }
  return ranking;
}

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

dp_mallows::PriorParameters flat_prior(double alpha, double nu) {
  dp_mallows::PriorParameters prior;
  prior.alpha = alpha;
  prior.nu = nu;
  return prior;
}

double mean_log_prob(const FittedModel& model, const Dataset& test) {
  const std::vector<double> log_prob = log_probs(model, test, 1);
  double total = 0.0;
  for (std::size_t i = 0; i < log_prob.size(); ++i) total += test.rankings.weight(i) * log_prob[i];
  return total / test.rankings.total_weight();
}

double rounded(double value, int digits) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);  // stod refuses what is below 1e-307
}

std::vector<const Json*> lines_of(const Results& results, const std::string& prefix) {
  std::vector<const Json*> found;
  for (const auto& [key, line] : results.lines())
    if (key.starts_with(prefix)) found.push_back(&line);
  return found;
}

std::string placed(double x, double y, const std::string& chart) {
  return fmt::format("<g transform=\"translate({},{})\">\n{}</g>\n", x, y, chart);
}

}  // namespace paper5

std::vector<Target> paper5_targets() {
  using namespace paper5;
  return {
      {"paper5-figure6", "distance to the true clustering by sweep and by CPU seconds, three samplers on four data sets",
       run_figure6, report_figure6},
      {"paper5-figure7", "relative error of the Beta approximation of the integral over theta", run_figure7, report_figure7},
      {"paper5-figure8", "density and clustering against sample size: dpm, ebms, kde and the truth", run_figure8, report_figure8},
      {"paper5-figure9", "Jester, test log-likelihood of dpm and of kde at four widths", run_figure9, report_figure9},
      {"paper5-college", "section 8 at full size on synthetic applications: Table 1, Figures 10 and 11", run_college,
       report_college},
      {"paper5-scaling", "CPU seconds per sweep against N, clusters, t and n", run_scaling, report_scaling},
      {"paper5-apa", "complete APA ballots: number of clusters under the three samplers", run_apa, report_apa},
      {"paper5-splitmerge", "whether split-merge proposals help", run_split_merge, report_split_merge}};
}

}  // namespace caucus::experiments
