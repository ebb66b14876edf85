#include "caucus/report/parts.h"

namespace caucus::report {

ModelView view_model(const FittedModel& model, std::uint64_t seed, int threads) {
  ModelView view;
  view.items = model.items();
  MarginalsRequest request;
  request.seed = seed;
  request.threads = threads;
  Marginals marginals = model.marginals(request);
  std::vector<Group> profile = model.profile();
  const auto fill = [](GroupView& group, GroupMarginals& from) {
    group.order = std::move(from.order);
    group.first = std::move(from.first);
    group.mean_place = std::move(from.mean_place);
    group.pairs = std::move(from.pairs);
  };
  for (std::size_t k = 0; k < profile.size(); ++k) {
    GroupView group;
    group.weight = profile[k].weight;
    group.utilities = profile[k].utilities;
    group.unbounded = profile[k].errors.unbounded;
    fill(group, marginals.groups[k]);
    group.profile = std::move(profile[k]);
    view.groups.push_back(std::move(group));
  }
  fill(view.everyone, marginals.everyone);
  view.pair_items = std::move(marginals.pair_items);
  view.num_draws = marginals.num_draws;
  return view;
}

}  // namespace caucus::report
