#include "caucus/report/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace caucus::report {

namespace {

std::string ordinal(std::size_t place) {
  const std::size_t tens = place % 100, ones = place % 10;
  const char* suffix = tens >= 11 && tens <= 13 ? "th" : ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th";
  return fmt::format("{}{}", place, suffix);
}

std::vector<std::size_t> places(const std::vector<ItemId>& order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) place[order[p]] = p + 1;
  return place;
}

// The numbers that descriptions speak of, by group and item: counted where there are data, the model's else.
class Evidence {
 public:
  Evidence(const ModelView& view, const Counted* counted) : view_(view), n_(view.items.size()), k_(view.groups.size()) {
    by_count_ = counted != nullptr && (counted->groups.size() == k_ || k_ == 1);
    const auto tally_of = [&](std::size_t k) -> const Tally& { return k_ == 1 ? counted->everyone : counted->groups[k]; };
    for (std::size_t k = 0; k < k_; ++k) {
      const double weight = by_count_ ? tally_of(k).total : view.groups[k].weight;
      weight_.push_back(weight);
      std::vector<double> favour(n_, 0.0), place = view.groups[k].mean_place;
      wins_ = by_count_ && counted->battles && counted->holds_pairs();
      for (std::size_t i = 0; i < n_; ++i) {
        const auto item = static_cast<ItemId>(i);
        if (!by_count_) {
          favour[i] = view.groups[k].first.empty() ? 0.0 : view.groups[k].first[i];
        } else {
          const Tally& tally = tally_of(k);
          favour[i] = wins_ ? tally.win_rate(item) : tally.total > 0.0 ? tally.first[i] / tally.total : 0.0;
          if (counted->unranked == Unranked::last && tally.total > 0.0) place[i] = tally.mean_place(item);
          if (std::isnan(favour[i])) favour[i] = 0.0;
        }
      }
      favour_.push_back(std::move(favour));
      place_.push_back(std::move(place));
      speakable_.push_back(known_items(k, counted));
    }
  }

  std::size_t num_groups() const { return k_; }
  std::size_t num_items() const { return n_; }
  double favour(std::size_t k, ItemId i) const { return favour_[k][i]; }  // share of first places, or of battles won
  double place(std::size_t k, ItemId i) const { return place_[k][i]; }
  double favour_elsewhere(std::size_t k, ItemId i) const { return elsewhere(favour_, k, i); }
  double place_elsewhere(std::size_t k, ItemId i) const { return elsewhere(place_, k, i); }
  bool speakable(std::size_t k, ItemId i) const { return speakable_[k][i] != 0; }
  bool speakable_everywhere(ItemId i) const {
    return std::all_of(speakable_.begin(), speakable_.end(), [&](const auto& group) { return group[i] != 0; });
  }
  bool wins() const { return wins_; }

  // Speakable items of the group by average place, best first.
  std::vector<ItemId> order(std::size_t k) const {
    std::vector<ItemId> items;
    for (std::size_t i = 0; i < n_; ++i)
      if (speakable_[k][i] != 0) items.push_back(static_cast<ItemId>(i));
    std::stable_sort(items.begin(), items.end(), [&](ItemId a, ItemId b) { return place_[k][a] < place_[k][b]; });
    return items;
  }

 private:
  double elsewhere(const std::vector<std::vector<double>>& values, std::size_t k, ItemId i) const {
    double sum = 0.0, weight = 0.0;
    for (std::size_t other = 0; other < k_; ++other)
      if (other != k) sum += weight_[other] * values[other][i], weight += weight_[other];
    return weight > 0.0 ? sum / weight : values[k][i];
  }

  // Not: items without a finite estimate, unless what is said of them is counted alone (favourites whom all members rank above the
  // rest have none), and items listed by a tenth as many as an item is on average, or by fewer than five.
  std::vector<std::uint8_t> known_items(std::size_t k, const Counted* counted) const {
    std::vector<std::uint8_t> known(n_, 1);
    if (!by_count_ || wins_ || counted->unranked != Unranked::last)
      for (ItemId item : view_.groups[k].unbounded) known[item] = 0;
    if (counted == nullptr) return known;
    const Tally& tally = by_count_ && k_ > 1 ? counted->groups[k] : counted->everyone;
    double mean = 0.0;
    for (double listed : tally.listed) mean += listed / static_cast<double>(n_);
    const double enough = std::max(0.1 * mean, std::min(5.0, 0.5 * mean));
    for (std::size_t i = 0; i < n_; ++i)
      if (tally.listed[i] < enough) known[i] = 0;
    return known;
  }

