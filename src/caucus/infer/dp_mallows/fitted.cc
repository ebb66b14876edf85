#include "caucus/infer/dp_mallows/fitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/family.h"
#include "caucus/model/kendall.h"
#include "caucus/model/stage_sampler.h"

namespace caucus::dp_mallows {

// Everything a score needs, read-only once built.
struct FittedDpm::Prepared {
  std::size_t stages = 0;
  std::unique_ptr<Prior> prior;
  std::unique_ptr<StageCache> cache;                  // where the tables take theirs from
  std::vector<std::vector<double>> empty;             // stage -> log predictive of an empty cluster
  std::vector<std::unique_ptr<ClusterTable>> tables;  // one per draw
  std::vector<double> log_total;                      // log(N + alpha) per draw
  std::vector<double> log_alpha;
  std::unique_ptr<ClusterTable> fresh;  // informative prior: empty clusters with centers from it
};

FittedDpm::FittedDpm(std::vector<std::string> items, Unranked unranked, PriorParameters prior, std::vector<Component> components,
                     std::vector<PredictiveDraw> draws)
    : FittedModel(std::move(items), unranked),
      prior_(std::move(prior)),
      components_(std::move(components)),
      draws_(std::move(draws)) {
  double total = 0.0;
  for (const Component& component : components_) total += component.size;
  for (const Component& component : components_) {
    log_weight_.push_back(std::log(component.size / total));
    Center center;
    set_order(center, component.consensus);
    positions_.push_back(std::move(center.position));
  }
}

void FittedDpm::check(const Dataset& data) const {
  require_accepted(Accepts{.complete = true, .top_t = true, .voters = true}, data, "dpm");
}

std::shared_ptr<const FittedDpm::Prepared> FittedDpm::prepare(std::size_t stages) const {
  const std::lock_guard lock(mutex_);
  for (const Component& component : components_) stages = std::max(stages, component.theta.size());
  for (const PredictiveDraw& draw : draws_) stages = std::max(stages, draw.clusters[0].sums.size());
  if (prepared_ && prepared_->stages >= stages) return prepared_;
  auto made = std::make_shared<Prepared>();
  made->prior = std::make_unique<Prior>(prior_, items().size(), stages, false);
  made->cache = std::make_unique<StageCache>(*made->prior);
  made->stages = made->prior->num_stages();
  StageQuadrature quadrature;
  for (std::size_t j = 0; j < made->stages; ++j) {
    made->empty.emplace_back(made->prior->stage_size(j));
    quadrature.build(made->prior->stage_size(j), made->prior->a(j), made->prior->nu());
    quadrature.log_predictive(made->empty.back());
  }
  for (const PredictiveDraw& draw : draws_) {
    made->tables.push_back(std::make_unique<ClusterTable>(*made->cache, Method::exact_gibbs));
    made->tables.back()->reset(draw.clusters.size());
    double total = draw.alpha;
    for (std::size_t c = 0; c < draw.clusters.size(); ++c) {
      Cluster cluster;
      set_order(cluster.center, draw.clusters[c].order);
      cluster.size = draw.clusters[c].size;
      cluster.sums = draw.clusters[c].sums;
      cluster.counts = draw.clusters[c].counts;
      cluster.sums.resize(made->stages, 0.0);
      cluster.counts.resize(made->stages, 0.0);
      cluster.prior.resize(made->stages);
      made->prior->stage_priors(cluster.center, cluster.prior);
      made->tables.back()->set(c, cluster);
      total += cluster.size;
    }
    made->log_total.push_back(std::log(total));
    made->log_alpha.push_back(std::log(draw.alpha));
  }
  if (made->prior->informative()) {
    constexpr std::size_t centers = 64;
    made->fresh = std::make_unique<ClusterTable>(*made->cache, Method::exact_gibbs);
    made->fresh->reset(centers);
    RandomStream rng(1, Purpose::augment, 0);
    for (std::size_t c = 0; c < centers; ++c) {
      Cluster cluster;
      made->prior->draw_center(cluster.center, rng);
      cluster.sums.assign(made->stages, 0.0);
      cluster.counts.assign(made->stages, 0.0);
      cluster.prior.resize(made->stages);
      made->prior->stage_priors(cluster.center, cluster.prior);
      made->fresh->set(c, cluster);
      made->fresh->set_candidate(c, -std::log(static_cast<double>(centers)));
    }
  }
  prepared_ = made;
  return made;
}

namespace {

// The items of a ranking that make stages: at most n - 1.
void listed(const Dataset& data, std::size_t i, std::vector<Item>& out) {
  const auto items = data.rankings[i].items();
  out.assign(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), data.num_items() - 1)));
}

