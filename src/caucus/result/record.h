// One object of a model file, key by key, for what only a family itself understands (the prior of its weights, its draws). Records
// hide the format of the file: no family's header knows it. What readers outside a family want is typed: group.h, fit_summary.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus {

class RecordView;

// Written by families. Setting a key again replaces its value; numbers that are not finite are written as null.
class Record {
 public:
  Record();
  Record(const Record& other);
  Record(Record&& other) noexcept;
  Record& operator=(Record other) noexcept;
  ~Record();

  Record& set(std::string_view key, bool value);
  Record& set(std::string_view key, double value);
  Record& set(std::string_view key, std::string_view value);
  Record& set(std::string_view key, const char* value) { return set(key, std::string_view(value)); }
  Record& set(std::string_view key, const std::string& value) { return set(key, std::string_view(value)); }
  template <std::signed_integral T>
  Record& set(std::string_view key, T value) {
    return set_signed(key, static_cast<std::int64_t>(value));
  }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Record& set(std::string_view key, T value) {
    return set_unsigned(key, static_cast<std::uint64_t>(value));
  }
  Record& set(std::string_view key, const std::vector<double>& values);
  Record& set(std::string_view key, const std::vector<ItemId>& values);
  Record& set(std::string_view key, const std::vector<std::int32_t>& values);
  Record& set(std::string_view key, const std::vector<std::size_t>& values);
  Record& set(std::string_view key, const std::vector<std::string>& values);
  Record& set(std::string_view key, const std::vector<std::vector<double>>& rows);
  Record& set(std::string_view key, const std::vector<std::pair<std::size_t, std::size_t>>& pairs);
  Record& set(std::string_view key, const Record& value);
  Record& set(std::string_view key, const std::vector<Record>& values);
  // Rankings: a group of one is a number, a tie a list.
  Record& set(std::string_view key, const RankingSet& rankings);

  bool empty() const;
  bool operator==(const Record& other) const;
  std::string text() const;  // as it stands in a file
  RecordView view() const;   // while this lives and is not changed

  struct Node;  // its content: record_json.h
  Node& node() { return *node_; }
  const Node& node() const { return *node_; }

 private:
  Record& set_signed(std::string_view key, std::int64_t value);
  Record& set_unsigned(std::string_view key, std::uint64_t value);

  std::unique_ptr<Node> node_;
};

// Read by families. Every error names the place: "model file: components[1].weight: expected a number". Does not own what it shows.
class RecordView {
 public:
  bool has(std::string_view key) const;
  // Throws DataError: this key should have been `expected`.
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

  double number(std::string_view key) const;  // finite
  double number(std::string_view key, double fallback) const { return has(key) ? number(key) : fallback; }
  std::optional<double> maybe_number(std::string_view key) const;  // none: no such key, or null
  double non_negative(std::string_view key) const;
  double positive(std::string_view key, double most) const;  // with a bound of its own
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key) const;
  std::string text(std::string_view key, std::string fallback) const { return has(key) ? text(key) : std::move(fallback); }
  std::vector<double> numbers(std::string_view key, std::size_t size) const;  // `size` finite ones
  // From `least` to `most` numbers not below zero, one per stage.
  std::vector<double> non_negatives(std::string_view key, std::size_t least, std::size_t most) const;
  // `rows` lists of `columns` numbers each; null is infinity.
  std::vector<std::vector<double>> matrix(std::string_view key, std::size_t rows, std::size_t columns) const;
  std::vector<ItemId> permutation(std::string_view key, std::size_t size) const;  // each of 0..size-1 once
  std::vector<ItemId> items(std::string_view key, std::size_t num_items) const;   // positions below num_items
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<std::string> keys() const;
  RecordView object(std::string_view key) const;
  std::vector<RecordView> objects(std::string_view key) const;  // a list of objects; none where there is no such key
  // Rankings as Record::set writes them, with counts.
  RankingSet rankings(std::string_view key, std::span<const double> counts, std::size_t num_items) const;
  std::size_t size(std::string_view key) const;  // of a list; 0 where there is none

 private:
  friend class Record;
  friend RecordView view_of(const void* json, std::string where);
  RecordView(const void* json, std::string where) : json_(json), where_(std::move(where)) {}
  const void* json_;   // of the type that record_json.h names
  std::string where_;  // for messages
};

}  // namespace caucus
