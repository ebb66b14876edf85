#include "caucus/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "caucus/base/error.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus {

double Dataset::blank_weight() const {
  double sum = 0.0;
  for (const BlankRow& one : blanks) sum += one.weight;
  return sum;
}

Dataset Dataset::with(RankingSet others) const {
  Dataset part;
  part.items = items;
  part.rankings = std::move(others);
  part.unranked = unranked;
  part.source = source;
  return part;
}

DataTraits traits(const Dataset& data) {
  DataTraits result;
  const RankingSet& rankings = data.rankings;
  if (rankings.empty()) return result;
  result.min_length = rankings.length(0);
  result.has_ties = rankings.has_ties();
  bool pairs = true;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const std::size_t length = rankings.length(i);
    result.min_length = std::min(result.min_length, length);
    result.max_length = std::max(result.max_length, length);
    pairs = pairs && length == 2;
  }
  result.complete = result.min_length == data.num_items();
  result.top_t = !result.complete && data.unranked == Unranked::last;
  result.subset = !result.complete && data.unranked == Unranked::absent;
  result.kind = result.complete ? DataKind::complete : pairs ? DataKind::pairwise : DataKind::partial;
  return result;
}

std::string digest(const Dataset& data) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const auto feed = [&](const auto& values) {
    const std::uint64_t count = values.size();
    XXH3_128bits_update(state, &count, sizeof count);
    XXH3_128bits_update(state, values.data(), values.size() * sizeof(values[0]));
  };
  for (const std::string& item : data.items) feed(item);
  feed(data.rankings.offsets());
  feed(data.rankings.items());
  feed(data.rankings.group_ends());
  feed(data.rankings.weights());
  const auto unranked = static_cast<std::uint8_t>(data.unranked);
  XXH3_128bits_update(state, &unranked, 1);
  if (data.voters.share()) {
    feed(data.voters.weights);
    feed(data.voters.rankings.begin);
    feed(data.voters.rankings.other);
    feed(data.voters.rankings.times);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("xxh128:{:016x}{:016x}", hash.high64, hash.low64);
}

std::string digest(const Dataset& data, Collective* ranks) {
  if (ranks == nullptr || ranks->size() < 2) return digest(data);
  return ranks->exchange(ranks->rank() == 0 ? digest(data) : std::string())[0];
}

struct RowDigest::State {
  XXH3_state_t* hash = XXH3_createState();
  ~State() { XXH3_freeState(hash); }
};

RowDigest::RowDigest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->hash); }
RowDigest::~RowDigest() = default;

void RowDigest::add(const RankingSet& rankings) {
  for (std::size_t row = 0; row < rankings.num_rows(); ++row) {
    const RankingView ranking = rankings[rankings.row_ranking(row)];
    const double weight = rankings.row_weight(row);
    const std::uint64_t head[2] = {ranking.size(), ranking.has_ties() ? 1U : 0U};
    XXH3_128bits_update(state_->hash, head, sizeof head);
    XXH3_128bits_update(state_->hash, &weight, sizeof weight);
    XXH3_128bits_update(state_->hash, ranking.items().data(), ranking.items().size_bytes());
    if (head[1] == 0) continue;
    for (std::size_t i = 0; i < ranking.size(); ++i) {
      const auto ends = static_cast<std::uint8_t>(ranking.ends_group(i));
      XXH3_128bits_update(state_->hash, &ends, 1);
    }
  }
}

std::string RowDigest::finish(std::span<const std::string> items, Unranked unranked) {
  for (const std::string& item : items) {
    const std::uint64_t length = item.size();
    XXH3_128bits_update(state_->hash, &length, sizeof length);
    XXH3_128bits_update(state_->hash, item.data(), item.size());
  }
  const auto meaning = static_cast<std::uint8_t>(unranked);
  XXH3_128bits_update(state_->hash, &meaning, 1);
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->hash);
  return fmt::format("xxh128-rows:{:016x}{:016x}", hash.high64, hash.low64);
}

bool has_digest(const Dataset& data, std::string_view wanted) {
  if (!wanted.starts_with("xxh128-rows:")) return digest(data) == wanted;
  RowDigest rows;
  rows.add(data.rankings);
  return rows.finish(data.items, data.unranked) == wanted;
}

Dataset match_items(Dataset data, std::span<const std::string> model_items) {
  if (std::ranges::equal(data.items, model_items)) return data;
  std::unordered_map<std::string_view, ItemId> position;
  for (std::size_t i = 0; i < model_items.size(); ++i) position.emplace(model_items[i], static_cast<ItemId>(i));

  std::vector<ItemId> renumbered(data.items.size());
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < data.items.size(); ++i) {
    const auto found = position.find(data.items[i]);
    if (found == position.end())
      unknown.push_back("'" + data.items[i] + "'");
    else
      renumbered[i] = found->second;
  }
  if (!unknown.empty()) {
    const std::size_t shown = std::min<std::size_t>(unknown.size(), 5);
    std::string names = fmt::format("{}", fmt::join(unknown.begin(), unknown.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    if (unknown.size() > shown) names += fmt::format(" and {} more", unknown.size() - shown);
    throw DataError(fmt::format("{}: the model does not know {} {}", data.source, unknown.size() == 1 ? "item" : "items", names));
  }

  data.rankings.renumber(renumbered);
  data.items.assign(model_items.begin(), model_items.end());
  return data;
}

}  // namespace caucus
