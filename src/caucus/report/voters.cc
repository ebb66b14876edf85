#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/model/decompositions.h"
#include "caucus/report/parts.h"

namespace caucus::report {

double VoterView::sure(std::optional<std::size_t> group) const {
  double result = 0.0;
  for (std::size_t i = 0; i < label.size(); ++i)
    if (certainty[i] >= 0.9 && (!group || label[i] == *group)) result += weight[i];
  return result;
}

namespace {

// A set of rankings that may hold one several times, which a builder would merge.
struct Copies {
  std::vector<std::uint64_t> offsets{0};
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  std::vector<double> weights;

  void add(RankingView ranking, double weight) {
    items.insert(items.end(), ranking.items().begin(), ranking.items().end());
    for (std::size_t i = 0; i < ranking.size(); ++i) ends.push_back(ranking.ends_group(i) ? 1 : 0);
    offsets.push_back(items.size());
    weights.push_back(weight);
  }
  static RankingSet set_of(std::shared_ptr<const Copies> all) {
    RankingArrays arrays;
    arrays.offsets = all->offsets;
    arrays.items = all->items;
    if (std::ranges::find(all->ends, std::uint8_t{0}) != all->ends.end()) arrays.group_ends = all->ends;
    arrays.weights = all->weights;
    arrays.total_weight = sum(all->weights);
    arrays.owner = std::move(all);
    return RankingSet(arrays);
  }
};

// Each distinct ranking once per group whose voters cast it. A battle that voters of two groups decided alike is counted in both,
// each for its own.
void split_by_caster(const Dataset& data, std::size_t num_groups, VoterView& voters) {
  auto copies = std::make_shared<Copies>();
  std::vector<double> mass(num_groups), certain(num_groups);
  const Incidence& casters = data.voters.casters;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    std::ranges::fill(mass, 0.0);
    std::ranges::fill(certain, 0.0);
    for (std::uint32_t j = casters.begin[i]; j < casters.begin[i + 1]; ++j) {
      const std::uint32_t voter = casters.other[j];
      const double weight = data.voters.weights[voter] * casters.count(j);
      mass[voters.label[voter]] += weight;
      certain[voters.label[voter]] += weight * voters.certainty[voter];
    }
    for (std::size_t k = 0; k < num_groups; ++k) {
      if (!(mass[k] > 0.0)) continue;
      copies->add(data.rankings[i], mass[k]);
      voters.ballot_label.push_back(static_cast<std::uint32_t>(k));
      voters.ballot_certainty.push_back(certain[k] / mass[k]);
    }
  }
  voters.ballots = std::make_shared<const Dataset>(data.with(Copies::set_of(std::move(copies))));
}

}  // namespace

VoterView view_voters(const FittedModel& model, std::shared_ptr<const Dataset> data, int threads) {
  VoterView voters;
  const std::size_t k_all = model.num_components();
  voters.by_voter = counts_voters(model, *data);
  voters.probabilities = voters.by_voter ? voter_memberships(model, *data, threads) : memberships(model, *data, threads);
  const std::span<const double> weights =
      voters.by_voter ? std::span<const double>(data->voters.weights) : data->rankings.weights();
  voters.weight.assign(weights.begin(), weights.end());
  for (std::size_t i = 0; i < voters.weight.size(); ++i) {
    const auto row = std::span(voters.probabilities).subspan(i * k_all, k_all);
    const auto best = std::max_element(row.begin(), row.end());
    voters.label.push_back(static_cast<std::uint32_t>(best - row.begin()));
    voters.certainty.push_back(*best);
  }
  if (voters.by_voter) {
    split_by_caster(*data, k_all, voters);
  } else {
    voters.ballots = std::move(data);
    voters.ballot_label = voters.label;
    voters.ballot_certainty = voters.certainty;
  }
  return voters;
}

