// Rankings like given ones, drawn from a group: as long as the given one, or an order of its items.
#pragma once

#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/dataset.h"
#include "caucus/infer/pl_mixture/parameters.h"

namespace caucus::pl_mixture {

class Simulator {
 public:
  // exponents: those of each group (dampening.h), or none.
  explicit Simulator(const Parameters& parameters, std::vector<std::vector<double>> exponents = {});

  const Parameters& parameters() const { return parameters_; }
  const std::vector<PlackettLuce>& models() const { return models_; }  // without exponents
  void draw(RandomStream& random, std::size_t group, RankingView like, Unranked unranked, std::vector<ItemId>& items,
            std::vector<std::uint8_t>& ends) const;

 private:
  Parameters parameters_;
  std::vector<std::vector<double>> exponents_;
  std::vector<PlackettLuce> models_;
};

}  // namespace caucus::pl_mixture