std::size_t longest(const Dataset& data, std::size_t first, std::size_t count) {
  std::size_t length = 0;
  for (std::size_t i = first; i < first + count; ++i)
    length = std::max(length, std::min(data.rankings.length(i), data.num_items() - 1));
  return length;
}

}  // namespace

void FittedDpm::log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const {
  const std::size_t k = components_.size();
  const std::size_t length = longest(data, first, count);
  std::vector<std::vector<double>> log_z(k);
  std::size_t shortest = length;
  for (std::size_t c = 0; c < k; ++c) {
    shortest = std::min(shortest, components_[c].theta.size());
    for (std::size_t j = 0; j < components_[c].theta.size(); ++j)
      log_z[c].push_back(log_stage_normalizer(components_[c].theta[j], items().size() - j));
  }
  // Stages no member reached have the prior's predictive.
  const std::shared_ptr<const Prepared> tables = shortest < length ? prepare(length) : nullptr;
  std::vector<Item> ranking;
  std::vector<std::int32_t> s(length);
  for (std::size_t i = 0; i < count; ++i) {
    listed(data, first + i, ranking);
    for (std::size_t c = 0; c < k; ++c) {
      codes(
          ranking, [&](Item item) { return static_cast<std::int32_t>(positions_[c][static_cast<std::size_t>(item)]); },
          std::span(s));
      double value = log_weight_[c];
      const std::vector<double>& theta = components_[c].theta;
      for (std::size_t j = 0; j < ranking.size(); ++j)
        value += j < theta.size() ? -theta[j] * s[j] - log_z[c][j] : tables->empty[j][static_cast<std::size_t>(s[j])];
      joint[i * k + c] = value;
    }
  }
}

template <class Visit>
void FittedDpm::for_each_ballot(const Prepared& tables, const Dataset& data, std::size_t first, std::size_t count,
                                Visit&& visit) const {
  const std::size_t length = longest(data, first, count);
  std::vector<Item> ranking;
  std::vector<std::int16_t> scratch(std::max<std::size_t>(length, 1) * slot_block);
  std::vector<double> scores, logs(draws_.size()), fresh(tables.fresh ? tables.fresh->padded_slots() : 0);
  for (std::size_t i = 0; i < count; ++i) {
    listed(data, first + i, ranking);
    for (std::size_t d = 0; d < draws_.size(); ++d) {
      const ClusterTable& table = *tables.tables[d];
      scores.resize(table.padded_slots() + 1);
      table.score_into(ranking, scratch, scores);
      if (tables.prior->informative()) {
        // No closed form for a new cluster: its center is averaged over fixed draws from the prior.
        tables.fresh->score_into(ranking, scratch, fresh);
        scores.back() = tables.log_alpha[d] + log_sum_exp(fresh);
      } else {
        scores.back() = tables.log_alpha[d] + tables.prior->log_new(ranking.size());
      }
      logs[d] = log_sum_exp(scores) - tables.log_total[d];
    }
    visit(i, logs, log_sum_exp(logs) - std::log(static_cast<double>(logs.size())));
  }
}

