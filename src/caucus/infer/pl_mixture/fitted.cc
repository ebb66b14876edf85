#include "caucus/infer/pl_mixture/fitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "caucus/base/parallel.h"
#include "caucus/infer/family.h"
#include "caucus/infer/pl_mixture/structured.h"

namespace caucus::pl_mixture {

namespace {

constexpr double largest_strength = 1e15;  // of ties that are too large for these items

}  // namespace

FittedMixture::FittedMixture(std::vector<std::string> items, Unranked unranked, Parameters parameters)
    : FittedModel(std::move(items), unranked), parameters_(std::move(parameters)) {
  for (std::size_t k = 0; k < parameters_.num_components(); ++k) {
    const auto utilities = parameters_.component(k);
    models_.emplace_back(std::vector<double>(utilities.begin(), utilities.end()), parameters_.ties);
  }
}

void FittedMixture::check(const Dataset& data) const {
  if (!data.rankings.has_ties()) return;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    data.rankings[i].for_each_group([&](std::span<const ItemId> group) {
      if (parameters_.ties.knows(group.size())) return;
      if (parameters_.ties.empty())
        throw DataError(fmt::format(
            "{}: the model has no \"ties\", so it gives rankings with ties no probability; fit a model to data with ties, "
            "or break the ties first",
            data.source));
      throw DataError(fmt::format("{}: a tie of {} items occurs, and the model's \"ties\" has no strength for that order",
                                  data.source, group.size()));
    });
  }
}

void FittedMixture::log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const {
  const std::size_t num = num_components();
  std::vector<double> log_weights;
  for (double weight : parameters_.weights) log_weights.push_back(weight > 0.0 ? std::log(weight) : -infinity);
  for (std::size_t i = 0; i < count; ++i) {
    const RankingView ranking = data.rankings[first + i];
    for (std::size_t k = 0; k < num; ++k)
      joint[i * num + k] =
          log_weights[k] + (exponents.empty() ? models_[k].log_prob(ranking, data.unranked)
                                              : dampened_log_prob(ranking, data.unranked, parameters_.component(k), exponents[k]));
  }
}

// Without ties all orders have one length, and those of a group are drawn together. In waves, whose orders stay in the cache until
// they are counted.
void FittedMixture::sample_strict(const SampleRequest& request, Sample& sample) const {
  constexpr std::size_t block = 256, wave = 64 * block;
  const std::size_t n = items().size(), length = request.length == 0 ? n : std::min(request.length, n), num = num_components();
  std::vector<ItemId> drawn(std::min(request.count, wave) * length);
  RankingSetBuilder builder;
  builder.expect_rows(request.count);
  for (std::size_t begin = 0; begin < request.count; begin += wave) {
    const std::size_t end = std::min(begin + wave, request.count);
    parallel_for((end - begin + block - 1) / block, request.threads, [&](std::size_t b) {
      std::vector<std::vector<std::uint64_t>> streams(num);
      std::vector<std::vector<ItemId*>> orders(num);
      for (std::size_t i = begin + b * block; i < std::min(end, begin + (b + 1) * block); ++i) {
        const std::uint64_t stream = request.first + i;
        const std::size_t k = num == 1 ? 0 : RandomStream(request.seed, Purpose::sample, stream).categorical(parameters_.weights);
        sample.labels[i] = static_cast<int>(k);
        streams[k].push_back(stream);
        orders[k].push_back(drawn.data() + (i - begin) * length);
      }
      for (std::size_t k = 0; k < num; ++k) models_[k].sample_many(request.seed, streams[k], length, orders[k]);
    });
    for (std::size_t i = 0; i < end - begin; ++i) builder.append(std::span(drawn).subspan(i * length, length));
  }
  sample.data.rankings = builder.build();
}

Sample FittedMixture::sample(const SampleRequest& request) const {
  Sample result;
  result.data.items = items();
  // A model of races draws complete orders of all its items.
  result.data.unranked = unranked();
  result.labels.resize(request.count);
  if (parameters_.ties.empty() && exponents.empty()) {
    sample_strict(request, result);
    return result;
  }
  const Blocks blocks(request.count, 256, 1024);
  struct Part {
    std::vector<ItemId> items;
    std::vector<std::uint8_t> ends;
    std::vector<std::size_t> lengths;
  };
  std::vector<Part> parts(blocks.count());
  parallel_for(blocks.count(), request.threads, [&](std::size_t b) {
    std::vector<ItemId> order;
    std::vector<std::uint8_t> ends;
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      RandomStream random(request.seed, Purpose::sample, request.first + i);
      const std::size_t k = random.categorical(parameters_.weights);
      result.labels[i] = static_cast<int>(k);
      if (exponents.empty()) {
        models_[k].sample(random, request.length, order, ends);
      } else {
        order = dampened_sample(random, parameters_.component(k), exponents[k]);
        if (request.length > 0) order.resize(std::min(order.size(), request.length));
      }
      parts[b].items.insert(parts[b].items.end(), order.begin(), order.end());
      parts[b].ends.insert(parts[b].ends.end(), ends.begin(), ends.end());
      parts[b].lengths.push_back(order.size());
    }
  });
  RankingSetBuilder builder;
  for (const Part& part : parts) {
    std::size_t begin = 0;
    for (std::size_t length : part.lengths) {
      const auto ends = part.ends.empty() ? std::span<const std::uint8_t>{} : std::span(part.ends).subspan(begin, length);
      builder.append(std::span(part.items).subspan(begin, length), 1.0, ends);
      begin += length;
    }
  }
  result.data.rankings = builder.build();
  return result;
}

