// Comma-separated text, record by record: RFC 4180 quotes, LF or CRLF, ragged rows, blank lines skipped.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caucus {

struct CsvCell {
  std::string_view text;   // unquoted cells lose blanks at their ends; quoted ones are as written
  std::size_t column = 0;  // byte in the line, from 1
  bool quoted = false;
};

class CsvReader {
 public:
  // Cells point into `text`, or into the reader where a doubled quote had to be undone: both must outlive them.
  CsvReader(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}
  // The lines of [begin, end) alone, which begin and end with a line; line() counts from there.
  CsvReader(std::string_view text, char delimiter, std::size_t begin, std::size_t end)
      : text_(text.substr(0, end)), delimiter_(delimiter), position_(begin) {}

  bool next();                                                       // false at the end
  std::string_view rest() const { return text_.substr(position_); }  // behind the last record
  // Past a line that stands there, unread.
  void skip_line(std::size_t size) {
    position_ += size + 1;
    ++next_line_;
  }
  std::span<const CsvCell> cells() const { return cells_; }
  std::size_t line() const { return line_; }           // of the record's first byte, from 1
  bool unterminated() const { return unterminated_; }  // the record's last quote is never closed
  std::size_t position() const { return position_; }   // bytes read

 private:
  void quoted_cell(std::size_t line_begin);

  std::string_view text_;
  char delimiter_;
  std::size_t position_ = 0;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  bool unterminated_ = false;
  std::vector<CsvCell> cells_;
  std::deque<std::string> unescaped_;
};

// The delimiter of a header line: the most frequent of comma, semicolon and tab outside quotes; comma when none occurs.
char guess_delimiter(std::string_view text);

// The cell as CSV wants it: in quotes where it holds the delimiter, a quote, a line break, or blanks at an end.
void append_csv_cell(std::string& out, std::string_view text, char delimiter);
std::string csv_cell(std::string_view text);  // the same alone, for commas

}  // namespace caucus