  const ModelView& view_;
  std::size_t n_, k_;
  bool by_count_ = false, wins_ = false;
  std::vector<double> weight_;
  std::vector<std::vector<double>> favour_, place_;
  std::vector<std::vector<std::uint8_t>> speakable_;
};

// The item's favour in the group, and in the other ones together.
std::string favour_words(const ModelView& view, const Evidence& evidence, std::size_t k, ItemId item, bool first_of_list) {
  const std::string own = percent(evidence.favour(k, item)), name = view.items[item];
  const std::string rest =
      evidence.num_groups() > 1 ? fmt::format(" ({} elsewhere)", percent(evidence.favour_elsewhere(k, item))) : std::string();
  if (evidence.wins()) return fmt::format("{} wins {} of its battles{}", name, own, rest);
  return first_of_list ? fmt::format("{} put {} first{}", own, name, rest) : fmt::format("{} {}{}", own, name, rest);
}

// Liked: items with the largest share of first places, as far as they stand out; rejected: the one placed lowest against the
// others.
Description tastes(const Evidence& evidence, std::size_t k) {
  Description found;
  const std::size_t n = evidence.num_items();
  std::vector<ItemId> items = evidence.order(k);
  if (items.size() < 2) return found;
  if (evidence.wins()) {
    // Whom an item met differs from item to item, so wins alone do not say who is strong: the model's order does.
    found.likes.assign(items.begin(),
                       items.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(n <= 3 ? 1 : 3, items.size())));
    return found;
  }
  std::vector<ItemId> by_favour = items;
  std::stable_sort(by_favour.begin(), by_favour.end(),
                   [&](ItemId a, ItemId b) { return evidence.favour(k, a) > evidence.favour(k, b); });
  const double best = evidence.favour(k, by_favour[0]);
  if (best < 1.3 / static_cast<double>(items.size())) return found;  // nobody stands out
  const std::size_t most = n <= 3 ? 1 : n <= 5 ? 2 : 3;
  for (ItemId item : by_favour) {
    if (found.likes.size() == most || evidence.favour(k, item) < 0.45 * best) break;
    found.likes.push_back(item);
  }
  // The place below the others' by most, or, in a single group, the last of few.
  const double span = static_cast<double>(n - 1);
  double furthest = evidence.num_groups() > 1 ? 0.12 * span : 0.0;
  for (ItemId item : items) {
    const double below = evidence.num_groups() > 1 ? evidence.place(k, item) - evidence.place_elsewhere(k, item)
                                                   : evidence.place(k, item) - (0.7 * span + 1.0);
    if (below > furthest && std::find(found.likes.begin(), found.likes.end(), item) == found.likes.end()) {
      furthest = below;
      found.rejects = {item};
    }
  }
  return found;
}

// What two groups differ on most, as told of the first.
std::string apart(const ModelView& view, const Evidence& evidence, std::size_t k, std::size_t other,
                  const std::string& other_name) {
  double most = 0.0;
  ItemId on = 0;
  for (std::size_t i = 0; i < evidence.num_items(); ++i) {
    const auto item = static_cast<ItemId>(i);
    if (!evidence.speakable(k, item) || !evidence.speakable(other, item)) continue;
    if (const double gap = std::abs(evidence.favour(k, item) - evidence.favour(other, item)); gap > most) most = gap, on = item;
  }
  if (most < 0.02) return fmt::format(" Much like {}.", other_name);
  const char* what = evidence.wins() ? "of its battles won" : "of first places";
  return fmt::format(" Unlike {} on {}: {} {} here, {} there.", other_name, view.items[on], percent(evidence.favour(k, on)), what,
                     percent(evidence.favour(other, on)));
}

std::vector<std::string> names_of(const ModelView& view, const std::vector<ItemId>& items) {
  std::vector<std::string> names;
  for (ItemId item : items) names.push_back(view.items[item]);
  return names;
}

}  // namespace