std::vector<Group> FittedMixture::groups() const {
  std::vector<Group> result(num_components());
  for (std::size_t k = 0; k < result.size(); ++k) {
    result[k].weight = parameters_.weights[k];
    const auto utilities = parameters_.component(k);
    result[k].utilities.assign(utilities.begin(), utilities.end());
  }
  return result;
}

GroupLaw FittedMixture::law(std::size_t group) const {
  const auto utilities = parameters_.component(group);
  if (!exponents.empty()) {  // no formulas beyond first places
    GroupLaw law;
    law.draw = [this, group](RandomStream& random, std::span<ItemId> order) {
      std::ranges::copy(dampened_sample(random, parameters_.component(group), exponents[group]), order.begin());
    };
    return law;
  }
  return plackett_luce_law({utilities.begin(), utilities.end()});
}

void FittedMixture::write(Record& model, std::span<Record> components) const {
  model = extras;
  std::vector<Record> words;
  for (const ModelFact& fact : told)
    words.push_back(Record().set("name", fact.name).set("value", fact.value).set("words", fact.words));
  if (!words.empty()) model.set("membership_words", words);
  if (items_known) model.set("item_utilities", items_known->record());
  for (std::size_t k = 0; k < component_extras.size(); ++k) components[k] = component_extras[k];
  for (std::size_t k = 0; k < exponents.size(); ++k) components[k].set("dampening", exponents[k]);
  if (parameters_.ties.empty()) return;
  Record ties;
  for (std::size_t o = 0; o < parameters_.ties.orders.size(); ++o)
    ties.set(std::to_string(parameters_.ties.orders[o]), std::exp(parameters_.ties.log_delta[o]));
  model.set("ties", ties);
}

std::unique_ptr<FittedMixture> load_mixture(const ModelRecord& file) {
  const std::size_t n = file.items.size();
  Parameters parameters(file.components.size(), n);
  parameters.weights = file.weights();
  for (std::size_t k = 0; k < file.components.size(); ++k)
    std::ranges::copy(file.components[k].numbers("utilities", n), parameters.component(k).begin());
  if (file.model.has("ties")) {
    const RecordView ties = file.model.object("ties");
    std::vector<std::pair<int, double>> strengths;
    for (const std::string& key : ties.keys()) {
      int order = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), order);
      if (error != std::errc() || end != key.data() + key.size() || order < 2) ties.fail(key, "a tie order, 2 or more");
      const double most = static_cast<std::size_t>(order) <= n ? std::exp(max_log_delta(n, order) + 1e-6) : largest_strength;
      const double delta = ties.positive(key, most);
      strengths.emplace_back(order, std::log(delta));
    }
    std::ranges::sort(strengths);
    for (const auto& [order, log_delta] : strengths) {
      parameters.ties.orders.push_back(order);
      parameters.ties.log_delta.push_back(log_delta);
    }
  }
  auto model = std::make_unique<FittedMixture>(file.items, file.unranked, std::move(parameters));
  for (const RecordView& fact : file.model.objects("membership_words"))
    model->told.push_back({fact.text("name"), fact.text("value"), fact.text("words")});
  if (file.model.has("item_utilities"))
    model->items_known = ItemUtilities::read(file.model.object("item_utilities"), model->num_components());
  for (const RecordView& component : file.components) {
    if (!component.has("dampening")) continue;
    model->exponents.push_back(component.numbers("dampening", component.size("dampening")));
    for (const double exponent : model->exponents.back())
      if (!(exponent > 0.0)) component.fail("dampening", "positive numbers");
  }
  if (!model->exponents.empty() && model->exponents.size() != file.components.size())
    file.model.fail("components", "\"dampening\" in all of them, or in none");
  if (!model->exponents.empty() && file.model.has("ties")) file.model.fail("ties", "no ties beside \"dampening\"");
  return model;
}

}  // namespace caucus::pl_mixture
