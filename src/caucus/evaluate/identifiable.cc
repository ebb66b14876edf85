#include "caucus/evaluate/identifiable.h"

#include <algorithm>

namespace caucus {

namespace {

// Choices made on a ballot: each but the last item of the field is chosen from those that are left.
std::size_t num_choices(const Dataset& data, std::size_t length) {
  const std::size_t field = data.unranked == Unranked::last ? data.num_items() : length;
  return std::min(length, field > 0 ? field - 1 : 0);
}

}  // namespace

std::optional<std::string> why_no_groups(const Dataset& data) {
  std::size_t most = 0, longest = 0;
  // What one voter says in several rankings says two things as well.
  for (std::size_t v = 0; data.voters.share() && v < data.voters.size() && most < 2; ++v) {
    const Incidence& cast = data.voters.rankings;
    std::size_t choices = 0;
    for (std::size_t j = cast.begin[v]; j < cast.begin[v + 1]; ++j)
      choices += cast.count(j) * num_choices(data, data.rankings.length(cast.other[j]));
    most = std::max(most, choices);
  }
  for (std::size_t i = 0; i < data.rankings.size() && most < 2; ++i) {
    most = std::max(most, num_choices(data, data.rankings.length(i)));
    longest = std::max(longest, data.rankings.length(i));
  }
  if (most >= 2 || data.rankings.empty()) return std::nullopt;
  const std::string what = data.num_items() <= 2 ? "There are only two items"
                           : longest <= 1        ? "Every ballot lists one item only"
                                                 : "Every ballot is a single comparison of two items";
  return what +
         ". Such data cannot tell groups of voters from one another: quite different groups explain them equally well. One group "
         "(-k "
         "1) says all that can be learned.";
}

}  // namespace caucus