std::vector<Description> describe_groups(const ModelView& view, const Counted* counted, const std::vector<GroupFacts>& facts,
                                         const Nouns& nouns) {
  const Evidence evidence(view, counted);
  std::vector<Description> found;
  std::map<std::pair<std::vector<ItemId>, std::vector<ItemId>>, std::vector<std::size_t>> alike;
  for (std::size_t k = 0; k < evidence.num_groups(); ++k) {
    Description one = tastes(evidence, k);
    std::vector<std::string> likes;
    for (ItemId item : one.likes) likes.push_back(favour_words(view, evidence, k, item, likes.empty()));
    one.words = likes.empty() ? fmt::format("No {} stand out", nouns.items) : list_words(likes);
    if (!one.rejects.empty()) {
      const ItemId item = one.rejects[0];
      one.words +=
          fmt::format("; {} is placed low, {:.1f} on average{}", view.items[item], evidence.place(k, item),
                      evidence.num_groups() > 1 ? fmt::format(" ({:.1f} elsewhere)", evidence.place_elsewhere(k, item)) : "");
    }
    one.words += ".";
    alike[{one.likes, one.rejects}].push_back(k);
    found.push_back(std::move(one));
  }
  // Told in the same words: each says how it differs from the next.
  for (const auto& [key, groups] : alike)
    for (std::size_t g = 0; groups.size() > 1 && g < groups.size(); ++g) {
      const std::size_t k = groups[g], other = groups[(g + 1) % groups.size()];
      found[k].words += apart(view, evidence, k, other, facts[other].name);
    }
  for (std::size_t k = 0; k < found.size(); ++k)
    if (facts[k].sure) found[k].words += fmt::format(" {} of its members belong to it clearly.", percent(*facts[k].sure));
  return found;
}

std::vector<std::string> model_sentences(const ModelView& view, const Counted* counted, const std::vector<GroupFacts>& facts,
                                         double num_rankings, const Nouns& nouns) {
  const Evidence evidence(view, counted);
  const std::size_t n = evidence.num_items(), k_all = evidence.num_groups();
  std::vector<std::string> sentences;
  if (k_all == 1) {
    if (num_rankings > 0.0) sentences.push_back(fmt::format("One model for all {} {}.", whole(num_rankings), nouns.rankings));
    const std::vector<ItemId> order = evidence.order(0);
    if (order.size() >= 3)
      sentences.push_back(
          fmt::format("{} is liked most, then {} and {}.", view.items[order[0]], view.items[order[1]], view.items[order[2]]));
    return sentences;
  }
  sentences.push_back(num_rankings > 0.0 ? fmt::format("The {} {} fall into {} groups.", whole(num_rankings), nouns.rankings, k_all)
                                         : fmt::format("The {} fall into {} groups.", nouns.voters, k_all));
  if (n < 4) return sentences;
  // What all share and what divides them most, by weight: places among the items that can be spoken of in every group.
  std::vector<std::vector<std::size_t>> place;
  std::vector<ItemId> common;
  for (std::size_t i = 0; i < n; ++i)
    if (evidence.speakable_everywhere(static_cast<ItemId>(i))) common.push_back(static_cast<ItemId>(i));
  const std::size_t m = common.size();
  if (m < 4) return sentences;
  for (std::size_t k = 0; k < k_all; ++k) {
    std::vector<ItemId> order(m);
    for (std::size_t c = 0; c < m; ++c) order[c] = static_cast<ItemId>(c);
    std::stable_sort(order.begin(), order.end(),
                     [&](ItemId a, ItemId b) { return evidence.place(k, common[a]) < evidence.place(k, common[b]); });
    place.push_back(places(order));
  }
  std::vector<ItemId> high, low;
  double widest = 0.25;
  std::optional<std::size_t> divides;
  for (std::size_t c = 0; c < m; ++c) {
    double mean = 0.0, square = 0.0;
    bool all_high = true, all_low = true;
    for (std::size_t k = 0; k < k_all; ++k) {
      const auto p = static_cast<double>(place[k][c]);
      mean += view.groups[k].weight * p;
      square += view.groups[k].weight * p * p;
      all_high = all_high && 3 * (place[k][c] - 1) < m;
      all_low = all_low && 3 * (m - place[k][c]) < m;
    }
    if (all_high) high.push_back(common[c]);
    if (all_low) low.push_back(common[c]);
    if (square - mean * mean > widest) widest = square - mean * mean, divides = c;
  }
  high.resize(std::min<std::size_t>(high.size(), 3));
  low.resize(std::min<std::size_t>(low.size(), 3));
  if (!high.empty()) sentences.push_back(fmt::format("All groups place {} high.", list_words(names_of(view, high))));
  if (!low.empty() && n <= 50) sentences.push_back(fmt::format("All groups place {} low.", list_words(names_of(view, low))));
  if (!divides) return sentences;
  std::size_t best = 0, worst = 0;
  for (std::size_t k = 1; k < k_all; ++k) {
    if (view.groups[k].weight < 0.02) continue;
    if (place[k][*divides] < place[best][*divides]) best = k;
    if (place[k][*divides] > place[worst][*divides]) worst = k;
  }
  if (best != worst)
    sentences.push_back(fmt::format("They differ most on {}: {} in {}, {} in {}.", view.items[common[*divides]],
                                    ordinal(place[best][*divides]), facts[best].name, ordinal(place[worst][*divides]),
                                    facts[worst].name));
  return sentences;
}

}  // namespace caucus::report