template <class Visit>
void FittedDpm::for_each_voter(const Prepared& tables, const Dataset& data, std::size_t first, std::size_t count,
                               Visit&& visit) const {
  constexpr std::size_t candidates = 64;  // of a new cluster, which has no closed form for several rankings
  const Incidence& cast = data.voters.rankings;
  const Prior& prior = *tables.prior;
  StageCache integrals(prior);
  ClusterTable fresh(integrals, Method::exact_gibbs);
  std::vector<std::vector<Item>> lists;
  std::vector<std::span<const Item>> ballots;
  std::vector<double> scores, logs(draws_.size());
  for (std::size_t v = first; v < first + count; ++v) {
    lists.clear();
    ballots.clear();
    for (std::size_t j = cast.begin[v]; j < cast.begin[v + 1]; ++j) listed(data, cast.other[j], lists.emplace_back());
    for (std::size_t j = cast.begin[v]; j < cast.begin[v + 1]; ++j)
      ballots.insert(ballots.end(), cast.count(j), lists[j - cast.begin[v]]);
    // The mean over centers given the first ranking, or from the prior where it has a central ranking.
    RandomStream rng(1, Purpose::augment, v);
    std::vector<double> ratios;
    fresh.reset(1);
    for (std::size_t c = 0; c < candidates; ++c) {
      Cluster cluster;
      cluster.sums.assign(tables.stages, 0.0);
      cluster.counts.assign(tables.stages, 0.0);
      cluster.prior.resize(tables.stages);
      prior.informative() ? prior.draw_center(cluster.center, rng) : prior.draw_center_given(ballots[0], cluster.center, rng);
      prior.stage_priors(cluster.center, cluster.prior);
      fresh.set(0, cluster);
      ratios.push_back(fresh.log_prob(0, ballots, integrals));
      if (!prior.informative())
        ratios.back() += prior.log_new(ballots[0].size()) - fresh.log_prob(0, Ballots(ballots).first(1), integrals);
      if (ballots.size() == 1 && !prior.informative()) break;  // exact
    }
    const double log_new = log_sum_exp(ratios) - std::log(static_cast<double>(ratios.size()));
    for (std::size_t d = 0; d < draws_.size(); ++d) {
      const ClusterTable& table = *tables.tables[d];
      scores.clear();
      for (std::size_t c = 0; c < draws_[d].clusters.size(); ++c)
        scores.push_back(std::log(table.size(c)) + table.log_prob(c, ballots, integrals));
      scores.push_back(tables.log_alpha[d] + log_new);
      logs[d] = log_sum_exp(scores) - tables.log_total[d];
    }
    visit(v - first, logs, log_sum_exp(logs) - std::log(static_cast<double>(logs.size())));
  }
}

std::vector<double> FittedDpm::log_probs_of_voters(const Dataset& data, int threads) const {
  if (draws_.empty()) {
    const std::vector<double> joint = voter_joint(*this, data, threads);
    std::vector<double> mixture;
    for (std::size_t v = 0; v < data.voters.size(); ++v)
      mixture.push_back(log_sum_exp(std::span(joint).subspan(v * num_components(), num_components())));
    return mixture;
  }
  const auto tables = prepare(longest(data, 0, data.rankings.size()));
  std::vector<double> out(data.voters.size());
  const Blocks blocks(out.size(), 16);
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    const std::size_t begin = blocks.begin(b);
    for_each_voter(*tables, data, begin, blocks.end(b) - begin,
                   [&](std::size_t i, const std::vector<double>&, double log_mean) { out[begin + i] = log_mean; });
  });
  return out;
}

