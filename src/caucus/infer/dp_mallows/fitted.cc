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

void FittedDpm::check(const Dataset& data) const { require_accepted(Accepts{.complete = true, .top_t = true}, data, "dpm"); }

std::shared_ptr<const FittedDpm::Prepared> FittedDpm::prepare(std::size_t stages) const {
  const std::lock_guard lock(mutex_);
  for (const Component& component : components_) stages = std::max(stages, component.theta.size());
  for (const PredictiveDraw& draw : draws_) stages = std::max(stages, draw.clusters[0].sums.size());
  if (prepared_ && prepared_->stages >= stages) return prepared_;
  auto made = std::make_shared<Prepared>();
  made->prior = std::make_unique<Prior>(prior_, items().size(), stages, false);
  made->stages = made->prior->num_stages();
  StageQuadrature quadrature;
  for (std::size_t j = 0; j < made->stages; ++j) {
    made->empty.emplace_back(made->prior->stage_size(j));
    quadrature.build(made->prior->stage_size(j), made->prior->a(j), made->prior->nu());
    quadrature.log_predictive(made->empty.back());
  }
  for (const PredictiveDraw& draw : draws_) {
    made->tables.push_back(std::make_unique<ClusterTable>(*made->prior, Method::exact_gibbs));
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
    made->fresh = std::make_unique<ClusterTable>(*made->prior, Method::exact_gibbs);
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

void FittedDpm::log_prob(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const {
  if (draws_.empty()) return FittedModel::log_prob(data, first, count, out);
  const std::size_t length = longest(data, first, count);
  const std::shared_ptr<const Prepared> tables = prepare(length);
  std::vector<Item> ranking;
  std::vector<std::int16_t> scratch(std::max<std::size_t>(length, 1) * slot_block);
  std::vector<double> scores, logs(draws_.size()), fresh(tables->fresh ? tables->fresh->padded_slots() : 0);
  for (std::size_t i = 0; i < count; ++i) {
    listed(data, first + i, ranking);
    for (std::size_t d = 0; d < draws_.size(); ++d) {
      const ClusterTable& table = *tables->tables[d];
      scores.resize(table.padded_slots() + 1);
      table.score_into(ranking, scratch, scores);
      if (tables->prior->informative()) {
        // No closed form for a new cluster: its center is averaged over fixed draws from the prior.
        tables->fresh->score_into(ranking, scratch, fresh);
        scores.back() = tables->log_alpha[d] + log_sum_exp(fresh);
      } else {
        scores.back() = tables->log_alpha[d] + tables->prior->log_new(ranking.size());
      }
      logs[d] = log_sum_exp(scores) - tables->log_total[d];
    }
    out[i] = log_sum_exp(logs) - std::log(static_cast<double>(logs.size()));
  }
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

nlohmann::json FittedDpm::to_json() const {
  nlohmann::json json;
  json["components"] = nlohmann::json::array();
  for (std::size_t c = 0; c < components_.size(); ++c) {
    const Component& component = components_[c];
    nlohmann::json one{{"weight", std::exp(log_weight_[c])},
                       {"size", component.size},
                       {"consensus", component.consensus},
                       {"theta", component.theta}};
    json["components"].push_back(std::move(one));
  }
  json["prior"] = {{"alpha", prior_.alpha}, {"nu", prior_.nu}, {"r", prior_.r}};
  if (!prior_.center.empty()) json["prior"]["center"] = prior_.center, json["prior"]["center_weight"] = prior_.center_weight;
  if (!draws_.empty()) {
    nlohmann::json predictive = nlohmann::json::array();
    for (const PredictiveDraw& draw : draws_) {
      nlohmann::json clusters = nlohmann::json::array();
      for (const PredictiveCluster& cluster : draw.clusters)
        clusters.push_back(
            {{"consensus", cluster.order}, {"size", cluster.size}, {"sums", cluster.sums}, {"counts", cluster.counts}});
      predictive.push_back({{"alpha", draw.alpha}, {"clusters", std::move(clusters)}});
    }
    json["predictive"] = std::move(predictive);
  }
  return json;
}

namespace {

std::vector<Item> to_items(const std::vector<ItemId>& ids) { return {ids.begin(), ids.end()}; }

std::vector<double> non_negative(const nlohmann::json& object, const char* key, std::size_t max_size, const std::string& where) {
  const auto found = object.find(key);
  const std::size_t size = found != object.end() && found->is_array() ? std::min(found->size(), max_size + 1) : 0;
  if (size > max_size)
    throw DataError(fmt::format("model file: {}.{}: expected at most {} numbers, one per stage", where, key, max_size));
  std::vector<double> values = model_json::numbers(object, key, size, where);
  for (double value : values)
    if (value < 0.0) throw DataError(fmt::format("model file: {}.{}: expected numbers not below zero", where, key));
  return values;
}

}  // namespace

std::unique_ptr<FittedModel> load_fitted(const nlohmann::json& model) {
  const std::vector<std::string> items = model_json::items(model);
  const std::size_t n = items.size();
  const auto& list = model_json::components(model);
  const std::vector<double> weights = model_json::weights(list);
  std::vector<Component> components;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const std::string where = fmt::format("components[{}]", k);
    Component component;
    component.size = list[k].contains("size") ? model_json::number(list[k], "size", where) : weights[k];
    if (!(component.size > 0.0)) throw DataError(fmt::format("model file: {}.size: expected a positive number", where));
    component.consensus = to_items(model_json::permutation(list[k], "consensus", n, where));
    component.theta = non_negative(list[k], "theta", n - 1, where);
    components.push_back(std::move(component));
  }
  // Sizes that disagree with the weights yield to them.
  double total = 0.0;
  for (const Component& component : components) total += component.size;
  for (std::size_t k = 0; k < components.size(); ++k)
    if (std::abs(components[k].size / total - weights[k]) > 1e-6)
      for (std::size_t l = 0; l < components.size(); ++l) components[l].size = std::max(weights[l], 1e-300);

  PriorParameters prior;
  const nlohmann::json parameters = model.value("prior", nlohmann::json::object());
  if (parameters.contains("alpha")) prior.alpha = model_json::number(parameters, "alpha", "prior");
  if (parameters.contains("nu")) prior.nu = model_json::number(parameters, "nu", "prior");
  if (parameters.contains("r")) prior.r = non_negative(parameters, "r", std::max<std::size_t>(n, 2) - 1, "prior");
  if (parameters.contains("center")) {
    for (const auto& item : parameters["center"]) {
      if (!item.is_number_integer() || item.get<std::int64_t>() < 0 || item.get<std::int64_t>() >= static_cast<std::int64_t>(n))
        throw DataError("model file: prior.center: expected item positions");
      prior.center.push_back(item.get<Item>());
    }
    prior.center_weight = model_json::number(parameters, "center_weight", "prior");
  }
  if (!(prior.alpha > 0.0) || !(prior.nu > 0.0) || prior.r.empty() || *std::min_element(prior.r.begin(), prior.r.end()) <= 0.0)
    throw DataError("model file: prior: expected positive alpha, nu and r");

  std::vector<PredictiveDraw> draws;
  for (const auto& draw : model.value("predictive", nlohmann::json::array())) {
    PredictiveDraw one;
    one.alpha = model_json::number(draw, "alpha", "predictive");
    for (const auto& cluster : draw.at("clusters")) {
      PredictiveCluster loaded;
      loaded.order = to_items(model_json::permutation(cluster, "consensus", n, "predictive.clusters"));
      loaded.size = model_json::number(cluster, "size", "predictive.clusters");
      loaded.sums = non_negative(cluster, "sums", n - 1, "predictive.clusters");
      loaded.counts = model_json::numbers(cluster, "counts", loaded.sums.size(), "predictive.clusters");
      one.clusters.push_back(std::move(loaded));
    }
    if (!one.clusters.empty()) draws.push_back(std::move(one));
  }
  return std::make_unique<FittedDpm>(items, model_json::unranked(model), std::move(prior), std::move(components), std::move(draws));
}

}  // namespace caucus::dp_mallows
