#include "caucus/infer/dp_mallows/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "caucus/base/error.h"
#include "caucus/base/mcmc_diagnostics.h"
#include "caucus/io/file_writer.h"

namespace caucus::dp_mallows {

namespace {

constexpr std::size_t co_clustering_limit = 5000;

void write_draws(const Result& result, const std::string& path) {
  FileWriter file(path);
  file.buffer() += "chain,iteration,num_clusters,log_joint,alpha,largest_share\n";
  for (const Draw& draw : result.draws) {
    fmt::format_to(std::back_inserter(file.buffer()), "{},{},{},{},{},{}\n", draw.chain, draw.iteration, draw.num_clusters,
                   draw.log_joint, draw.alpha, draw.largest_share);
    file.checkpoint();
  }
  file.commit();
}

// One file per chain as CmdStan writes it: lp__ first, comments with #.
void write_cmdstan(const Result& result, const Options& options) {
  for (int chain = 1; chain <= options.chains; ++chain) {
    FileWriter file(fmt::format("{}-{}.csv", options.draws_cmdstan, chain));
    const int kept = static_cast<int>(
        std::count_if(result.draws.begin(), result.draws.end(), [&](const Draw& draw) { return draw.chain == chain; }));
    file.buffer() += fmt::format(
        "# model = dpm_model\n# method = sample (Default)\n#   sample\n#     num_samples = {}\n#     num_warmup = {}\n#     "
        "save_warmup = 0\n"
        "#     thin = {}\n# id = {}\nlp__,num_clusters,alpha,largest_share\n",
        kept, options.burnin, options.thin, chain);
    for (const Draw& draw : result.draws)
      if (draw.chain == chain)
        fmt::format_to(std::back_inserter(file.buffer()), "{},{},{},{}\n", draw.log_joint, draw.num_clusters, draw.alpha,
                       draw.largest_share);
    file.commit();
  }
}

void write_assignments(const Result& result, const std::string& path) {
  FileWriter file(path);
  file.buffer() += "chain,iteration";
  for (std::size_t i = 0; i < result.labels.size(); ++i) fmt::format_to(std::back_inserter(file.buffer()), ",{}", i + 1);
  file.buffer() += '\n';
  for (std::size_t d = 0; d < result.draws.size(); ++d) {
    fmt::format_to(std::back_inserter(file.buffer()), "{},{}", result.draws[d].chain, result.draws[d].iteration);
    for (std::uint32_t label : result.assignments[d]) fmt::format_to(std::back_inserter(file.buffer()), ",{}", label + 1);
    file.buffer() += '\n';
    file.checkpoint();
  }
  file.commit();
}

void write_co_clustering(const Result& result, const std::string& path) {
  const std::size_t size = result.labels.size();
  const std::vector<float> matrix = co_clustering(result.assignments);
  FileWriter file(path);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j)
      fmt::format_to(std::back_inserter(file.buffer()), "{}{:.6g}", j > 0 ? "," : "", matrix[i * size + j]);
    file.buffer() += '\n';
    file.checkpoint();
  }
  file.commit();
}

std::vector<double> thinned(const std::vector<double>& values) {
  constexpr std::size_t limit = 2000;
  if (values.size() <= limit) return values;
  std::vector<double> result;
  for (std::size_t k = 0; k < limit; ++k) result.push_back(values[values.size() * k / limit]);
  return result;
}

ChainQuantity quantity(std::string name, const std::vector<std::vector<double>>& chains) {
  ChainQuantity result;
  result.name = std::move(name);
  std::size_t shortest = chains.empty() ? 0 : chains[0].size();
  double total = 0.0, count = 0.0;
  for (const auto& chain : chains) {
    shortest = std::min(shortest, chain.size());
    for (double value : chain) total += value, count += 1.0;
  }
  result.mean = total / count;
  if (shortest < 4) return result;
  result.effective_sample_size = effective_sample_size(chains);
  if (const double rhat = split_rhat(chains); std::isfinite(rhat)) result.rhat = rhat;
  return result;
}

}  // namespace

void write_outputs(const Result& result, const Options& options) {
  if (!options.draws.empty()) write_draws(result, options.draws);
  if (!options.draw_assignments.empty()) write_assignments(result, options.draw_assignments);
  if (!options.draws_cmdstan.empty()) write_cmdstan(result, options);
  if (!options.co_clustering.empty()) write_co_clustering(result, options.co_clustering);
}

Posterior posterior_of(const Result& result, bool alpha_sampled) {
  Posterior posterior;
  std::map<std::size_t, std::size_t> counts;
  std::map<int, std::size_t> place;
  std::vector<std::vector<double>> clusters, joint, alpha;
  for (const Draw& draw : result.draws) {
    ++counts[draw.num_clusters];
    const auto [found, fresh] = place.emplace(draw.chain, clusters.size());
    if (fresh) clusters.emplace_back(), joint.emplace_back(), alpha.emplace_back();
    clusters[found->second].push_back(draw.num_clusters);
    joint[found->second].push_back(draw.log_joint);
    alpha[found->second].push_back(draw.alpha);
  }
  posterior.num_groups.assign(counts.begin(), counts.end());
  posterior.num_draws = result.draws.size();
  posterior.expected_vi = result.expected_vi;
  posterior.quantities = {quantity("num_clusters", clusters), quantity("log_joint", joint)};
  if (alpha_sampled) posterior.quantities.push_back(quantity("alpha", alpha));
  for (const Trace& trace : result.traces) {
    posterior.quantities[0].traces.push_back(thinned(trace.num_clusters));
    posterior.quantities[1].traces.push_back(thinned(trace.log_joint));
    if (alpha_sampled) posterior.quantities[2].traces.push_back(thinned(trace.alpha));
  }
  // Co-clustering of some ballots, evenly spread over the file, for a look: at most 120.
  const std::size_t step = (result.labels.size() + 119) / 120;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < result.labels.size(); i += std::max<std::size_t>(step, 1)) shown.push_back(i);
  if (result.assignments.empty() || shown.size() < 2) return posterior;
  CoClustering together;
  for (const std::size_t i : shown) {
    std::vector<double> row;
    for (const std::size_t j : shown) {
      const auto count =
          std::count_if(result.assignments.begin(), result.assignments.end(), [&](const auto& draw) { return draw[i] == draw[j]; });
      row.push_back(std::round(1000.0 * static_cast<double>(count) / static_cast<double>(result.assignments.size())) / 1000.0);
    }
    together.labels.push_back(result.labels[i]);
    together.together.push_back(std::move(row));
  }
  posterior.co_clustering = std::move(together);
  return posterior;
}

}  // namespace caucus::dp_mallows