void FittedDpm::log_prob(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const {
  if (draws_.empty()) return FittedModel::log_prob(data, first, count, out);
  for_each_ballot(*prepare(longest(data, first, count)), data, first, count,
                  [&](std::size_t i, const std::vector<double>&, double log_mean) { out[i] = log_mean; });
}

// The sum of log means over draws has the influence sum_i w_i p_id / mean_d p_id of draw d; means of batches of neighbours allow
// for draws that resemble each other.
double FittedDpm::loglik_error(const Dataset& data, int threads) const {
  const std::size_t num_draws = draws_.size(), num_batches = std::min<std::size_t>(10, num_draws);
  if (num_batches < 2) return 0.0;
  const auto tables = prepare(longest(data, 0, data.rankings.size()));
  const bool voters = data.voters.share();
  const std::vector<double> influence = parallel_fold(
      voters ? Blocks(data.voters.size(), 16) : Blocks(data.rankings.size(), 64), threads,
      [&] { return std::vector<double>(num_draws, 0.0); },
      [&](std::vector<double>& part, std::size_t begin, std::size_t end) {
        const auto add = [&](std::size_t i, const std::vector<double>& logs, double log_mean) {
          const double weight = voters ? data.voters.weights[begin + i] : data.rankings.weight(begin + i);
          for (std::size_t d = 0; d < num_draws; ++d) part[d] += weight * std::exp(logs[d] - log_mean);
        };
        voters ? for_each_voter(*tables, data, begin, end - begin, add) : for_each_ballot(*tables, data, begin, end - begin, add);
      },
      [](std::vector<double>& total, const std::vector<double>& part) {
        for (std::size_t d = 0; d < total.size(); ++d) total[d] += part[d];
      });
  const double mean = sum(influence) / static_cast<double>(num_draws);
  double spread = 0.0;
  for (std::size_t b = 0; b < num_batches; ++b) {
    const std::size_t begin = num_draws * b / num_batches, end = num_draws * (b + 1) / num_batches;
    const double batch = sum(std::span(influence).subspan(begin, end - begin)) / static_cast<double>(end - begin);
    spread += (batch - mean) * (batch - mean);
  }
  return std::sqrt(spread / static_cast<double>(num_batches * (num_batches - 1)));
}

Sample FittedDpm::sample(const SampleRequest& request) const {
  const std::size_t n = items().size();
  const std::size_t length = request.length == 0 ? n : std::min(request.length, n);
  std::vector<double> weights;
  for (double log_weight : log_weight_) weights.push_back(std::exp(log_weight));
  std::vector<std::vector<ItemId>> drawn(request.count);
  Sample result;
  result.labels.resize(request.count);
  const Prior prior(prior_, n, 0, false);
  const Blocks blocks(request.count, 256);
  parallel_for(blocks.count(), request.threads, [&](std::size_t b) {
    std::vector<Item> left;
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      RandomStream rng(request.seed, Purpose::sample, request.first + i);
      const std::size_t c = rng.categorical(weights);
      result.labels[i] = static_cast<int>(c);
      left = components_[c].consensus;
      for (std::size_t j = 0; j < length; ++j) {
        const std::size_t m = n - j;
        std::size_t s = 0;
        if (m > 1) {
          const double theta =
              j < components_[c].theta.size() ? components_[c].theta[j] : draw_theta(m, prior.a(j), prior.nu(), rng);
          s = draw_stage(theta, m, rng);
        }
        drawn[i].push_back(static_cast<ItemId>(left[s]));
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(s));
      }
    }
  });
  result.data.items = items();
  result.data.unranked = Unranked::last;
  RankingSetBuilder builder;
  for (const auto& ranking : drawn) builder.add(ranking);
  result.data.rankings = builder.build();
  return result;
}

std::vector<Group> FittedDpm::groups() const {
  std::vector<Group> result(components_.size());
  for (std::size_t c = 0; c < result.size(); ++c) {
    const Component& component = components_[c];
    Group& group = result[c];
    group.weight = std::exp(log_weight_[c]);
    group.size = component.size;
    group.order.assign(component.consensus.begin(), component.consensus.end());
    group.order_is_parameter = true;
    group.theta = component.theta;
    group.theta_by_stage = true;
  }
  return result;
}

