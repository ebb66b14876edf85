// A pull reader for one line of JSON (RFC 8259).
//
// Written by hand because every value's column must be known for messages, and because ballots are read at hundreds of
// megabytes per second without building a tree.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace caucus {

class JsonCursor {
 public:
  // Thrown for text that is not JSON or not of the expected shape; at() is the byte in the line, from 0.
  class Failure {
   public:
    Failure(std::size_t at, std::string message) : at_(at), message_(std::move(message)) {}
    std::size_t at() const { return at_; }
    const std::string& message() const { return message_; }

   private:
    std::size_t at_;
    std::string message_;
  };

  explicit JsonCursor(std::string_view line) : text_(line) {}

  // The next byte that is no blank; 0 at the end.
  char peek();
  std::size_t position() const { return position_; }

  void expect(char c, std::string_view what);  // takes the byte or fails: "found x, expected what"
  bool take(char c);                           // takes the byte if it is next
  // After '[' or '{' of an opened collection: false at its end, which is taken; true where a member follows. Takes the commas.
  bool next_member(char close, bool& first);
  void expect_end();

  // A string without its escapes. Valid until the next string is read.
  std::string_view string(std::string_view what);
  double number(std::string_view what);
  bool take_word(std::string_view word);  // null, true, false
  void skip();                            // any value
  [[noreturn]] void fail(std::string_view expected);
  [[noreturn]] static void fail_at(std::size_t position, std::string message) { throw Failure(position, std::move(message)); }

 private:
  void unescape(std::string_view raw, std::size_t begin);

  std::string_view text_;
  std::size_t position_ = 0;
  std::string scratch_;
};

// The text as a JSON string in quotes. `text` must be UTF-8.
void append_json_string(std::string& out, std::string_view text);

}  // namespace caucus
