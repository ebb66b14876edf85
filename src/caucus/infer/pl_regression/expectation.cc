#include "caucus/infer/pl_regression/expectation.h"

#include <cmath>

#include "caucus/base/parallel.h"

namespace caucus::pl_regression {

Expectation expectation(const RegressionData& data, const RowMatrix& win, const RowMatrix& run, int threads) {
  const std::size_t k = data.num_classes, p = data.num_features();
  const auto rows = static_cast<Eigen::Index>(k), columns = static_cast<Eigen::Index>(p);
  const Eigen::RowVectorXd all = run.colwise().sum();
  const auto make = [&] {
    return Expectation{RowMatrix::Zero(rows, columns), RowMatrix::Zero(data.ranking ? rows : 1, columns), 0.0};
  };
  const auto add = [&](RowMatrix& target, std::size_t row, const double* w, double factor) {
    double* out = target.data() + row * p;
    for (std::size_t j = 0; j < p; ++j) out[j] += factor * w[j];
  };
  const auto body = [&](Expectation& part, std::size_t begin, std::size_t end) {
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
  return parallel_fold(Blocks(data.num_rows(), 1 + 32768 / p, 16), threads, make, body,
                       [](Expectation& total, const Expectation& part) {
                         total.gain += part.gain;
                         total.rate += part.rate;
                         total.loglik += part.loglik;
                       });
}

}  // namespace caucus::pl_regression