GroupLaw FittedDpm::law(std::size_t group) const {
  const Component& component = components_[group];
  return generalized_mallows_law({component.consensus.begin(), component.consensus.end()}, component.theta, Code::s);
}

void FittedDpm::write(Record& model, std::span<Record>) const {
  Record prior;
  prior.set("alpha", prior_.alpha).set("nu", prior_.nu).set("r", prior_.r);
  if (!prior_.center.empty()) prior.set("center", prior_.center).set("center_weight", prior_.center_weight);
  model.set("prior", prior);
  if (draws_.empty()) return;
  std::vector<Record> predictive;
  for (const PredictiveDraw& draw : draws_) {
    std::vector<Record> clusters;
    for (const PredictiveCluster& cluster : draw.clusters)
      clusters.push_back(Record()
                             .set("consensus", cluster.order)
                             .set("size", cluster.size)
                             .set("sums", cluster.sums)
                             .set("counts", cluster.counts));
    predictive.push_back(Record().set("alpha", draw.alpha).set("clusters", clusters));
  }
  model.set("predictive", predictive);
}

namespace {

std::vector<Item> to_items(const std::vector<ItemId>& ids) { return {ids.begin(), ids.end()}; }

PriorParameters read_prior(const RecordView& file, std::size_t num_items) {
  PriorParameters prior;
  if (file.has("prior")) {
    const RecordView given = file.object("prior");
    prior.alpha = given.number("alpha", prior.alpha);
    prior.nu = given.number("nu", prior.nu);
    if (given.has("r")) prior.r = given.non_negatives("r", 0, std::max<std::size_t>(num_items, 2) - 1);
    if (given.has("center")) {
      prior.center = to_items(given.items("center", num_items));
      prior.center_weight = given.number("center_weight");
    }
  }
  if (!(prior.alpha > 0.0) || !(prior.nu > 0.0) || prior.r.empty() || *std::min_element(prior.r.begin(), prior.r.end()) <= 0.0)
    file.fail("prior", "positive alpha, nu and r");
  return prior;
}

std::vector<PredictiveDraw> read_draws(const RecordView& file, std::size_t num_items) {
  std::vector<PredictiveDraw> draws;
  for (const RecordView& draw : file.objects("predictive")) {
    PredictiveDraw one;
    one.alpha = draw.non_negative("alpha");
    for (const RecordView& cluster : draw.objects("clusters")) {
      PredictiveCluster loaded;
      loaded.order = to_items(cluster.permutation("consensus", num_items));
      loaded.size = cluster.non_negative("size");
      loaded.sums = cluster.non_negatives("sums", 0, num_items - 1);
      loaded.counts = cluster.non_negatives("counts", loaded.sums.size(), loaded.sums.size());
      one.clusters.push_back(std::move(loaded));
    }
    if (!one.clusters.empty()) draws.push_back(std::move(one));
  }
  return draws;
}

}  // namespace

std::unique_ptr<FittedModel> load_fitted(const ModelRecord& file) {
  const std::size_t n = file.items.size();
  const std::vector<double> weights = file.weights();
  std::vector<Component> components;
  double total = 0.0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const RecordView& given = file.components[k];
    Component component;
    component.size = given.number("size", weights[k]);
    if (!(component.size > 0.0)) given.fail("size", "a positive number");
    component.consensus = to_items(given.permutation("consensus", n));
    component.theta = given.non_negatives("theta", 0, n - 1);
    total += component.size;
    components.push_back(std::move(component));
  }
  // Sizes that disagree with the weights yield to them.
  for (std::size_t k = 0; k < components.size(); ++k)
    if (std::abs(components[k].size / total - weights[k]) > 1e-6)
      for (std::size_t l = 0; l < components.size(); ++l) components[l].size = std::max(weights[l], 1e-300);
  return std::make_unique<FittedDpm>(file.items, file.unranked, read_prior(file.model, n), std::move(components),
                                     read_draws(file.model, n));
}

}  // namespace caucus::dp_mallows
