#include "caucus/result/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/result/record_json.h"

namespace caucus {

namespace {

using Json = nlohmann::json;

template <class T>
Record& assign(Record& record, std::string_view key, T&& value) {
  record.node().json[std::string(key)] = std::forward<T>(value);
  return record;
}

const Json& json_of(const void* json) { return *static_cast<const Json*>(json); }

const Json* find(const void* json, std::string_view key) {
  const Json& object = json_of(json);
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

// No number of a model is larger: sums and products of them stay finite, and loops over them end.
constexpr double largest_number = 1e15;

bool is_finite_number(const Json& value) { return value.is_number() && std::abs(value.get<double>()) <= largest_number; }

bool is_position(const Json& value, std::size_t size) {
  return value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::uint64_t>() < size;
}

}  // namespace

Record::Record() : node_(std::make_unique<Node>()) {}
Record::Record(const Record& other) : node_(std::make_unique<Node>(*other.node_)) {}
Record::Record(Record&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
Record& Record::operator=(Record other) noexcept {
  std::swap(node_, other.node_);
  return *this;
}
Record::~Record() = default;

Record& Record::set(std::string_view key, bool value) { return assign(*this, key, value); }
Record& Record::set(std::string_view key, double value) { return assign(*this, key, value); }
Record& Record::set(std::string_view key, std::string_view value) { return assign(*this, key, std::string(value)); }
Record& Record::set_signed(std::string_view key, std::int64_t value) { return assign(*this, key, value); }
Record& Record::set_unsigned(std::string_view key, std::uint64_t value) { return assign(*this, key, value); }
Record& Record::set(std::string_view key, const std::vector<double>& values) { return assign(*this, key, values); }
Record& Record::set(std::string_view key, const std::vector<ItemId>& values) { return assign(*this, key, values); }
Record& Record::set(std::string_view key, const std::vector<std::int32_t>& values) { return assign(*this, key, values); }
Record& Record::set(std::string_view key, const std::vector<std::size_t>& values) { return assign(*this, key, values); }
Record& Record::set(std::string_view key, const std::vector<std::string>& values) { return assign(*this, key, values); }
Record& Record::set(std::string_view key, const std::vector<std::vector<double>>& rows) { return assign(*this, key, rows); }
Record& Record::set(std::string_view key, const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  Json list = Json::array();
  for (const auto& [a, b] : pairs) list.push_back({a, b});
  return assign(*this, key, std::move(list));
}
Record& Record::set(std::string_view key, const Record& value) { return assign(*this, key, value.node_->json); }
Record& Record::set(std::string_view key, const std::vector<Record>& values) {
  Json list = Json::array();
  for (const Record& value : values) list.push_back(value.node_->json);
  return assign(*this, key, std::move(list));
}
Record& Record::set(std::string_view key, const RankingSet& rankings) {
  Json::array_t list(rankings.size());
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    Json::array_t groups;
    groups.reserve(rankings[i].size());
    rankings[i].for_each_group([&](std::span<const ItemId> group) {
      if (group.size() == 1)
        groups.emplace_back(group[0]);
      else
        groups.emplace_back(std::vector<ItemId>(group.begin(), group.end()));
    });
    list[i] = std::move(groups);
  }
  return assign(*this, key, std::move(list));
}

bool Record::empty() const { return node_->json.empty(); }
bool Record::operator==(const Record& other) const { return node_->json == other.node_->json; }
std::string Record::text() const { return node_->json.dump(-1, ' ', false, Json::error_handler_t::replace); }
RecordView Record::view() const { return RecordView(&node_->json, ""); }

RecordView view_of(const void* json, std::string where) { return RecordView(json, std::move(where)); }
RecordView view_of(const nlohmann::json& json, std::string where) {
  return view_of(static_cast<const void*>(&json), std::move(where));
}

bool RecordView::has(std::string_view key) const { return find(json_, key) != nullptr; }

void RecordView::fail(std::string_view key, std::string_view expected) const {
  throw DataError(fmt::format("model file: {}{}{}: expected {}", where_, where_.empty() ? "" : ".", key, expected));
}

double RecordView::number(std::string_view key) const {
  const Json* found = find(json_, key);
  if (found == nullptr || !found->is_number()) fail(key, "a number");
  if (!is_finite_number(*found)) fail(key, "a finite number of at most 1e15");
  return found->get<double>();
}

double RecordView::positive(std::string_view key, double most) const {
  const Json* found = find(json_, key);
  if (found == nullptr || !found->is_number()) fail(key, "a number");
  const double value = found->get<double>();
  if (!(value > 0.0)) fail(key, "a positive number");
  if (!(value <= most)) fail(key, fmt::format("a number of at most {:.3g}", most));
  return value;
}

std::optional<double> RecordView::maybe_number(std::string_view key) const {
  const Json* found = find(json_, key);
  return found == nullptr || found->is_null() ? std::nullopt : std::optional(number(key));
}

double RecordView::non_negative(std::string_view key) const {
  const double value = number(key);
  if (value < 0.0) fail(key, "a number not below zero");
  return value;
}

bool RecordView::flag(std::string_view key, bool fallback) const {
  const Json* found = find(json_, key);
  return found != nullptr && found->is_boolean() ? found->get<bool>() : fallback;
}

std::string RecordView::text(std::string_view key) const {
  const Json* found = find(json_, key);
  if (found == nullptr || !found->is_string()) fail(key, "a text");
  return found->get<std::string>();
}

std::vector<double> RecordView::numbers(std::string_view key, std::size_t size) const {
  const Json* found = find(json_, key);
  if (found == nullptr || !found->is_array() || found->size() != size || !std::ranges::all_of(*found, is_finite_number))
    fail(key, fmt::format("a list of {} finite numbers of at most 1e15", size));
  return found->get<std::vector<double>>();
}

std::vector<double> RecordView::non_negatives(std::string_view key, std::size_t least, std::size_t most) const {
  if (size(key) > most) fail(key, fmt::format("at most {} numbers, one per stage", most));
  std::vector<double> values = numbers(key, std::max(least, size(key)));
  for (const double value : values)
    if (value < 0.0) fail(key, "numbers not below zero");
  return values;
}

std::vector<std::vector<double>> RecordView::matrix(std::string_view key, std::size_t rows, std::size_t columns) const {
  const Json* found = find(json_, key);
  const auto expected = [&] { return fmt::format("{} lists of {} numbers", rows, columns); };
  if (found == nullptr || !found->is_array() || found->size() != rows) fail(key, expected());
  std::vector<std::vector<double>> result;
  for (const Json& row : *found) {
    if (!row.is_array() || row.size() != columns) fail(key, expected());
    result.emplace_back();
    for (const Json& value : row) {
      if (!value.is_number() && !value.is_null()) fail(key, expected());
      result.back().push_back(value.is_number() ? value.get<double>() : infinity);
    }
  }
  return result;
}

std::vector<ItemId> RecordView::permutation(std::string_view key, std::size_t size) const {
  const Json* found = find(json_, key);
  const auto expected = [&] { return fmt::format("each of 0..{} once", size - 1); };
  if (found == nullptr || !found->is_array() || found->size() != size) fail(key, expected());
  std::vector<bool> seen(size, false);
  std::vector<ItemId> result;
  for (const Json& value : *found) {
    if (!is_position(value, size) || seen[value.get<std::size_t>()]) fail(key, expected());
    result.push_back(value.get<ItemId>());
    seen[result.back()] = true;
  }
  return result;
}

std::vector<ItemId> RecordView::items(std::string_view key, std::size_t num_items) const {
  const Json* found = find(json_, key);
  if (found == nullptr || !found->is_array() ||
      !std::ranges::all_of(*found, [&](const Json& value) { return is_position(value, num_items); }))
    fail(key, "item positions");
  return found->get<std::vector<ItemId>>();
}

std::vector<std::string> RecordView::texts(std::string_view key) const {
  const Json* found = find(json_, key);
  if (found == nullptr || !found->is_array() || !std::ranges::all_of(*found, [](const Json& value) { return value.is_string(); }))
    fail(key, "a list of texts");
  return found->get<std::vector<std::string>>();
}

std::vector<std::string> RecordView::keys() const {
  std::vector<std::string> result;
  if (const Json& json = json_of(json_); json.is_object())
    for (const auto& [key, value] : json.items()) result.push_back(key);
  return result;
}

RecordView RecordView::object(std::string_view key) const {
  const Json* found = find(json_, key);
  if (found == nullptr || !found->is_object()) fail(key, "an object");
  return {found, fmt::format("{}{}{}", where_, where_.empty() ? "" : ".", key)};
}

std::vector<RecordView> RecordView::objects(std::string_view key) const {
  std::vector<RecordView> result;
  const Json* found = find(json_, key);
  if (found == nullptr) return result;
  if (!found->is_array()) fail(key, "a list of objects");
  for (std::size_t k = 0; k < found->size(); ++k) {
    const std::string place = fmt::format("{}[{}]", key, k);
    if (!(*found)[k].is_object()) fail(place, "an object");
    result.push_back({&(*found)[k], fmt::format("{}{}{}", where_, where_.empty() ? "" : ".", place)});
  }
  return result;
}

RankingSet RecordView::rankings(std::string_view key, std::span<const double> counts, std::size_t num_items) const {
  const Json* found = find(json_, key);
  const std::string expected = "lists of item positions, each at most once, with positive counts";
  if (found == nullptr || !found->is_array() || found->empty() || found->size() != counts.size()) fail(key, expected);
  RankingSetBuilder builder;
  std::vector<bool> seen;
  for (std::size_t i = 0; i < found->size(); ++i) {
    std::vector<std::vector<ItemId>> groups;
    seen.assign(num_items, false);
    const auto add = [&](const Json& item) {
      if (!is_position(item, num_items) || seen[item.get<std::size_t>()]) fail(key, expected);
      groups.back().push_back(item.get<ItemId>());
      seen[groups.back().back()] = true;
    };
    for (const Json& group : (*found)[i]) {
      groups.emplace_back();
      if (group.is_array())
        for (const Json& item : group) add(item);
      else
        add(group);
      if (groups.back().empty()) fail(key, expected);
    }
    if (groups.empty() || !(counts[i] > 0.0)) fail(key, expected);
    builder.add_groups(groups, counts[i]);
  }
  return builder.build();
}

std::size_t RecordView::size(std::string_view key) const {
  const Json* found = find(json_, key);
  return found != nullptr && found->is_array() ? found->size() : 0;
}

}  // namespace caucus
