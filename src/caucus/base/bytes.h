// Values as raw bytes and back, for checkpoints and for messages between processes: for the kind of machine that wrote them.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace caucus {

// T is S, const or not: a struct names its parts once for both ways,
//   auto parts(IsA<Draw> auto& draw) { return std::tie(draw.chain, draw.alpha); }
template <class T, class S>
concept IsA = std::same_as<std::remove_const_t<T>, S>;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// What Saver and Loader take of structs: numbers, vectors, and what names its parts.
template <class T>
concept Packable = Number<T> || requires(T& value) { parts(value); } ||
                   (std::same_as<T, std::vector<typename T::value_type>> && Number<typename T::value_type>);

// Numbers, texts, vectors of them and of structs with parts(); a span is an array whose size the reader knows.
class Saver {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void raw(const void* from, std::size_t size) { bytes_.append(static_cast<const char*>(from), size); }
  template <Number T>
  void put(const T& value) {
    raw(&value, sizeof value);
  }
  template <class T>
  void put(std::span<T> values) {
    put(std::uint64_t{values.size()});
    if (!values.empty()) raw(values.data(), values.size_bytes());
  }
  void put(const std::string& text) { put(std::span(text)); }
  template <class T>
  void put(const std::vector<T>& values) {
    if constexpr (Number<T>) {
      put(std::span(values));
    } else {
      put(std::uint64_t{values.size()});
      for (const T& value : values) put(value);
    }
  }
  template <class T>
    requires requires(const T& value) { parts(value); }
  void put(const T& value) {
    std::apply(*this, parts(value));
  }

  std::string bytes_;
};

// A state that does not fit its reader.
struct BadState {};

// Reads what a Saver wrote, in the same order. Throws BadState where there is not enough, or an array has another size.
class Loader {
 public:
  explicit Loader(std::string bytes) : bytes_(std::move(bytes)) {}

  template <class... T>
  void operator()(T&&... values) {
    (get(values), ...);
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  void raw(void* to, std::size_t size);
  // The number of elements that follow; each takes at least `least` bytes.
  std::size_t count(std::size_t least);
  [[noreturn]] static void fail();

  template <Number T>
  void get(T& value) {
    raw(&value, sizeof value);
  }
  template <class T>
  void get(std::span<T> values) {
    if (count(sizeof(T)) != values.size()) fail();
    if (!values.empty()) raw(values.data(), values.size_bytes());
  }
  void get(std::string& text) {
    text.resize(count(1));
    raw(text.data(), text.size());
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(count(Number<T> ? sizeof(T) : 1));
    if constexpr (Number<T>) {
      raw(values.data(), values.size() * sizeof(T));
    } else {
      for (T& value : values) get(value);
    }
  }
  template <class T>
    requires requires(T& value) { parts(value); }
  void get(T& value) {
    std::apply([this](auto&... one) { (this->get(one), ...); }, parts(value));
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace caucus
