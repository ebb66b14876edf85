// What the experiments share: results that survive a stop, tables and line charts.
#pragma once

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace caucus::experiments {

using Json = nlohmann::ordered_json;

struct Settings {
  std::string data, out;
  bool quick = false;
  int trials = 0, threads = 1;  // trials 0: the paper's number
};

// One unit of work is one line of a JSON-lines file, found by its key: what is there is not run again. Each line says under "made"
// what made it: commit, compiler, CPU, date, seed and CPU seconds. Several processes may work on one file, however they were
// started: whoever asks first for a key that is not there has it to do, and the others leave it. A process that dies gives back
// what it had.
class Results {
 public:
  explicit Results(std::filesystem::path file);
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results();

  bool has(const std::string& key) const { return lines_.contains(key); }
  // Is it there, or another process's to do? If not, it is this one's now: the caller does it and adds it.
  bool has(const std::string& key);
  // `seed`: what the work's random numbers start from.
  void add(const std::string& key, std::uint64_t seed, Json values);
  const std::map<std::string, Json>& lines() const { return lines_; }
  // What other processes have added.
  void read();

  // From now on only these keys are not there, and add() compares with the line on file instead of writing one. All but times, and
  // what made it, must be the same.
  void repeat(std::set<std::string> keys);
  struct Repeated {
    std::string key;
    std::string difference;  // empty: the same
    Json line;               // as it came out now
  };
  const std::vector<Repeated>& repeated() const { return repeated_; }
  const std::set<std::string>& not_repeated() const { return again_; }  // keys that no target makes any more
  // Writes the file anew with the lines as they came out: those that were the same now say what made them.
  void replace_repeated();

 private:
  void append(std::string text) const;
  std::string place_of(const std::string& key) const;
  void give_back(const std::string& key, int claim);

  std::filesystem::path file_, claims_;
  std::map<std::string, Json> lines_;
  std::vector<std::string> order_;
  std::map<std::string, int> mine_;  // what this process has to do: files it holds
  std::streamoff read_ = 0;
  bool repeating_ = false;
  std::set<std::string> again_;
  std::vector<Repeated> repeated_;
  double asked_ = 0.0;  // CPU seconds when has() last said no
};

// CPU seconds a line says it took; none: it does not say.
std::optional<double> recorded_seconds(const Json& line);
// Lines older than the field "made" have it from the history of their file, without compiler and CPU.
bool says_what_made_it(const Json& line);

inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Mean {
  double sum = 0.0, squares = 0.0;
  std::size_t count = 0;
  void add(double value) { sum += value, squares += value * value, ++count; }
  double mean() const { return sum / static_cast<double>(count); }
  double deviation() const {
    if (count < 2) return 0.0;
    const auto n = static_cast<double>(count);
    return std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1.0)));
  }
  double standard_error() const { return count < 2 ? 0.0 : deviation() / std::sqrt(static_cast<double>(count)); }
};

// "34 to 74": the interval of Wilson (1927), 95 %, in percent.
inline std::string wilson(double successes, double runs) {
  const double z = 1.96, p = successes / runs, centre = (p + z * z / (2.0 * runs)) / (1.0 + z * z / runs),
               half = z * std::sqrt(p * (1.0 - p) / runs + z * z / (4.0 * runs * runs)) / (1.0 + z * z / runs);
  return fmt::format("{:.0f} to {:.0f}", 100.0 * std::max(0.0, centre - half), 100.0 * std::min(1.0, centre + half));
}

// What a table or figure of a paper looks like from the results so far: Markdown, ours next to the paper's, and a picture (may be
// empty).
struct Report {
  std::string table, svg;
};

// One table or figure of a paper. `run` adds to the results what is not there yet; `report` only reads them.
struct Target {
  std::string name;  // "paper1-table1": "paper1" names the file of results, which targets of one paper share
  std::string what;
  void (*run)(const Settings&, Results&);
  Report (*report)(const Settings&, const Results&);
  std::vector<std::string> keys = {};  // how its lines' keys begin; none: "table1/"
};
std::vector<std::string> keys_of(const Target& target);

