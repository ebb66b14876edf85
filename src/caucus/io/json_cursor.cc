#include "caucus/io/json_cursor.h"

#include <fmt/format.h>

#include "caucus/io/text.h"

namespace caucus {

char JsonCursor::peek() {
  while (position_ < text_.size() && (is_blank(text_[position_]) || text_[position_] == '\r' || text_[position_] == '\n'))
    ++position_;
  return position_ < text_.size() ? text_[position_] : '\0';
}

void JsonCursor::fail(std::string_view expected) {
  peek();
  if (position_ >= text_.size()) throw Failure(position_, fmt::format("found the end of the line, expected {}", expected));
  throw Failure(position_, fmt::format("found {}, expected {}", show_text(text_.substr(position_, 12)), expected));
}

void JsonCursor::expect(char c, std::string_view what) {
  if (peek() != c || position_ >= text_.size()) fail(what);
  ++position_;
}

bool JsonCursor::take(char c) {
  if (peek() != c || position_ >= text_.size()) return false;
  ++position_;
  return true;
}

bool JsonCursor::next_member(char close, bool& first) {
  if (take(close)) {
    return false;
  }
  if (!first) {
    if (!take(',')) fail(close == ']' ? "',' or ']'" : "',' or '}'");
    if (peek() == close) fail("a value after ','");
  }
  first = false;
  return true;
}

void JsonCursor::expect_end() {
  peek();
  if (position_ < text_.size()) fail("the end of the line");
}

std::string_view JsonCursor::string(std::string_view what) {
  if (peek() != '"') fail(what);
  const std::size_t begin = ++position_;
  bool plain = true;
  while (position_ < text_.size() && text_[position_] != '"') {
    if (static_cast<unsigned char>(text_[position_]) < 0x20)
      throw Failure(position_, "found a control character in a string, expected \\u");
    if (text_[position_] == '\\') {
      plain = false;
      ++position_;
    }
    ++position_;
  }
  if (position_ >= text_.size()) throw Failure(begin - 1, "found a string that is never closed");
  const std::string_view raw = text_.substr(begin, position_ - begin);
  ++position_;
  if (plain) return raw;
  unescape(raw, begin);
  return scratch_;
}

void JsonCursor::unescape(std::string_view raw, std::size_t begin) {
  scratch_.clear();
  const auto hex = [&](std::size_t at) {
    std::uint32_t code = 0;
    if (at + 4 > raw.size()) throw Failure(begin + at, "found a short \\u escape, expected four hexadecimal digits");
    for (const char c : raw.substr(at, 4)) {
      const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) throw Failure(begin + at, "found a wrong \\u escape, expected four hexadecimal digits");
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return code;
  };
  const auto put = [&](std::uint32_t code) {
    const auto tail = [&](int shift) { scratch_ += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
      scratch_ += static_cast<char>(code);
    } else if (code < 0x800) {
      scratch_ += static_cast<char>(0xC0 | code >> 6);
      tail(0);
    } else if (code < 0x10000) {
      scratch_ += static_cast<char>(0xE0 | code >> 12);
      tail(6);
      tail(0);
    } else {
      scratch_ += static_cast<char>(0xF0 | code >> 18);
      tail(12);
      tail(6);
      tail(0);
    }
  };
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      scratch_ += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case '"':
        scratch_ += '"';
        break;
      case '\\':
        scratch_ += '\\';
        break;
      case '/':
        scratch_ += '/';
        break;
      case 'b':
        scratch_ += '\b';
        break;
      case 'f':
        scratch_ += '\f';
        break;
      case 'n':
        scratch_ += '\n';
        break;
      case 'r':
        scratch_ += '\r';
        break;
      case 't':
        scratch_ += '\t';
        break;
      case 'u': {
        std::uint32_t code = hex(i + 1);
        i += 4;
        if (code >= 0xD800 && code < 0xDC00 && raw.substr(i + 1, 2) == "\\u") {
          const std::uint32_t low = hex(i + 3);
          if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            i += 6;
          }
        }
        // Half of a pair stands for no character.
        put(code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
        break;
      }
      default:
        throw Failure(begin + i - 1, "found an unknown escape in a string");
    }
  }
}

double JsonCursor::number(std::string_view what) {
  const char first = peek();
  if (!is_digit(first) && first != '-') fail(what);
  const std::size_t begin = position_;
  while (position_ < text_.size() &&
         (is_digit(text_[position_]) || std::string_view("+-.eE").find(text_[position_]) != std::string_view::npos))
    ++position_;
  const auto value = parse_number(text_.substr(begin, position_ - begin));
  if (!value) {
    position_ = begin;
    fail(what);
  }
  return *value;
}

bool JsonCursor::take_word(std::string_view word) {
  peek();
  if (text_.substr(position_, word.size()) != word) return false;
  position_ += word.size();
  return true;
}

void JsonCursor::skip() {
  // No recursion: the open brackets are kept in a string, so depth costs a byte and never the stack.
  std::string open;
  do {
    const char c = peek();
    if (c == '{' || c == '[') {
      ++position_;
      open += c == '{' ? '}' : ']';
      if (peek() != open.back()) {
        if (c == '{') {
          string("a key");
          expect(':', "':'");
        }
        continue;
      }
    } else if (c == '"') {
      string("a string");
    } else if (!take_word("null") && !take_word("true") && !take_word("false")) {
      number("a value");
    }
    while (!open.empty() && take(open.back())) open.pop_back();
    if (open.empty()) break;
    expect(',', open.back() == ']' ? "',' or ']'" : "',' or '}'");
    if (open.back() == '}') {
      string("a key");
      expect(':', "':'");
    }
  } while (true);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        else
          out += c;
    }
  }
  out += '"';
}

}  // namespace caucus
