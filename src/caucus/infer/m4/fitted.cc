#include "caucus/infer/m4/fitted.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/family.h"
#include "caucus/model/generalized_mallows.h"

namespace caucus::m4 {

M4Model::M4Model(std::vector<std::string> items, Unranked unranked, Components components, Prior prior, NormalizerTable normalizers)
    : FittedModel(std::move(items), unranked),
      components_(std::move(components)),
      prior_(std::move(prior)),
      normalizers_(std::move(normalizers)) {}

void M4Model::check(const Dataset& data) const { require_accepted({true, false, false, false}, data, "family m4"); }

void M4Model::log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const {
  const std::size_t num = num_components();
  const auto pairs = all_pairs(num);
  std::vector<double> energy(num), log_atom, expected(num);
  for (std::size_t i = 0; i < count; ++i) {
    energies(components_, data.rankings[first + i].items(), energy);
    log_atom.clear();
    for (std::size_t p = 0; p < pairs.size(); ++p)
      for (std::size_t g = 0; g < prior_.probability[p].size(); ++g) {
        const double share = num == 1 ? 1.0 : static_cast<double>(g) / static_cast<double>(NormalizerTable::cells);
        const double chance = prior_.probability[p][g];
        log_atom.push_back(chance > 0.0 ? std::log(chance) - share * energy[pairs[p].first] -
                                              (1.0 - share) * energy[pairs[p].second] - normalizers_.log_c[p][g]
                                        : -infinity);
      }
    const double total = log_sum_exp(log_atom);
    std::fill(expected.begin(), expected.end(), 0.0);
    std::size_t at = 0;
    for (std::size_t p = 0; p < pairs.size(); ++p)
      for (std::size_t g = 0; g < prior_.probability[p].size(); ++g, ++at) {
        const double share = num == 1 ? 1.0 : static_cast<double>(g) / static_cast<double>(NormalizerTable::cells),
                     posterior = std::exp(log_atom[at] - total);
        expected[pairs[p].first] += posterior * share;
        if (num > 1) expected[pairs[p].second] += posterior * (1.0 - share);
      }
    const double norm = sum(expected);
    for (std::size_t m = 0; m < num; ++m) joint[i * num + m] = expected[m] > 0.0 ? total + std::log(expected[m] / norm) : -infinity;
  }
}

Sample M4Model::sample(const SampleRequest& request) const {
  const std::size_t n = items().size(), length = request.length == 0 ? n : std::min(request.length, n), num = num_components();
  const auto pairs = all_pairs(num);
  std::vector<double> chance;
  for (const auto& row : prior_.probability) chance.insert(chance.end(), row.begin(), row.end());
  const std::size_t points = prior_.probability[0].size();
  std::vector<GeneralizedMallowsSampler> ends;
  for (std::size_t m = 0; m < num; ++m) ends.emplace_back(components_.center[m], components_.theta[m], Code::v);
  Sample sample;
  sample.labels.resize(request.count);
  std::vector<ItemId> drawn(request.count * n);
  parallel_for(request.count, request.threads, [&](std::size_t row) {
    RandomStream stream(request.seed, Purpose::sample, request.first + row);
    const std::size_t atom = stream.categorical(chance), p = atom / points, g = atom % points;
    const double share = num == 1 ? 1.0 : static_cast<double>(g) / static_cast<double>(NormalizerTable::cells);
    const auto out = std::span(drawn).subspan(row * n, n);
    sample.labels[row] = static_cast<int>(share >= 0.5 ? pairs[p].first : pairs[p].second);
    // From the nearer component, exactly; then Gibbs sweeps where both have a say.
    ends[static_cast<std::size_t>(sample.labels[row])].draw(stream, out);
    if (share > 0.0 && share < 1.0)
      gibbs_sweeps(components_, {static_cast<std::uint16_t>(pairs[p].first), static_cast<std::uint16_t>(pairs[p].second), share},
                   20, stream, out);
  });
  RankingSetBuilder builder;
  for (std::size_t row = 0; row < request.count; ++row) builder.add(std::span<const ItemId>(drawn).subspan(row * n, length));
  sample.data.items = items();
  sample.data.rankings = builder.build();
  sample.data.source = "sample";
  return sample;
}

std::vector<Group> M4Model::groups() const {
  const std::size_t num = num_components();
  const auto pairs = all_pairs(num);
  std::vector<Group> result(num);
  for (std::size_t m = 0; m < num; ++m) {
    result[m].weight = 0.0;
    result[m].order = components_.center[m];
    result[m].order_is_parameter = true;
    result[m].theta = components_.theta[m];
    result[m].theta_by_stage = true;
  }
  for (std::size_t p = 0; p < pairs.size(); ++p)
    for (std::size_t g = 0; g < prior_.probability[p].size(); ++g) {
      const double share = num == 1 ? 1.0 : static_cast<double>(g) / static_cast<double>(NormalizerTable::cells);
      result[pairs[p].first].weight += prior_.probability[p][g] * share;
      if (num > 1) result[pairs[p].second].weight += prior_.probability[p][g] * (1.0 - share);
    }
  return result;
}

GroupLaw M4Model::law(std::size_t group) const {
  return generalized_mallows_law(components_.center[group], components_.theta[group], Code::v);
}

void M4Model::write(Record& model, std::span<Record> components) const {
  for (Record& component : components) component.set("code", name_of(Code::v));
  const std::size_t num = num_components();
  const std::vector<std::pair<std::size_t, std::size_t>> pairs = all_pairs(num);
  std::vector<double> shares(num == 1 ? 1 : NormalizerTable::cells + 1, 1.0);
  for (std::size_t g = 0; num > 1 && g < shares.size(); ++g)
    shares[g] = static_cast<double>(g) / static_cast<double>(NormalizerTable::cells);
  model.set("weights_prior",
            Record().set("pairs", pairs).set("share", shares).set("probability", prior_.probability).set("density", "points"));
  model.set("log_normalizer", Record().set("exact", normalizers_.exact).set("values", normalizers_.log_c));
}

}  // namespace caucus::m4
