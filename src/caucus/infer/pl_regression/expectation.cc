#include "caucus/infer/pl_regression/expectation.h"

#include <cmath>

#include "caucus/base/parallel.h"

namespace caucus::pl_regression {

namespace {

// The sums of a block of rows, row-major.
struct BlockSums {
  std::vector<double> gain, rate;
  double loglik = 0.0;
};
auto parts(IsA<BlockSums> auto& sums) { return std::tie(sums.gain, sums.rate, sums.loglik); }

}  // namespace

Expectation expectation(const RegressionData& data, const RowMatrix& win, const RowMatrix& run, const Workers& workers) {
  const std::size_t k = data.num_classes, p = data.num_features();
  const auto rows = static_cast<Eigen::Index>(k), columns = static_cast<Eigen::Index>(p);
  const Eigen::RowVectorXd all = run.colwise().sum();
  const auto make = [&] { return BlockSums{std::vector<double>(k * p), std::vector<double>((data.ranking ? k : 1) * p), 0.0}; };
  const auto add = [&](std::vector<double>& target, std::size_t row, const double* w, double factor) {
    double* out = target.data() + row * p;
    for (std::size_t j = 0; j < p; ++j) out[j] += factor * w[j];
  };
  const auto body = [&](BlockSums& part, std::size_t begin, std::size_t end) {
    std::vector<double> strength(k), share(k);
    std::vector<std::uint8_t> running;
    for (std::size_t i = begin; i < end; ++i) {
      const double* w = data.features(i);
      const double weight = data.weight(i);
      if (!data.ranking) {
        const std::size_t y = data.outcome[i];
        const double own = dot(w, win.data() + y * p, p), total = dot(w, all.data(), p);
        part.loglik += weight * (std::log(own) - std::log(total));
        add(part.gain, y, w, weight / own);
        add(part.rate, 0, w, weight / total);
        continue;
      }
      for (std::size_t j = 0; j < k; ++j) strength[j] = dot(w, run.data() + j * p, p);
      std::fill(share.begin(), share.end(), 0.0);
      for_each_stage(data, i, strength, running, [&](std::size_t, std::uint32_t winner, double total) {
        const double own = &win == &run ? strength[winner] : dot(w, win.data() + winner * p, p);
        part.loglik += weight * (std::log(own) - std::log(total));
        add(part.gain, winner, w, weight / own);
        for (std::size_t j = 0; j < k; ++j)
          if (running[j] != 0) share[j] += weight / total;
      });
      for (std::size_t j = 0; j < k; ++j)
        if (share[j] > 0.0) add(part.rate, j, w, share[j]);
    }
  };
  const BlockSums sums =
      parallel_fold(Blocks(data.num_rows(), 1 + 32768 / p, 16), workers, make, body, [](BlockSums& total, const BlockSums& part) {
        for (std::size_t j = 0; j < total.gain.size(); ++j) total.gain[j] += part.gain[j];
        for (std::size_t j = 0; j < total.rate.size(); ++j) total.rate[j] += part.rate[j];
        total.loglik += part.loglik;
      });
  return {Eigen::Map<const RowMatrix>(sums.gain.data(), rows, columns),
          Eigen::Map<const RowMatrix>(sums.rate.data(), data.ranking ? rows : 1, columns), sums.loglik};
}

}  // namespace caucus::pl_regression