Json memberships_json(const VoterView& voters, std::size_t num_groups) {
  constexpr std::size_t num_bins = 20;
  struct Counts {
    double count = 0.0, very = 0.0, fairly = 0.0, unsure = 0.0;
    std::vector<double> bins = std::vector<double>(num_bins, 0.0);
  };
  std::vector<Counts> counts(num_groups);
  const bool cross = num_groups <= 30;
  std::vector<double> average(cross ? num_groups * num_groups : 0, 0.0);
  double certain = 0.0, total = 0.0;
  const std::size_t k_all = voters.label.empty() ? 1 : voters.probabilities.size() / voters.label.size();
  for (std::size_t i = 0; i < voters.label.size(); ++i) {
    const double w = voters.weight[i], p = voters.certainty[i];
    certain += w * p;
    total += w;
    if (voters.label[i] >= num_groups) continue;
    Counts& group = counts[voters.label[i]];
    group.count += w;
    (p >= 0.9 ? group.very : p >= 0.6 ? group.fairly : group.unsure) += w;
    group.bins[std::min(num_bins - 1, static_cast<std::size_t>(p * num_bins))] += w;
    if (cross)
      for (std::size_t k = 0; k < std::min(k_all, num_groups); ++k)
        average[voters.label[i] * num_groups + k] += w * voters.probabilities[i * k_all + k];
  }
  Json json = {{"of", voters.members()},
               {"num_members", rounded(total)},
               {"mean_certainty", rounded(total > 0.0 ? certain / total : 1.0)},
               {"groups", Json::array()}};
  for (const Counts& group : counts)
    json["groups"].push_back({{"count", rounded(group.count)},
                              {"very_sure", rounded(group.very)},
                              {"fairly_sure", rounded(group.fairly)},
                              {"unsure", rounded(group.unsure)},
                              {"bins", rounded(group.bins)}});
  if (cross && num_groups > 1) {
    json["average"] = Json::array();
    for (std::size_t k = 0; k < num_groups; ++k) {
      Json row = Json::array();
      for (std::size_t l = 0; l < num_groups; ++l)
        row.push_back(counts[k].count > 0.0 ? std::lround(1000.0 * average[k * num_groups + l] / counts[k].count) : 0);
      json["average"].push_back(std::move(row));
    }
  }
  return json;
}

namespace {

// Signs of all pairs of the watched items: +1 where the first stands above the second, -1 below, 0 tied or not known.
class PairSigns {
 public:
  PairSigns(const Dataset& data, std::size_t max_items) : data_(data) {
    const std::size_t n = data.num_items();
    std::vector<double> mentions(n, 0.0);
    for (std::size_t i = 0; i < data.rankings.size(); ++i)
      for (ItemId item : data.rankings[i].items()) mentions[item] += data.rankings.weight(i);
    watched_.resize(n);
    std::iota(watched_.begin(), watched_.end(), ItemId{0});
    std::stable_sort(watched_.begin(), watched_.end(), [&](ItemId a, ItemId b) { return mentions[a] > mentions[b]; });
    watched_.resize(std::min(n, max_items));
    place_.resize(n);
  }
  std::size_t num_items() const { return watched_.size(); }
  std::size_t size() const { return watched_.size() * (watched_.size() - 1) / 2; }
  void fill(std::size_t ranking, float* out) {
    const RankingView view = data_.rankings[ranking];
    const int unlisted = data_.unranked == Unranked::last ? static_cast<int>(view.size()) + 1 : 0;
    std::fill(place_.begin(), place_.end(), unlisted);
    int place = 0;
    view.for_each_group([&](std::span<const ItemId> group) {
      ++place;
      for (ItemId item : group) place_[item] = place;
    });
    for (std::size_t a = 1; a < watched_.size(); ++a) {
      const int pa = place_[watched_[a]];
      for (std::size_t b = 0; b < a; ++b) {
        const int pb = place_[watched_[b]];
        *out++ = pa == 0 || pb == 0 || pa == pb ? 0.0F : pb < pa ? 1.0F : -1.0F;
      }
    }
  }

