#include "caucus/io/order_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "caucus/base/error.h"
#include "caucus/io/items.h"
#include "caucus/io/nobody.h"
#include "caucus/io/text.h"

namespace caucus {

double take_count(std::string_view& order) {
  std::size_t end = 0;
  while (end < order.size() && (is_digit(order[end]) || order[end] == '.')) ++end;
  const std::string_view number = order.substr(0, end);
  while (end < order.size() && is_blank(order[end])) ++end;
  if (number.empty() || end >= order.size() || (order[end] != ':' && order[end] != '*')) return 1.0;
  const auto count = parse_number(number);
  if (!count || *count > max_weight) return 1.0;
  order.remove_prefix(end + 1);
  return *count;
}

namespace {

// The item a person means: its name, in any case, or the only one that begins so.
ItemId item_meant(std::string_view name, std::span<const std::string> items) {
  const auto only = [&](auto&& fits) {
    ItemId found = ItemIndex::none;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!fits(items[i])) continue;
      if (found != ItemIndex::none) return ItemIndex::none;
      found = static_cast<ItemId>(i);
    }
    return found;
  };
  if (const ItemId same = only([&](const std::string& item) { return item == name; }); same != ItemIndex::none) return same;
  if (const ItemId alike = only([&](const std::string& item) { return equal_ignoring_case(item, name); }); alike != ItemIndex::none)
    return alike;
  const ItemId begun = only([&](const std::string& item) {
    return item.size() >= name.size() && equal_ignoring_case(std::string_view(item).substr(0, name.size()), name);
  });
  if (begun != ItemIndex::none) return begun;
  throw DataError(fmt::format("--ballot: {} is none of the items; there are: {}", show_text(name), fmt::join(items, ", ")));
}

}  // namespace

Dataset ballots_of(std::span<const std::string> orders, std::span<const std::string> items, Unranked unranked) {
  BallotRows rows;
  for (const std::string& text : orders) {
    std::string_view order = text;
    const bool is_item = std::ranges::find(items, text) != items.end();
    const double weight = is_item ? 1.0 : take_count(order);
    rows.begin();
    const auto push = [&](std::string_view name) {
      if (names_nobody(name)) return;
      const ItemId item = item_meant(name, items);
      if (!rows.push(item)) throw DataError(fmt::format("--ballot: {} stands there twice", show_text(items[item])));
    };
    if (!has_order_mark(order) && !is_item && order.find('=') == std::string_view::npos) {
      for (const std::string& name : split_list(order)) {
        push(name);
        rows.end_group();
      }
    } else if (is_item) {
      push(text);
    } else {
      for_each_in_order(order, [&](std::string_view name, bool ends) {
        push(name);
        if (ends) rows.end_group();
      });
    }
    rows.finish(weight);
  }
  Dataset data;
  data.items.assign(items.begin(), items.end());
  rows.build(data);
  data.unranked = unranked;
  data.source = "--ballot";
  if (data.rankings.empty()) throw DataError("--ballot: names no item; expected one such as \"A>B>C\"");
  return data;
}

}  // namespace caucus
