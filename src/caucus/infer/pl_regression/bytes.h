// Numbers as raw bytes in a checkpoint: the same bits come back.
#pragma once

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "caucus/base/error.h"

namespace caucus::pl_regression {

template <class T>
nlohmann::json to_bytes(std::span<T> values) {
  std::vector<std::uint8_t> bytes(values.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return nlohmann::json::binary(std::move(bytes));
}

template <class T>
void from_bytes(const nlohmann::json& json, std::span<T> values) {
  const auto& bytes = json.get_binary();
  if (bytes.size() != values.size_bytes()) throw DataError("checkpoint: an array has the wrong size");
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

template <class T>
std::vector<T> vector_from_bytes(const nlohmann::json& json) {
  std::vector<T> values(json.get_binary().size() / sizeof(T));
  from_bytes(json, std::span(values));
  return values;
}

}  // namespace caucus::pl_regression
