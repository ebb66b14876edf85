#include "caucus/result/voter_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/random.h"

namespace caucus {

RankingView GroupSampler::next(std::size_t group) {
  while (queues_[group].empty()) {
    SampleRequest request = request_;
    request.count = SampleRequest::block;
    request.first = next_;
    next_ += SampleRequest::block;
    const Sample& sample = drawn_.emplace_back(model_.sample(request));
    for (std::size_t row = 0; row < sample.labels.size(); ++row)
      queues_[static_cast<std::size_t>(sample.labels[row])].push_back({&sample, row});
  }
  const Place place = queues_[group].front();
  queues_[group].pop_front();
  const RankingSet& rankings = place.sample->data.rankings;
  return rankings[rankings.row_ranking(place.row)];
}

Sample sample_voters(const FittedModel& model, const VoterSampleRequest& request) {
  const std::size_t n = model.items().size();
  if (request.menu == 1 || request.menu > n)
    throw UsageError(fmt::format("--menu {} is outside [2, {}], the number of items", request.menu, n));
  if (request.menu > 0 && model.ties_are_outcomes())
    throw UsageError("--menu: a model with ties gives no menus: what is tied in an order of all items is no tie among a few");
  if (request.least == 0 || request.least > request.most) throw UsageError("--per-voter: expected a number, or two as in 5..20");
  std::vector<double> weights;
  for (const Group& group : model.profile()) weights.push_back(group.weight);
  GroupSampler draws(
      model, {.count = 0, .seed = request.seed, .threads = request.threads, .length = request.menu > 0 ? 0 : request.length});
  Sample result;
  result.data.items = model.items();
  result.data.unranked = request.menu > 0 ? Unranked::absent : model.unranked();
  RankingSetBuilder builder;
  std::vector<std::uint32_t> of_row;
  std::vector<std::string> names;
  Column column{"voter", {}, {}};
  std::vector<ItemId> menu(n), listed;
  std::vector<char> offered(n);
  for (std::size_t v = 0; v < request.voters; ++v) {
    RandomStream random(request.seed, Purpose::generate, v);
    const std::size_t group = random.categorical(weights);
    const std::size_t count = request.least + random.below(request.most - request.least + 1);
    result.labels.push_back(static_cast<int>(group));
    names.push_back(fmt::format("v{}", v + 1));
    for (std::size_t r = 0; r < count; ++r) {
      const RankingView drawn = draws.next(group);
      of_row.push_back(static_cast<std::uint32_t>(v));
      column.texts.push_back(names.back());
      if (request.menu == 0) {
        std::vector<std::uint8_t> ends;
        for (std::size_t p = 0; p < drawn.size(); ++p) ends.push_back(drawn.ends_group(p) ? 1 : 0);
        builder.append(drawn.items(), 1.0, ends);
        continue;
      }
      std::iota(menu.begin(), menu.end(), ItemId{0});
      std::ranges::fill(offered, 0);
      for (std::size_t i = 0; i < request.menu; ++i) {
        std::swap(menu[i], menu[i + random.below(n - i)]);
        offered[menu[i]] = 1;
      }
      listed.clear();
      for (const ItemId item : drawn.items())
        if (offered[item] != 0 && (request.length == 0 || listed.size() < request.length)) listed.push_back(item);
      builder.append(listed, 1.0);
    }
  }
  result.data.rankings = builder.build();
  result.data.covariates.push_back(std::move(column));
  result.data.voters.column = "voter";
  set_voters(result.data, std::move(of_row), std::move(names), std::vector<double>(request.voters, 1.0));
  return result;
}

}  // namespace caucus
