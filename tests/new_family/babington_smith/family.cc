#include "family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"

namespace caucus {
namespace babington_smith {
namespace {

constexpr std::size_t most_items = 6;  // all n! rankings are looked at

struct Options {
  int components = 1;
  int iterations = 60;
  static constexpr auto fields() {
    using O = Options;
    return std::tuple{field("components", &O::components, 1, 20, "number of groups"),
                      field("iterations", &O::iterations, 1, 10000, "steps of EM")};
  }
};

// The pairs of a ranking, as signs of pairs (a, b) with a < b: +1 where a stands above.
std::vector<double> pair_signs(std::span<const ItemId> ranking) {
  const std::size_t n = ranking.size();
  std::vector<double> signs;
  std::vector<std::size_t> place(n);
  for (std::size_t p = 0; p < n; ++p) place[ranking[p]] = p;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) signs.push_back(place[a] < place[b] ? 1.0 : -1.0);
  return signs;
}

// All rankings of n items with their pairs.
struct Rankings {
  std::vector<std::vector<ItemId>> orders;
  std::vector<std::vector<double>> signs;

  explicit Rankings(std::size_t n) {
    std::vector<ItemId> order(n);
    std::iota(order.begin(), order.end(), ItemId{0});
    do {
      orders.push_back(order);
      signs.push_back(pair_signs(order));
    } while (std::ranges::next_permutation(order).found);
  }
};

struct Component {
  double weight = 1.0;
  std::vector<double> strength;  // of the pairs (a, b), a < b
};

double score(const std::vector<double>& strength, const std::vector<double>& signs) {
  return std::inner_product(strength.begin(), strength.end(), signs.begin(), 0.0);
}

// Log-probabilities of all rankings.
std::vector<double> log_table(const Component& component, const Rankings& all) {
  std::vector<double> table;
  for (const auto& signs : all.signs) table.push_back(score(component.strength, signs));
  const double total = log_sum_exp(table);
  for (double& value : table) value -= total;
  return table;
}

class Fitted : public FittedModel {
 public:
  Fitted(std::vector<std::string> items, Unranked unranked, std::vector<Component> components)
      : FittedModel(std::move(items), unranked), all_(this->items().size()), components_(std::move(components)) {
    for (const Component& component : components_) tables_.push_back(log_table(component, all_));
  }

  std::string_view family() const override { return "babington-smith"; }
  std::size_t num_components() const override { return components_.size(); }
  void check(const Dataset& data) const override { require_accepted(Accepts{}, data, "family babington-smith"); }
  void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const override {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<ItemId> order(data.rankings[first + i].items().begin(), data.rankings[first + i].items().end());
      for (ItemId item = 0; item < data.num_items(); ++item)
        if (std::ranges::find(order, item) == order.end()) order.push_back(item);  // complete rankings may leave the last one out
      const auto found = static_cast<std::size_t>(std::ranges::lower_bound(all_.orders, order) - all_.orders.begin());
      for (std::size_t k = 0; k < tables_.size(); ++k)
        joint[i * tables_.size() + k] = std::log(components_[k].weight) + tables_[k][found];
    }
  }
  Sample sample(const SampleRequest& request) const override {
    Sample sample;
    RankingSetBuilder builder;
    std::vector<double> weights;
    for (const Component& component : components_) weights.push_back(component.weight);
    for (std::size_t row = 0; row < request.count; ++row) {
      RandomStream stream(request.seed, Purpose::sample, request.first + row);
      const std::size_t k = stream.categorical(weights);
      const auto& order = all_.orders[stream.categorical_log(tables_[k])];
      builder.add(std::span(order).first(request.length == 0 ? order.size() : std::min(request.length, order.size())));
      sample.labels.push_back(static_cast<int>(k));
    }
    sample.data.items = items();
    sample.data.rankings = builder.build();
    return sample;
  }
  GroupLaw law(std::size_t group) const override {
    const std::size_t n = items().size();
    GroupLaw law;
    law.first.assign(n, 0.0);
    law.mean_place.assign(n, 0.0);
    for (std::size_t r = 0; r < all_.orders.size(); ++r) {
      const double p = std::exp(tables_[group][r]);
      law.first[all_.orders[r][0]] += p;
      for (std::size_t place = 0; place < n; ++place) law.mean_place[all_.orders[r][place]] += p * static_cast<double>(place + 1);
    }
    law.above = [this, group](ItemId a, ItemId b) {
      double total = 0.0;
      for (std::size_t r = 0; r < all_.orders.size(); ++r)
        if (std::ranges::find(all_.orders[r], a) < std::ranges::find(all_.orders[r], b)) total += std::exp(tables_[group][r]);
      return total;
    };
    return law;
  }
  void write(Record&, std::span<Record> components) const override {
    for (std::size_t k = 0; k < components.size(); ++k) components[k].set("strengths", components_[k].strength);
  }

