#include "caucus/infer/mallows_tensor/pair.h"

#include <cmath>

namespace caucus::mallows_tensor {
namespace {

// Z_0..Z_n, Z_m = 1 + q + .. + q^(m-1).
std::vector<double> normalizers(double q, std::size_t n) {
  std::vector<double> z(n + 1, 0.0);
  double power = 1.0;
  for (std::size_t m = 1; m <= n; ++m, power *= q) z[m] = z[m - 1] + power;
  return z;
}

}  // namespace

std::vector<double> position_table(double theta, std::size_t n) {
  const double q = std::exp(-theta);
  const std::vector<double> z = normalizers(q, n);
  std::vector<double> power(n + 1, 1.0);
  for (std::size_t k = 1; k <= n; ++k) power[k] = power[k - 1] * q;
  std::vector<double> table(n * n, 0.0);
  for (std::size_t p = 1; p <= n; ++p) {
    // Repeated insertion: item p lands at j <= p, then each later item s is put at or above it with probability q^(s-j) Z_j / Z_s.
    double* g = table.data() + (p - 1) * n;
    for (std::size_t j = 1; j <= p; ++j) g[j - 1] = power[p - j] / z[p];
    for (std::size_t s = p + 1; s <= n; ++s)
      for (std::size_t j = s; j >= 1; --j) {
        const double stays = j < s ? g[j - 1] * z[s - j] / z[s] : 0.0;
        const double pushed = j > 1 ? g[j - 2] * power[s - j + 1] * z[j - 1] / z[s] : 0.0;
        g[j - 1] = stays + pushed;
      }
  }
  return table;
}

std::vector<double> first_places(double theta, std::size_t n) {
  const double q = std::exp(-theta), z = normalizers(q, n)[n];
  std::vector<double> first(n);
  double power = 1.0;
  for (std::size_t p = 0; p < n; ++p, power *= q) first[p] = power / z;
  return first;
}

ModelTable::ModelTable(double theta, std::size_t n)
    : num_items(n), first(first_places(theta, n)), rest(position_table(theta, n - 1)), power(3 * n) {
  const double q = std::exp(-theta);
  const std::vector<double> z = normalizers(q, n);
  power[0] = 1.0;
  for (std::size_t k = 1; k < power.size(); ++k) power[k] = power[k - 1] * q;
  if (n >= 3) triple_scale = (1.0 + q) * (1.0 + q + q * q) / (z[n] * z[n - 1] * z[n - 2]);
}

std::vector<std::uint32_t> ranks_of(const std::vector<ItemId>& order) {
  std::vector<std::uint32_t> ranks(order.size());
  for (std::size_t j = 0; j < order.size(); ++j) ranks[order[j]] = static_cast<std::uint32_t>(j);
  return ranks;
}

bool same_centers(const MallowsPair& a, const MallowsPair& b) {
  return a.center == b.center || (a.center[0] == b.center[1] && a.center[1] == b.center[0]);
}

std::size_t kendall(const std::vector<ItemId>& a, const std::vector<ItemId>& b) {
  const std::vector<std::uint32_t> rank = ranks_of(b);
  std::size_t discordant = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i + 1; j < a.size(); ++j) discordant += rank[a[i]] > rank[a[j]];
  return discordant;
}

std::vector<double> log_rankings_at_distance(std::size_t n) {
  // Inserting the m-th item adds 0 .. m - 1 inversions. Scaled by 1/m at each step: n! overflows beyond 170 items.
  std::vector<double> share{1.0};
  double log_count = 0.0;
  for (std::size_t m = 2; m <= n; ++m) {
    std::vector<double> next(share.size() + m - 1, 0.0);
    for (std::size_t d = 0; d < share.size(); ++d)
      for (std::size_t more = 0; more < m; ++more) next[d + more] += share[d] / static_cast<double>(m);
    share = std::move(next);
    log_count += std::log(static_cast<double>(m));
  }
  for (double& value : share) value = log_count + std::log(std::max(value, 1e-300));
  return share;
}

}  // namespace caucus::mallows_tensor
