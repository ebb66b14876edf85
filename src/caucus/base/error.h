// Errors of bad input. Everything else (not converging, being stopped) is a result, not an error, if there is any result.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace caucus {

// One place in a text and what is wrong there. Line and column count from 1; 0 means "not known".
struct Diagnostic {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
  std::string message;  // what was found, what was expected

  std::string to_string() const;  // "votes.soi:17:9: item 12 appears twice in one ranking"
};

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An option, an argument or a combination of them is wrong.
class UsageError : public Error {
 public:
  using Error::Error;
};

// The data are wrong, or of a kind the chosen family does not take.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message);
  explicit DataError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// Stopped before there was anything to give back. Most things that are stopped give what they have.
class UnfinishedError : public Error {
 public:
  using Error::Error;
};

// A file to read is not there or may not be read.
class NoInputError : public Error {
 public:
  using Error::Error;
};

// Reading or writing broke off.
class IoError : public Error {
 public:
  using Error::Error;
};

}  // namespace caucus