 protected:
  std::vector<Group> groups() const override {
    std::vector<Group> result(components_.size());
    for (std::size_t k = 0; k < result.size(); ++k) {
      result[k].weight = components_[k].weight;
      std::vector<double> minus_place = law(k).mean_place;
      for (double& value : minus_place) value = -value;
      result[k].order = order_by(minus_place);
    }
    return result;
  }

 private:
  Rankings all_;
  std::vector<Component> components_;
  std::vector<std::vector<double>> tables_;
};

// One gradient step towards equal means of the pairs' signs under the model and among the ballots (weights w).
void step(Component& component, const Rankings& all, const RankingSet& rankings, std::span<const double> w) {
  const std::vector<double> table = log_table(component, all);
  std::vector<double> gradient(component.strength.size(), 0.0);
  const double total = sum(w);
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const std::vector<double> signs = pair_signs(rankings[i].items());
    for (std::size_t p = 0; p < signs.size(); ++p) gradient[p] += w[i] / total * signs[p];
  }
  for (std::size_t r = 0; r < table.size(); ++r)
    for (std::size_t p = 0; p < gradient.size(); ++p) gradient[p] -= std::exp(table[r]) * all.signs[r][p];
  for (std::size_t p = 0; p < gradient.size(); ++p)
    component.strength[p] = std::clamp(component.strength[p] + 0.5 * gradient[p], -5.0, 5.0);
}

class BabingtonSmithFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {.name = "babington-smith",
            .title = "Babington Smith mixture",
            .summary = "mixtures of Babington Smith models: a strength for every pair of items",
            .words = "A voter compares every two items, and starts again until the comparisons make a ranking.",
            .methods = {{"em", "EM with gradient steps over all rankings", Accepts{}}},
            .options = describe_options<Options>(),
            .compared_by_default = true};
  }
  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override {
    std::vector<Component> components;
    const std::vector<double> weights = file.weights();
    for (std::size_t k = 0; k < weights.size(); ++k)
      components.push_back({weights[k], file.components[k].numbers("strengths", file.items.size() * (file.items.size() - 1) / 2)});
    return std::make_unique<Fitted>(file.items, file.unranked, std::move(components));
  }

 protected:
  FitOutcome do_fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
    const auto options = parse_options<Options>(values);
    require_accepted(Accepts{}, data, "family babington-smith");
    const std::size_t n = data.num_items(), num = static_cast<std::size_t>(options.components), size = data.rankings.size();
    if (n > most_items) throw DataError(fmt::format("{}: family babington-smith takes {} items at most", data.source, most_items));
    const Rankings all(n);
    RandomStream stream(run.seed, Purpose::initialise);
    std::vector<Component> components(num);
    for (Component& component : components) {
      component.weight = 1.0 / static_cast<double>(num);
      for (std::size_t p = 0; p < n * (n - 1) / 2; ++p) component.strength.push_back(num == 1 ? 0.0 : stream.normal());
    }
    FitOutcome outcome;
    outcome.summary.method = "em";
    outcome.summary.options = show_options(options);
    outcome.summary.num_parameters = static_cast<std::int64_t>(num * n * (n - 1) / 2 + num - 1);
    outcome.summary.stop_reason = StopReason::iteration_limit;
    for (int iteration = 1; iteration <= options.iterations; ++iteration) {
      const Fitted now(data.items, data.unranked, components);
      const std::vector<double> share = memberships(now, data, run.threads);
      std::vector<double> w(size);
      for (std::size_t k = 0; k < num; ++k) {
        for (std::size_t i = 0; i < size; ++i) w[i] = data.rankings.weight(i) * share[i * num + k] + 1e-9;
        components[k].weight = sum(w) / data.rankings.total_weight();
        step(components[k], all, data.rankings, w);
      }
      double total = 0.0;
      for (const Component& component : components) total += component.weight;
      for (Component& component : components) component.weight /= total;
      outcome.summary.iterations = iteration;
      if (run.report({"em", iteration, options.iterations, 0.0}, outcome.summary.stop_reason) == Flow::stop) break;
    }
    std::ranges::stable_sort(components, std::ranges::greater{}, &Component::weight);
    outcome.model = std::make_unique<Fitted>(data.items, data.unranked, std::move(components));
    return outcome;
  }
};

}  // namespace
}  // namespace babington_smith

std::unique_ptr<Family> make_babington_smith_family() { return std::make_unique<babington_smith::BabingtonSmithFamily>(); }

}  // namespace caucus
