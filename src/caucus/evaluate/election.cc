#include "caucus/evaluate/election.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/evaluate/tally.h"

namespace caucus {

namespace {

// Values of papers are whole hundred-thousandths of a vote: five decimals, as the Scottish rules count.
using Units = std::int64_t;
constexpr Units one_vote = 100000;
__extension__ using Wide = __int128;

// Part of a ballot in a candidate's pile.
struct Piece {
  std::size_t ranking;
  double papers;  // the ballot's weight, or a share of it where candidates are tied
  Units value;    // of one paper
  Units worth() const { return std::llround(papers * static_cast<double>(value)); }
};

class Counter {
 public:
  Counter(const Dataset& data, const ElectionOptions& options, std::span<const double> weights)
      : data_(data), options_(options), standing_(data.num_items(), 1), piles_(data.num_items()), votes_(data.num_items(), 0) {
    for (std::size_t i = 0; i < data.rankings.size(); ++i)
      if (const double w = weights.empty() ? data.rankings.weight(i) : weights[i]; w > 0.0) {
        total_ += std::llround(w * static_cast<double>(one_vote));
        start_.push_back({i, w, one_vote});
      }
  }

  Count run() {
    const auto places = static_cast<Units>(options_.seats + 1);
    quota_ = (total_ / (one_vote * places) + 1) * one_vote;
    count_.total = in_votes(total_);
    count_.quota = in_votes(quota_);
    parcels_.assign(votes_.size(), 0);
    std::vector<Units> moved(votes_.size(), 0);
    for (const Piece& piece : start_) deliver(piece, moved);
    if (total_ > 0) record(Stage::What::first_preferences, 0, moved);
    while (total_ > 0 && count_.elected.size() < options_.seats && num_standing() > 0) {
      if (num_standing() + count_.elected.size() <= options_.seats) {
        elect_all_standing();
        break;
      }
      if (const ItemId item = largest_surplus(); item < votes_.size())
        pass_surplus(item);
      else
        exclude(fewest_votes());
    }
    return std::move(count_);
  }

 private:
  static double in_votes(Units units) { return static_cast<double>(units) / static_cast<double>(one_vote); }
  std::size_t num_standing() const {
    return static_cast<std::size_t>(std::count(standing_.begin(), standing_.end(), std::uint8_t{1}));
  }

  // To the best-ranked candidates still standing; false where there is none.
  bool deliver(const Piece& piece, std::vector<Units>& moved) {
    bool found = false;
    data_.rankings[piece.ranking].for_each_group([&](std::span<const ItemId> group) {
      if (found) return;
      const auto open = std::count_if(group.begin(), group.end(), [&](ItemId item) { return standing_[item] != 0; });
      if (open == 0) return;
      found = true;
      for (ItemId item : group) {
        if (standing_[item] == 0) continue;
        const Piece part{piece.ranking, piece.papers / static_cast<double>(open), piece.value};
        piles_[item].push_back(part);
        moved[item] += part.worth();
        votes_[item] += part.worth();
      }
    });
    return found;
  }

  bool transferable(const Piece& piece) const {
    const auto items = data_.rankings[piece.ranking].items();
    return std::any_of(items.begin(), items.end(), [&](ItemId item) { return standing_[item] != 0; });
  }

  void record(Stage::What what, ItemId from, const std::vector<Units>& moved) {
    Stage stage;
    stage.what = what;
    stage.from = from;
    for (std::size_t i = 0; i < votes_.size(); ++i) {
      stage.votes.push_back(in_votes(votes_[i]));
      stage.moved.push_back(in_votes(moved[i]));
    }
    stage.exhausted = in_votes(total_ - std::accumulate(votes_.begin(), votes_.end(), Units{0}));
    history_.push_back(votes_);
    for (const ItemId item : by_votes())
      if (standing_[item] != 0 && votes_[item] >= quota_ && count_.elected.size() < options_.seats) {
        standing_[item] = 0;
        if (votes_[item] > quota_) surplus_.push_back(item);
        count_.elected.push_back(item);
        stage.elected.push_back(item);
      }
    count_.stages.push_back(std::move(stage));
  }

  void elect_all_standing() {
    for (const ItemId item : by_votes())
      if (standing_[item] != 0) {
        standing_[item] = 0;
        count_.elected.push_back(item);
        count_.stages.back().elected.push_back(item);
      }
  }

  std::vector<ItemId> by_votes() const {
    std::vector<ItemId> order(votes_.size());
    std::iota(order.begin(), order.end(), ItemId{0});
    std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return votes_[a] > votes_[b]; });
    return order;
  }

