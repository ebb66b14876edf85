#include "caucus/base/error.h"

#include <fmt/format.h>

namespace caucus {

std::string Diagnostic::to_string() const {
  std::string place = file;
  if (line > 0) place += fmt::format(":{}", line);
  if (line > 0 && column > 0) place += fmt::format(":{}", column);
  return place.empty() ? message : place + ": " + message;
}

namespace {
std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += diagnostic.to_string();
  }
  return text;
}
}  // namespace

DataError::DataError(const std::string& message) : Error(message), diagnostics_{Diagnostic{{}, 0, 0, message}} {}

DataError::DataError(std::vector<Diagnostic> diagnostics) : Error(join(diagnostics)), diagnostics_(std::move(diagnostics)) {}

}  // namespace caucus
