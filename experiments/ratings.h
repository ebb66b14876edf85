// Ratings as rankings.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/dataset.h"
#include "caucus/io/table.h"

namespace caucus::experiments {

// Orders of the columns by the values of each row, largest first; equal values in random order.
inline Dataset orders_of(const Eigen::MatrixXd& values, std::uint64_t seed) {
  Dataset data;
  const auto n = static_cast<std::size_t>(values.cols());
  for (std::size_t j = 0; j < n; ++j) data.items.push_back(std::to_string(j + 1));
  RankingSetBuilder builder;
  RandomStream random(seed, Purpose::generate, 0);
  std::vector<ItemId> order(n);
  for (Eigen::Index i = 0; i < values.rows(); ++i) {
    std::iota(order.begin(), order.end(), ItemId{0});
    random.shuffle(std::span<ItemId>(order));
    std::ranges::stable_sort(order, [&](ItemId a, ItemId b) { return values(i, a) > values(i, b); });
    builder.add(order);
  }
  data.rankings = builder.build();
  return data;
}

// The people who rated all of the 70 jokes that most people rated; the n first of these jokes.
inline Eigen::MatrixXd jester(const std::string& folder, std::size_t n) {
  const Table table = read_table(folder + "/ratings/jester1_ratings_wide.csv.gz");
  std::vector<std::pair<std::size_t, std::size_t>> counts;  // ratings, column
  for (std::size_t c = 1; c < table.columns.size(); ++c)
    counts.emplace_back(
        static_cast<std::size_t>(std::ranges::count_if(table.columns[c].numbers, [](double v) { return !std::isnan(v); })), c);
  std::ranges::stable_sort(counts, [](const auto& a, const auto& b) { return a.first > b.first; });
  counts.resize(70);
  std::ranges::sort(counts, {}, [](const auto& one) { return one.second; });
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < table.num_rows; ++i)
    if (std::ranges::none_of(counts, [&](const auto& one) { return std::isnan(table.columns[one.second].numbers[i]); }))
      rows.push_back(i);
  Eigen::MatrixXd values(rows.size(), n);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < n; ++j)
      values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = table.columns[counts[j].second].numbers[rows[i]];
  return values;
}

}  // namespace caucus::experiments