// Each paper's, in the order of the paper.
std::vector<Target> paper1_targets();
std::vector<Target> paper2_targets();
std::vector<Target> paper3_targets();
std::vector<Target> paper4_targets();
std::vector<Target> paper5_targets();
std::vector<Target> findings_targets();  // of no paper
std::vector<Target> choosing_targets();

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// Round numbers between low and high, some four to eight.
inline std::vector<double> round_ticks(double low, double high) {
  double step = std::pow(10.0, std::floor(std::log10(high - low)));
  for (const double part : {0.5, 0.2, 0.1, 0.05})
    if ((high - low) / step < 4.0) step = std::pow(10.0, std::floor(std::log10(high - low))) * part;
  std::vector<double> ticks;
  for (double at = std::ceil(low / step - 1e-9); at * step <= high * (high > 0 ? 1.0 + 1e-9 : 1.0 - 1e-9); at += 1.0)
    ticks.push_back(at == 0.0 ? 0.0 : at * step);
  return ticks;
}

// The same where low and high are decimal logarithms; so are the answers.
inline std::vector<double> round_log_ticks(double low, double high) {
  std::vector<double> ticks;
  const std::vector<double> parts = high - low > 5.0   ? std::vector<double>{1.0}
                                    : high - low > 2.2 ? std::vector<double>{1.0, 3.0}
                                                       : std::vector<double>{1.0, 2.0, 5.0};
  for (double decade = std::floor(low); decade <= high; decade += high - low > 8.0 ? 2.0 : 1.0)
    for (const double part : parts)
      if (const double at = decade + std::log10(part); at >= low && at <= high) ticks.push_back(at);
  if (ticks.size() < 3) {
    ticks.clear();
    for (const double value : round_ticks(std::pow(10.0, low), std::pow(10.0, high))) ticks.push_back(std::log10(value));
  }
  return ticks;
}

