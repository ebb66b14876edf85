#include "caucus/evaluate/composition.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <map>
#include <numeric>

namespace caucus {

Share wilson_share(double count, double total, double level) {
  if (total <= 0.0) return {count, 0.0, 0.0, 1.0};
  const double z = std::sqrt(2.0) * boost::math::erf_inv(level), p = count / total, z2 = z * z / total;
  const double middle = (p + z2 / 2.0) / (1.0 + z2);
  const double half = z / (1.0 + z2) * std::sqrt(p * (1.0 - p) / total + z2 / (4.0 * total));
  return {count, p, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

namespace {

constexpr std::size_t most_numbers = 12;  // different numbers that are shown as they are

// Names of the values and the value of each row; no_value where the row has none.
constexpr std::size_t no_value = static_cast<std::size_t>(-1);
struct Coded {
  std::vector<std::string> names;
  std::vector<std::size_t> row;
};

Coded code_texts(const std::vector<std::string>& texts) {
  Coded coded;
  std::map<std::string, std::size_t> known;
  for (const std::string& text : texts) {
    const auto [at, added] = known.try_emplace(text, coded.names.size());
    if (text.empty()) {
      coded.row.push_back(no_value);
      if (added) known.erase(at);
      continue;
    }
    if (added) coded.names.push_back(text);
    coded.row.push_back(at->second);
  }
  return coded;
}

Coded code_numbers(const std::vector<double>& numbers) {
  std::vector<double> sorted;
  for (double value : numbers)
    if (std::isfinite(value)) sorted.push_back(value);
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> different = sorted;
  different.erase(std::unique(different.begin(), different.end()), different.end());
  Coded coded;
  if (different.size() <= most_numbers) {
    for (double value : different) coded.names.push_back(fmt::format("{:g}", value));
    for (double value : numbers)
      coded.row.push_back(
          std::isfinite(value)
              ? static_cast<std::size_t>(std::lower_bound(different.begin(), different.end(), value) - different.begin())
              : no_value);
    return coded;
  }
  std::vector<double> cuts;  // upper ends of all quarters but the last
  for (std::size_t q = 1; q < 4; ++q) cuts.push_back(sorted[q * sorted.size() / 4]);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t q = 0; q <= cuts.size(); ++q)
    coded.names.push_back(q == 0             ? fmt::format("up to {:g}", cuts[0])
                          : q == cuts.size() ? fmt::format("over {:g}", cuts.back())
                                             : fmt::format("over {:g} to {:g}", cuts[q - 1], cuts[q]));
  for (double value : numbers)
    coded.row.push_back(std::isfinite(value)
                            ? static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), value) - cuts.begin())
                            : no_value);
  return coded;
}

// The most frequent values keep their names; the others become one.
void keep_frequent(Coded& coded, const std::vector<double>& weight, std::size_t max_values) {
  std::vector<std::size_t> order(coded.names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
  std::vector<std::size_t> place(order.size());
  std::vector<std::string> names;
  for (std::size_t p = 0; p < order.size(); ++p) {
    const bool kept = order.size() <= max_values || p + 1 < max_values;
    place[order[p]] = kept ? p : max_values - 1;
    if (kept) names.push_back(coded.names[order[p]]);
  }
  if (order.size() > max_values) names.push_back("other");
  coded.names = std::move(names);
  for (std::size_t& value : coded.row)
    if (value != no_value) value = place[value];
}

}  // namespace

std::optional<Composition> composition(const Dataset& data, const Column& column, std::span<const std::uint32_t> labels,
                                       std::size_t num_groups, std::size_t max_values) {
  const RankingSet& rankings = data.rankings;
  Coded coded = column.is_numeric() ? code_numbers(column.numbers) : code_texts(column.texts);
  const std::size_t num_rows = rankings.num_rows();
  if (coded.names.size() < 2 || coded.row.size() != num_rows || coded.names.size() > num_rows / 2) return std::nullopt;
  if (!column.is_numeric()) {
    std::vector<double> weight(coded.names.size(), 0.0);
    for (std::size_t row = 0; row < num_rows; ++row)
      if (coded.row[row] != no_value) weight[coded.row[row]] += rankings.row_weight(row);
    keep_frequent(coded, weight, max_values);
  }
  Composition result;
  result.column = column.name;
  result.values = coded.names;
  result.everyone.assign(coded.names.size(), 0.0);
  std::vector<std::vector<double>> counts(num_groups, std::vector<double>(coded.names.size(), 0.0));
  for (std::size_t row = 0; row < num_rows; ++row) {
    const double w = rankings.row_weight(row);
    if (coded.row[row] == no_value) {
      result.left_out += w;
      continue;
    }
    result.everyone[coded.row[row]] += w;
    if (const std::uint32_t label = labels[rankings.row_ranking(row)]; label < num_groups) counts[label][coded.row[row]] += w;
  }
  for (const std::vector<double>& group : counts) {
    const double total = std::accumulate(group.begin(), group.end(), 0.0);
    std::vector<Share> shares;
    for (double count : group) shares.push_back(wilson_share(count, total));
    result.groups.push_back(std::move(shares));
  }
  return result;
}

}  // namespace caucus
