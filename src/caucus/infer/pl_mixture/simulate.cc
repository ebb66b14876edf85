#include "caucus/infer/pl_mixture/simulate.h"

#include "caucus/infer/pl_mixture/dampening.h"

namespace caucus::pl_mixture {

Simulator::Simulator(const Parameters& parameters, std::vector<std::vector<double>> exponents)
    : parameters_(parameters), exponents_(std::move(exponents)) {
  for (std::size_t k = 0; k < parameters_.num_components(); ++k) {
    const auto utilities = parameters_.component(k);
    models_.emplace_back(std::vector<double>(utilities.begin(), utilities.end()), parameters_.ties);
  }
}

void Simulator::draw(RandomStream& random, std::size_t group, RankingView like, Unranked unranked, std::vector<ItemId>& items,
                     std::vector<std::uint8_t>& ends) const {
  items.clear();
  ends.clear();
  if (like.size() == 0) return;
  if (unranked == Unranked::last) {
    if (exponents_.empty() && like.size() == models_[group].num_items()) return models_[group].sample(random, 0, items, ends);
    if (exponents_.empty()) {
      // As many choices as the ballot has. A tie is one choice: to list as many items instead would go beyond the ballot whenever a
      // tie straddles its end, and tell more than the data did.
      std::size_t stages = 0;
      like.for_each_group([&](std::span<const ItemId>) { ++stages; });
      return models_[group].sample_stages(random, stages, items, ends);
    }
    items = dampened_sample(random, parameters_.component(group), exponents_[group]);
    items.resize(like.size());
    return;
  }
  std::vector<double> utilities;
  for (const ItemId item : like.items()) utilities.push_back(parameters_.component(group)[item]);
  if (exponents_.empty())
    PlackettLuce(std::move(utilities), parameters_.ties).sample(random, 0, items, ends);
  else
    items = dampened_sample(random, utilities, exponents_[group]);
  for (ItemId& item : items) item = like[item];
}

}  // namespace caucus::pl_mixture
