// Collects what is wrong with a text, and throws once: up to 20 places.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "caucus/base/error.h"

namespace caucus {

class Diagnostics {
 public:
  static constexpr std::size_t limit = 20;

  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  // Throws DataError when the limit is reached: a file that is wrong throughout need not be read to its end.
  void add(std::size_t line, std::size_t column, std::string message) {
    found_.push_back({file_, line, column, std::move(message)});
    if (found_.size() >= limit) throw DataError(std::move(found_));
  }
  bool empty() const { return found_.empty(); }
  std::size_t size() const { return found_.size(); }
  void throw_if_any() {
    if (!found_.empty()) throw DataError(std::move(found_));
  }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<Diagnostic> found_;
};

}  // namespace caucus
