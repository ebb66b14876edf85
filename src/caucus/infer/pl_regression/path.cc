#include "caucus/infer/pl_regression/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "caucus/infer/pl_regression/chains.h"
#include "caucus/infer/pl_regression/em.h"
#include "caucus/infer/pl_regression/gibbs.h"
#include "caucus/infer/pl_regression/variational.h"
#include "caucus/io/csv.h"

namespace caucus::pl_regression {

std::vector<double> default_path_grid(int points) {
  std::vector<double> grid;
  for (int i = 0; i < points; ++i) grid.push_back(std::pow(10.0, 1.0 - 3.0 * i / std::max(points - 1, 1)));
  return grid;
}

std::vector<PathPoint> regularization_path(const Input& input, const Options& options, const std::vector<double>& grid,
                                           const Run& run) {
  std::vector<double> sorted = grid;
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<PathPoint> path;
  Run quiet = run;
  quiet.observer = nullptr;
  RowMatrix previous;
  const int burnin = options.burnin.value_or(options.sweeps / 2);
  int done = 0;
  for (const double a : sorted) {
    const bool warm = previous.size() > 0 && a < 1.0;
    const EmResult map =
        fit_em(input.data, {a, a > 1.0 ? options.b.value_or(1.0) : 0.0, options.iterations, options.tolerance.value_or(1e-14)},
               quiet, warm ? &previous : nullptr);
    previous = map.lambda;
    path.push_back({"map", a, map.lambda / map.lambda.sum()});
    // Every a has a stream of its own: a path does not change when points are added.
    std::vector<GibbsChain> chains;
    chains.emplace_back(input.data, GibbsOptions{a, options.a_min, options.a_max},
                        RandomStream(run.seed, Purpose::chain, std::bit_cast<std::uint64_t>(a)));
    const Posterior posterior = run_chains(chains, {options.sweeps, burnin, std::max(1, (options.sweeps - burnin) / 5000)}, quiet);
    const auto matrix = [&](const std::vector<double>& values) {
      return RowMatrix(Eigen::Map<const RowMatrix>(values.data(), map.lambda.rows(), map.lambda.cols()));
    };
    path.push_back({"posterior-mean", a, matrix(posterior.mean())});
    path.push_back({"posterior-median", a, matrix(posterior.median())});
    const VariationalResult q = fit_variational(
        input.data,
        {a, options.b.value_or(1.0), options.a_min, options.a_max, options.iterations, options.tolerance.value_or(1e-12)}, quiet);
    path.push_back({"variational-mean", a, q.mean()});
    StopReason why{};
    if (run.report({"path", ++done, static_cast<int>(sorted.size()), a}, why) == Flow::stop) break;
  }
  return path;
}

std::string path_csv(const std::vector<PathPoint>& path, const Input& input) {
  fmt::memory_buffer out;
  fmt::format_to(std::back_inserter(out), "estimate,a,class,feature,value\n");
  for (const PathPoint& point : path)
    for (Eigen::Index k = 0; k < point.lambda.rows(); ++k)
      for (Eigen::Index j = 0; j < point.lambda.cols(); ++j)
        fmt::format_to(std::back_inserter(out), "{},{:.6g},{},{},{:.8g}\n", point.estimate, point.a,
                       csv_cell(input.classes[static_cast<std::size_t>(k)]),
                       csv_cell(input.map.list()[static_cast<std::size_t>(j)].name), point.lambda(k, j));
  return fmt::to_string(out);
}

std::string path_svg(const std::vector<PathPoint>& path, const Input& input) {
  constexpr double width = 420, height = 300, left = 50, right = 12, top = 30, bottom = 40;
  const std::vector<std::pair<std::string, std::string>> panels{{"map", "MAP (EM)"},
                                                                {"posterior-mean", "posterior mean (Gibbs)"},
                                                                {"posterior-median", "posterior median (Gibbs)"},
                                                                {"variational-mean", "variational mean"}};
  const std::vector<std::string> colours{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e",
                                         "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#7f7f7f"};
  const auto escaped = [](const std::string& text) {
    std::string result;
    for (const char c : text)
      result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
    return result;
  };
  double low = infinity, high = 0.0, largest = 0.0;
  for (const PathPoint& point : path) {
    low = std::min(low, point.a);
    high = std::max(high, point.a);
    largest = std::max(largest, point.lambda.maxCoeff());
  }
  if (path.empty()) low = 0.1, high = 1.0, largest = 1.0;
  const double span = std::max(std::log10(high / low), 1e-9);
  fmt::memory_buffer buffer;
  const auto out = std::back_inserter(buffer);
  fmt::format_to(
      out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"11\">\n",
      2 * width, 2 * height);
  fmt::format_to(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  for (std::size_t panel = 0; panel < panels.size(); ++panel) {
    const double x0 = static_cast<double>(panel % 2) * width + left, y0 = static_cast<double>(panel / 2) * height + top;
    const double w = width - left - right, h = height - top - bottom;
    const auto x = [&](double a) { return x0 + w * std::log10(a / low) / span; };
    const auto y = [&](double value) { return y0 + h * (1.0 - value / largest); };
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>\n", x0, y0 - 8, panels[panel].second);
    fmt::format_to(out, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#999\"/>\n", x0,
                   y0, w, h);
    for (double tick = std::pow(10.0, std::ceil(std::log10(low) - 1e-9)); tick <= high * 1.0001; tick *= 10.0)
      fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>\n", x(tick), y0 + h + 14, tick);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">a</text>\n", x0 + w / 2, y0 + h + 28);
    for (int tick = 0; tick <= 4; ++tick)
      fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.2g}</text>\n", x0 - 4,
                     y(largest * tick / 4.0) + 4, largest * tick / 4.0);
    const auto k = static_cast<Eigen::Index>(input.classes.size()), p = static_cast<Eigen::Index>(input.map.num_features());
    for (Eigen::Index c = 0; c < k; ++c)
      for (Eigen::Index j = 0; j < p; ++j) {
        std::string points;
        for (const PathPoint& point : path)
          if (point.estimate == panels[panel].first) points += fmt::format("{:.1f},{:.1f} ", x(point.a), y(point.lambda(c, j)));
        const auto index = static_cast<std::size_t>(c * p + j);
        fmt::format_to(
            out, "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.3\" points=\"{}\"><title>{}: {}</title></polyline>\n",
            colours[index % colours.size()], points, escaped(input.classes[static_cast<std::size_t>(c)]),
            escaped(input.map.list()[static_cast<std::size_t>(j)].name));
      }
  }
  fmt::format_to(out, "</svg>\n");
  return fmt::to_string(buffer);
}

}  // namespace caucus::pl_regression