// A method has one colour in every picture; `position` serves names that are no method's.
inline const char* colour_of(const std::string& name, std::size_t position) {
  static const std::map<std::string, const char*> known{{"em", "#000000"},
                                                        {"em-lsr", "#0072b2"},
                                                        {"em-cml", "#d55e00"},
                                                        {"em-gmm", "#009e73"},
                                                        {"emm", "#cc79a7"},
                                                        {"em-slsr", "#56b4e9"},
                                                        {"em from the truth", "#777777"},
                                                        {"start spectral", "#e69f00"},
                                                        {"spectral start", "#e69f00"},
                                                        {"start random", "#999999"},
                                                        {"start moments", "#8c564b"},
                                                        {"m4", "#0072b2"},
                                                        {"m4 exact", "#0072b2"},
                                                        {"m4 searchpi", "#d55e00"},
                                                        {"additive EM", "#009e73"},
                                                        {"beta-gibbs", "#0072b2"},
                                                        {"slice-gibbs", "#d55e00"},
                                                        {"exact-gibbs", "#009e73"},
                                                        {"PL-Gibbs", "#0072b2"},
                                                        {"PL-Var", "#009e73"},
                                                        {"logit-lasso", "#d55e00"},
                                                        {"PL-EM", "#cc79a7"},
                                                        {"paper: EM", "#000000"},
                                                        {"paper: tensor", "#8c564b"},
                                                        {"linear", "#999999"},
                                                        {"pl:1", "#999999"},
                                                        {"pl", "#000000"},
                                                        {"mallows:1", "#8c564b"},
                                                        {"mallows", "#cc79a7"},
                                                        {"gmallows", "#e69f00"},
                                                        {"m4:2", "#56b4e9"},
                                                        {"dpm", "#0072b2"},
                                                        {"ebms", "#d55e00"},
                                                        {"true", "#000000"},
                                                        {"kde", "#009e73"},
                                                        {"kde (theta = 1)", "#009e73"},
                                                        {"kde (cross-validated)", "#cc79a7"}};
  static const char* others[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b", "#999999"};
  const auto found = known.find(name.substr(0, name.find(", ")));
  return found != known.end() ? found->second : others[position % std::size(others)];
}

// The y axis of a figure: what is beyond is drawn at its end. Empty: as the points are.
struct Range {
  double low = 0.0, high = 0.0;
};

// "10 million", not 1e+07.
inline std::string tick_label(double x) {
  return x >= 999999.5 ? fmt::format("{:.4g} million", x / 1e6) : fmt::format("{:.6g}", x);
}
// With at most three digits before the noughts.
inline bool is_round(double x) { return x == std::stod(fmt::format("{:.3g}", x)); }

// Where the x axis has numbers: at the points if there are few and they are round, else at round numbers, fewer of them where
// labels would run into each other. `place` says where on the page a value is.
template <class Place>
std::vector<double> x_ticks(const std::vector<Series>& all, double low, double high, bool log_x, const Place& place) {
  std::vector<double> points;
  for (const Series& series : all)
    for (const auto& point : series.points) points.push_back(point.first);
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  const auto without_collisions = [&](const std::vector<double>& ticks) {
    std::vector<double> kept;
    double end = -1e300;
    for (const double x : ticks) {
      const double half = 3.5 * static_cast<double>(tick_label(x).size());
      if (place(x) - half < end + 6.0) continue;
      kept.push_back(x), end = place(x) + half;
    }
    return kept;
  };
  if (points.size() <= 9 && std::ranges::all_of(points, is_round)) return without_collisions(points);
  std::vector<double> ticks = log_x ? round_log_ticks(low, high) : round_ticks(low, high);
  if (log_x)
    for (double& at : ticks) at = std::pow(10.0, at);
  if (const std::vector<double> kept = without_collisions(ticks); kept.size() == ticks.size() || !log_x) return kept;
  ticks.clear();
  for (double decade = std::ceil(low - 1e-9); decade <= high + 1e-9; decade += 1.0) ticks.push_back(std::pow(10.0, decade));
  return without_collisions(ticks);
}

// One panel, lines named beside it. A line named "METHOD, variant" is dashed in the colour of METHOD where METHOD has a line too.
// Axes are logarithmic unless told otherwise.
inline std::string line_chart(const std::string& title, const std::string& x_label, const std::string& y_label,
                              const std::vector<Series>& all, double left, bool log_y = true, bool log_x = true, Range range = {}) {
  constexpr double size = 300, top = 30;
  double x_low = 1e300, x_high = -1e300, y_low = 1e300, y_high = -1e300;
  const auto x_of = [&](double x) { return log_x ? std::log10(x) : x; };
  const bool fixed = range.high > range.low;
  const auto y_of = [&](double y) {
    if (fixed) y = std::clamp(y, range.low, range.high);
    return log_y ? std::log10(y) : y;
  };
  for (const Series& series : all)
    for (const auto& [x, y] : series.points) {
      x_low = std::min(x_low, x_of(x)), x_high = std::max(x_high, x_of(x));
      y_low = std::min(y_low, y_of(y)), y_high = std::max(y_high, y_of(y));
    }
  if (x_low > x_high) return {};
  if (x_high - x_low < 1e-9) x_high += 1.0;
  if (y_high - y_low < 1e-9) y_high += 1.0;
  const double pad = 0.05 * (y_high - y_low);
  y_low -= pad, y_high += pad;
  if (fixed) y_low = y_of(range.low), y_high = y_of(range.high);
  const auto px = [&](double x) { return left + size * (x_of(x) - x_low) / (x_high - x_low); };
  const auto py = [&](double y) { return top + size * (1.0 - (y_of(y) - y_low) / (y_high - y_low)); };
  std::string svg = fmt::format(
      "<text x=\"{}\" y=\"18\" font-weight=\"bold\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
      "stroke=\"#999\"/>\n"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" "
      "transform=\"rotate(-90 {} {})\">{}</text>\n",
      left, title, left, top, size, size, left + size / 2, top + size + 32, x_label, left - 50, top + size / 2, left - 50,
      top + size / 2, y_label);
  for (const double x : x_ticks(all, x_low, x_high, log_x, px))
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", px(x), top + size + 16, tick_label(x));
  for (const double at : log_y ? round_log_ticks(y_low, y_high) : round_ticks(y_low, y_high)) {
    const double y = top + size * (1.0 - (at - y_low) / (y_high - y_low));
    svg += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e5e5e5\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:.4g}</text>\n",
        left, left + size, y, y, left - 4, y + 4, log_y ? std::pow(10.0, at) : at);
  }
  std::vector<std::vector<std::string>> drawn;  // the points of each line, as the page has them
  for (const Series& series : all) {
    drawn.emplace_back();
    for (const auto& [x, y] : series.points) drawn.back().push_back(fmt::format("{:.1f},{:.1f} ", px(x), py(y)));
  }
  const auto polyline = [](const char* colour, double width, const char* dash, const std::string& points) {
    return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{} points=\"{}\"/>\n", colour, width, dash,
                       points);
  };
  double row = 0.0;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const std::string& name = all[s].name;
    const char* colour = colour_of(name, s);
    const bool variant = std::ranges::any_of(
        all, [&](const Series& other) { return name.size() > other.name.size() && name.starts_with(other.name + ", "); });
    const char* dash = variant ? " stroke-dasharray=\"5 3\"" : "";
    std::string points;
    for (std::size_t i = 0; i < drawn[s].size(); ++i) {
      points += drawn[s][i];
      // A stretch that later lines cover is as much wider, so that all are seen; not in curves of many short ones.
      double covered = 0.0;
      for (std::size_t later = s + 1; later < all.size() && i > 0 && drawn[s].size() < 40 && !name.empty(); ++later)
        for (std::size_t j = 1; j < drawn[later].size(); ++j)
          covered += drawn[later][j] == drawn[s][i] && drawn[later][j - 1] == drawn[s][i - 1] ? 1.0 : 0.0;
      if (covered > 0.0) svg += polyline(colour, 1.5 + 2.0 * std::min(covered, 3.0), dash, drawn[s][i - 1] + drawn[s][i]);
    }
    svg += polyline(colour, 1.5, dash, points);
    if (name.empty()) continue;
    const double y = top + 14 + 15 * row++;
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"{3}\" stroke-width=\"1.5\"{4}/><text x=\"{5}\" y=\"{6}\" "
        "fill=\"{3}\">{7}</text>\n",
        left + size + 5, left + size + 20, y - 4, colour, dash, left + size + 24, y, name);
  }
  return svg;
}