  // Has a more votes than b, now or at the latest earlier stage where they differ? 0: never.
  int compare(ItemId a, ItemId b) const {
    for (auto stage = history_.rbegin(); stage != history_.rend(); ++stage)
      if ((*stage)[a] != (*stage)[b]) return (*stage)[a] > (*stage)[b] ? 1 : -1;
    return 0;
  }

  ItemId largest_surplus() {
    ItemId best = static_cast<ItemId>(votes_.size());
    for (ItemId item : surplus_) {
      const int order = best == votes_.size() ? 1 : compare(item, best);
      if (order > 0) best = item;
      if (order == 0) count_.lot = true;
    }
    return best;
  }

  ItemId fewest_votes() {
    ItemId worst = static_cast<ItemId>(votes_.size());
    bool lot = false;
    for (std::size_t i = 0; i < votes_.size(); ++i) {
      if (standing_[i] == 0) continue;
      const int order = worst == votes_.size() ? -1 : compare(static_cast<ItemId>(i), worst);
      if (order < 0) lot = false;
      if (order <= 0) worst = static_cast<ItemId>(i);  // of candidates that nothing tells apart the last in the file goes
      if (order == 0) lot = true;
    }
    count_.lot = count_.lot || lot;
    return worst;
  }

  void pass_surplus(ItemId from) {
    surplus_.erase(std::find(surplus_.begin(), surplus_.end(), from));
    const Units surplus = votes_[from] - quota_, held = votes_[from];
    std::vector<Piece> pieces = std::move(piles_[from]);
    if (options_.surplus == Surplus::last_parcel)
      pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(parcels_[from]));
    begin_parcels();
    double papers = 0.0;
    for (const Piece& piece : pieces) papers += transferable(piece) ? piece.papers : 0.0;
    std::vector<Units> moved(votes_.size(), 0);
    for (Piece piece : pieces) {
      if (options_.surplus == Surplus::weighted_inclusive)
        piece.value = static_cast<Units>(static_cast<Wide>(surplus) * piece.value / held);
      else if (papers > 0.0)
        piece.value = std::min(piece.value, static_cast<Units>(std::floor(static_cast<double>(surplus) / papers)));
      deliver(piece, moved);
    }
    votes_[from] = quota_;
    moved[from] = -surplus;
    record(Stage::What::surplus, from, moved);
  }

  void exclude(ItemId from) {
    standing_[from] = 0;
    if (num_standing() + count_.elected.size() == options_.seats) {  // rule 52: the last seats are filled without a transfer
      elect_all_standing();
      return;
    }
    const std::vector<Piece> pieces = std::move(piles_[from]);
    begin_parcels();
    std::vector<Units> moved(votes_.size(), 0);
    moved[from] = -votes_[from];
    for (const Piece& piece : pieces) deliver(piece, moved);
    votes_[from] = 0;
    record(Stage::What::exclusion, from, moved);
  }

  // What arrives from now on is the last parcel of those who are still standing.
  void begin_parcels() {
    for (std::size_t i = 0; i < piles_.size(); ++i)
      if (standing_[i] != 0) parcels_[i] = piles_[i].size();
  }

  const Dataset& data_;
  const ElectionOptions& options_;
  std::vector<std::uint8_t> standing_;
  std::vector<std::vector<Piece>> piles_;
  std::vector<Units> votes_;
  std::vector<std::size_t> parcels_;  // where each pile's last parcel begins
  std::vector<Piece> start_;
  std::vector<ItemId> surplus_;  // elected, surplus not yet passed on
  std::vector<std::vector<Units>> history_;
  Units total_ = 0, quota_ = 0;
  Count count_;
};

std::vector<ItemId> leading(std::size_t num_items, std::size_t seats, const auto& score) {
  std::vector<ItemId> order(num_items);
  std::iota(order.begin(), order.end(), ItemId{0});
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return score(a) > score(b); });
  order.resize(std::min(seats, num_items));
  return order;
}

}  // namespace

Count single_transferable_vote(const Dataset& data, const ElectionOptions& options, std::span<const double> weights) {
  if (options.seats == 0) throw UsageError("an election needs at least one seat");
  return Counter(data, options, weights).run();
}

Winners winners(const Dataset& data, const ElectionOptions& options, std::span<const double> weights) {
  const Tally sums = tally(data, weights);
  Winners result;
  result.first_past_the_post = leading(data.num_items(), options.seats, [&](ItemId item) { return sums.first[item]; });
  result.borda = leading(data.num_items(), options.seats, [&](ItemId item) { return sums.borda(item); });
  result.condorcet = sums.condorcet_winner();
  result.transferable = single_transferable_vote(data, options, weights);
  ElectionOptions one_seat = options;
  one_seat.seats = 1;
  result.runoff = options.seats == 1 ? result.transferable : single_transferable_vote(data, one_seat, weights);
  return result;
}

}  // namespace caucus