 private:
  const Dataset& data_;
  std::vector<ItemId> watched_;
  std::vector<int> place_;
};

// Distinct rankings drawn without replacement, those of more weight first to come (Efraimidis & Spirakis 2006).
std::vector<std::size_t> sample_rankings(const Dataset& data, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> chosen(data.rankings.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (chosen.size() <= count) return chosen;
  RandomStream stream(seed, Purpose::permute, 9);
  std::vector<double> key(chosen.size());
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = std::log(stream.uniform_open()) / data.rankings.weight(i);
  std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(count), chosen.end(),
                   [&](std::size_t a, std::size_t b) { return key[a] > key[b] || (key[a] == key[b] && a < b); });
  chosen.resize(count);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

// The embedding of Nguyen & Zhang (2023), Algorithm 1, centered, in two dimensions: leading right singular vectors of the matrix of
// pair signs by subspace iteration on at most 2000 ballots, then all chosen ballots projected. O(points x pairs).
BallotMap map_ballots(const Dataset& data, std::size_t max_points, std::uint64_t seed) {
  BallotMap map;
  PairSigns signs(data, 60);
  map.num_items = signs.num_items();
  map.rankings = sample_rankings(data, max_points, seed);
  const auto pairs = static_cast<Eigen::Index>(signs.size());
  if (map.rankings.empty() || pairs == 0) {
    map.rankings.clear();
    return map;
  }
  std::vector<std::size_t> basis_rows = map.rankings;
  const std::size_t stride = (basis_rows.size() + 1999) / 2000;
  for (std::size_t i = 0; i * stride < basis_rows.size(); ++i) basis_rows[i] = basis_rows[i * stride];
  basis_rows.resize((basis_rows.size() + stride - 1) / stride);
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Matrix x(static_cast<Eigen::Index>(basis_rows.size()), pairs);
  Eigen::VectorXf root(x.rows());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    signs.fill(basis_rows[static_cast<std::size_t>(i)], x.row(i).data());
    root[i] = std::sqrt(static_cast<float>(data.rankings.weight(basis_rows[static_cast<std::size_t>(i)])));
  }
  const Eigen::RowVectorXf mean = (root.cwiseAbs2().transpose() * x) / root.squaredNorm();
  x.rowwise() -= mean;
  x = root.asDiagonal() * x;
  const Eigen::Index width = std::min<Eigen::Index>({6, pairs, x.rows()});
  Eigen::MatrixXf v(pairs, width);
  RandomStream stream(seed, Purpose::svd, 9);
  for (Eigen::Index c = 0; c < width; ++c)
    for (Eigen::Index r = 0; r < pairs; ++r) v(r, c) = static_cast<float>(stream.normal());
  for (int iteration = 0; iteration < 12; ++iteration) {
    v = orthonormal_basis(v.cast<double>()).cast<float>();
    if (iteration + 1 < 12) v = x.transpose() * (x * v).eval();
  }
  const Eigen::MatrixXf projected = x * v;
  const Directions found = symmetric_eigenvectors((projected.transpose() * projected).cast<double>());
  const double total = x.squaredNorm();
  Eigen::MatrixXf axes = Eigen::MatrixXf::Zero(pairs, 2);
  double held = 0.0;
  for (Eigen::Index c = 0; c < std::min<Eigen::Index>(2, width); ++c) {
    axes.col(c) = v * found.vectors.col(width - 1 - c).cast<float>();
    held += std::max(0.0, found.values[width - 1 - c]);
    // A sign that does not hang on rounding: the largest entry is positive.
    Eigen::Index largest = 0;
    axes.col(c).cwiseAbs().maxCoeff(&largest);
    if (axes(largest, c) < 0.0F) axes.col(c) *= -1.0F;
  }
  map.explained = total > 0.0 ? std::min(1.0, held / total) : 0.0;
  const Eigen::RowVector2f center = mean * axes;
  Eigen::RowVectorXf row(pairs);
  for (std::size_t ranking : map.rankings) {
    signs.fill(ranking, row.data());
    const Eigen::RowVector2f point = row * axes - center;
    map.x.push_back(point[0]);
    map.y.push_back(point[1]);
  }
  return map;
}

Json map_json(const BallotMap& map, const VoterView& voters) {
  const Dataset& data = *voters.ballots;
  constexpr std::size_t with_ballots = 4000, first_items = 6;
  double largest = 1e-12;
  for (std::size_t i = 0; i < map.x.size(); ++i) largest = std::max({largest, std::abs(map.x[i]), std::abs(map.y[i])});
  Json x = Json::array(), y = Json::array(), group = Json::array(), certainty = Json::array(), weight = Json::array(),
       ballots = Json::array();
  for (std::size_t i = 0; i < map.rankings.size(); ++i) {
    const std::size_t ranking = map.rankings[i];
    x.push_back(std::lround(2000.0 * map.x[i] / largest));
    y.push_back(std::lround(2000.0 * map.y[i] / largest));
    group.push_back(voters.ballot_label[ranking]);
    certainty.push_back(std::lround(100.0 * voters.ballot_certainty[ranking]));
    weight.push_back(rounded(data.rankings.weight(ranking)));
    if (i >= with_ballots) continue;
    Json ballot = Json::array();
    for (ItemId item : data.rankings[ranking].items()) {
      if (ballot.size() == first_items) break;
      ballot.push_back(item);
    }
    ballots.push_back(std::move(ballot));
  }
  std::string words = fmt::format(
      "Each point is one ranking; rankings that agree on many pairs of items lie close together. The map keeps the two directions "
      "in which "
      "the rankings differ most ({} of all differences).",
      percent(map.explained));
  if (map.num_items < data.num_items()) words += fmt::format(" It looks at the {} items listed most often.", map.num_items);
  return {{"total", rounded(data.rankings.total_weight(), 12)},
          {"x", x},
          {"y", y},
          {"group", group},
          {"certainty", certainty},
          {"weight", weight},
          {"ballots", ballots},
          {"axes", {"first direction", "second direction"}},
          {"words", words}};
}

}  // namespace caucus::report