inline std::string svg_page(double width, double height, const std::string& body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
      width, height, body);
}

// Rows of named values on one axis: a table one can see. What is named "paper: NAME" is a ring in the colour of NAME, what is named
// "NAME, variant" a square. `log10`: values are decimal logarithms, labels what they are of.
inline std::string dot_chart(const std::string& title, const std::string& x_label,
                             const std::vector<std::pair<std::string, std::vector<Series>>>& rows, bool log10 = false) {
  constexpr double width = 420, top = 34, step = 20;
  double low = 1e300, high = -1e300;
  std::size_t longest = 0, longest_name = 0;
  const auto plain = [](const std::string& name) { return name.starts_with("paper: ") ? name.substr(7) : name; };
  std::vector<std::string> names, legend;
  for (const auto& [name, row] : rows) {
    longest = std::max(longest, name.size());
    for (const Series& series : row) {
      if (std::find(legend.begin(), legend.end(), series.name) == legend.end())
        legend.push_back(series.name), longest_name = std::max(longest_name, series.name.size());
      if (std::find(names.begin(), names.end(), plain(series.name)) == names.end()) names.push_back(plain(series.name));
      for (const auto& point : series.points) low = std::min(low, point.first), high = std::max(high, point.first);
    }
  }
  if (low > high) return {};
  const double left = 24.0 + 6.4 * static_cast<double>(longest);
  const double pad = high > low ? 0.04 * (high - low) : 1.0;
  low -= pad, high += pad;
  const auto x_of = [&](double value) { return left + width * (value - low) / (high - low); };
  const auto dot = [&](double x, double y, const std::string& name) {
    const char* colour =
        colour_of(plain(name), static_cast<std::size_t>(std::find(names.begin(), names.end(), plain(name)) - names.begin()));
    if (name.find(", ") != std::string::npos)
      return fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"7\" height=\"7\" fill=\"{}\" fill-opacity=\"0.75\"/>\n", x - 3.5,
                         y - 3.5, colour);
    return name.starts_with("paper")
               ? fmt::format("<circle cx=\"{:.1f}\" cy=\"{}\" r=\"4\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", x, y,
                             colour)
               : fmt::format("<circle cx=\"{:.1f}\" cy=\"{}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.75\"/>\n", x, y, colour);
  };
  const double bottom = top + step * static_cast<double>(rows.size());
  std::string body = fmt::format(
      "<text x=\"10\" y=\"18\" font-weight=\"bold\">{}</text>\n<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", title,
      left + width / 2, bottom + 34, x_label);
  for (const double at : log10 ? round_log_ticks(low, high) : round_ticks(low, high))
    body += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#eee\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4:.4g}</text>\n",
        x_of(at), top, bottom, bottom + 16, log10 ? std::pow(10.0, at) : at);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double y = top + step * (static_cast<double>(r) + 0.5);
    body += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"#ddd\"/>\n",
        left - 8, y + 4, rows[r].first, left, left + width, y, y);
    for (const Series& series : rows[r].second)
      for (const auto& point : series.points) body += dot(x_of(point.first), y, series.name);
  }
  for (std::size_t s = 0; s < legend.size(); ++s) {
    const double y = top + 10 + 15 * static_cast<double>(s);
    body += dot(left + width + 20, y, legend[s]) +
            fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", left + width + 30, y + 4, legend[s]);
  }
  const double height = std::max(bottom, top + 15 * static_cast<double>(legend.size())) + 46;
  return svg_page(left + width + 50 + 6.4 * static_cast<double>(longest_name), height, body);
}

}  // namespace caucus::experiments
