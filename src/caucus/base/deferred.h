// A value worked out when it is first asked for, and once, whichever thread asks.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace caucus {

template <class Value>
class Deferred {
 public:
  // make() must not hand work to other threads: who waits for it may hold what they need.
  explicit Deferred(std::function<Value()> make) : make_(std::move(make)) {}

  const Value& get() {
    std::call_once(made_, [this] {
      value_.emplace(make_());
      make_ = nullptr;
    });
    return *value_;
  }

 private:
  std::function<Value()> make_;
  std::once_flag made_;
  std::optional<Value> value_;
};

}  // namespace caucus
