#include "console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "caucus/base/error.h"
#include "caucus/result/model_json.h"

namespace caucus::cli {

namespace {

volatile std::sig_atomic_t interrupt_requested = 0;

void on_interrupt(int signal) {
  interrupt_requested = 1;
  std::signal(signal, SIG_DFL);  // the next one kills
}

bool wants_color(bool no_color, int descriptor) {
  if (no_color || std::getenv("NO_COLOR") != nullptr || isatty(descriptor) == 0) return false;
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb";
}

void write_all(std::FILE* stream, std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() || std::fflush(stream) != 0)
    if (stream == stdout) throw IoError("standard output: could not write");
}

// Decodes one code point; malformed bytes stand for themselves.
char32_t next_code_point(std::string_view text, std::size_t& i) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(i);
  const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 1;
  if (i + length > text.size() || length == 1) return ++i, first;
  char32_t code = first & (0xFFu >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) code = code << 6 | (byte(i + k) & 0x3Fu);
  i += length;
  return code;
}

std::size_t code_point_width(char32_t code) {
  if (code >= 0x300 && code <= 0x36F) return 0;  // combining marks
  const bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                    (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                    (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                    (code >= 0x1F300 && code <= 0x1FAFF);
  return wide ? 2 : 1;
}

}  // namespace

bool Context::color_stdout() const { return wants_color(no_color, STDOUT_FILENO); }
bool Context::color_stderr() const { return wants_color(no_color, STDERR_FILENO); }

Style::Style(bool on) {
  if (!on) return;
  bold = "\033[1m", dim = "\033[2m", warn = "\033[33m", bad = "\033[31m", bar = "\033[36m", reset = "\033[0m";
}

void print(std::string_view text) { write_all(stdout, text); }
void print_json(const nlohmann::ordered_json& json) {
  print(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}
nlohmann::ordered_json json_count(double count) { return nlohmann::ordered_json(model_json::count(count)); }
std::string count_text(double count) {
  const double nearest = std::round(count);
  return std::abs(count - nearest) <= 1e-9 * std::max(1.0, nearest) ? fmt::format("{:.0f}", nearest) : fmt::format("{:.6g}", count);
}
void note(const Context& context, std::string_view text) {
  if (!context.quiet) write_all(stderr, fmt::format("{}\n", text));
}
void note_written(const Context& context, std::string_view what, const std::string& path) {
  if (!path.empty() && path != "-") note(context, fmt::format("{} written to {}", what, path));
}
void warning(const Context& context, std::string_view text) {
  if (context.quiet || !context.warned.emplace(text).second) return;
  const Style style(context.color_stderr());
  write_all(stderr, fmt::format("{}warning:{} {}\n", style.warn, style.reset, printable(text)));
}
void error(const Context& context, std::string_view text) {
  const Style style(context.color_stderr());
  std::string safe;
  for (std::size_t begin = 0; begin <= text.size();) {  // several diagnostics, one a line
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    safe += fmt::format("{}caucus:{} {}\n", style.bad, style.reset, printable(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  write_all(stderr, safe);
}

bool wants_text(const Context& context, std::initializer_list<std::string> paths) {
  std::size_t written = 0, on_stdout = 0;
  for (const std::string& path : paths) written += path.empty() ? 0 : 1, on_stdout += path == "-" ? 1 : 0;
  if (on_stdout + (context.json ? 1 : 0) > 1)
    throw UsageError(context.json ? "--json and a file called - would both fill standard output: name a file, or leave --json out"
                                  : "two results would be mixed on standard output: name a file for one of them");
  return !context.json && on_stdout == 0 && !(context.quiet && written > 0);
}

InterruptGuard::InterruptGuard() {
  interrupt_requested = 0;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}
InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}
bool InterruptGuard::requested() { return interrupt_requested != 0; }

ProgressObserver::ProgressObserver(const Context& context)
    : context_(context), terminal_(isatty(STDERR_FILENO) != 0), started_(std::chrono::steady_clock::now()), last_(started_) {
  const char* descriptor = std::getenv("CAUCUS_PROGRESS_FD");
  if (descriptor == nullptr || std::strtol(descriptor, nullptr, 10) <= STDERR_FILENO) return;
  listener_ = static_cast<int>(std::strtol(descriptor, nullptr, 10));
  std::signal(SIGPIPE, SIG_IGN);  // a listener that went away does not end the fit
}

ProgressObserver::~ProgressObserver() { clear(); }

void ProgressObserver::clear() {
  if (shown_) std::fputs("\r\033[K", stderr), std::fflush(stderr);
  shown_ = false;
}

Flow ProgressObserver::progress(const Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  const double since = std::chrono::duration<double>(now - last_).count();
  if (listener_ >= 0) {
    if (since > 0.1) tell(progress, std::chrono::duration<double>(now - started_).count()), last_ = now;
    // The first half second is silent: most fits are over by then.
  } else if (!context_.quiet && since > (terminal_ ? (shown_ ? 0.1 : 0.5) : 5.0)) {
    last_ = now;
    const double elapsed = std::chrono::duration<double>(now - started_).count();
    if (terminal_) {
      const Style style(context_.color_stderr());
      std::string bar;
      if (progress.limit > 0) {
        constexpr int width = 24;
        const int filled = std::min(width, static_cast<int>(static_cast<double>(width) * progress.iteration / progress.limit));
        for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "·";
        bar += fmt::format(" {}/{}", progress.iteration, progress.limit);
      } else {
        bar = fmt::format("step {}", progress.iteration);
      }
      // Without line wrap: a line longer than the terminal is cut, not written below itself again and again.
      fmt::print(stderr, "\r\033[K\033[?7l{}{}{} {:.1f} s  {}{}  {}(Ctrl-C keeps the best so far){}\033[?7h", style.bar, bar,
                 style.reset, elapsed, progress.phase,
                 std::isfinite(progress.objective) ? fmt::format("  objective {:.6g}", progress.objective) : "", style.dim,
                 style.reset);
    } else {
      fmt::print(stderr, "{}: step {}{}{}, {:.0f} s\n", progress.phase, progress.iteration,
                 progress.limit > 0 ? fmt::format(" of {}", progress.limit) : "",
                 std::isfinite(progress.objective) ? fmt::format(", objective {:.10g}", progress.objective) : "", elapsed);
    }
    std::fflush(stderr);
    shown_ = terminal_;
  }
  return InterruptGuard::requested() ? Flow::stop : Flow::proceed;
}

void ProgressObserver::tell(const Progress& progress, double seconds) const {
  const nlohmann::ordered_json json{{"phase", progress.phase},
                                    {"step", progress.iteration},
                                    {"limit", progress.limit},
                                    {"objective", progress.objective},
                                    {"seconds", seconds}};
  const std::string line = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  [[maybe_unused]] const ssize_t written = write(listener_, line.data(), line.size());
}

void ProgressObserver::warning(std::string_view message) {
  clear();
  cli::warning(context_, message);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) width += code_point_width(next_code_point(text, i));
  return width;
}

std::string fit_width(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text) + std::string(width - display_width(text), ' ');
  std::string result;
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const std::size_t next = code_point_width(next_code_point(text, i));
    if (used + next + 1 > width) break;
    result += text.substr(begin, i - begin);
    used += next;
  }
  return result + "…" + std::string(width > used + 1 ? width - used - 1 : 0, ' ');
}

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t width = 80;
  std::string result;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    // A word with the blanks before it; those at the beginning of the text stay.
    const std::size_t word = std::min(text.find_first_not_of(' ', begin), text.size());
    const std::size_t end = std::min(text.find(' ', word), text.size());
    std::string_view piece = text.substr(begin, end - begin);
    if (column + display_width(piece) > width && begin > 0) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
      piece = text.substr(word, end - word);
    }
    result += piece;
    column += display_width(piece);
    begin = end;
  }
  return result;
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const char32_t code = next_code_point(text, i);
    if (code < 0x20 || code == 0x7F || (code >= 0x80 && code < 0xA0))
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(code));
    else
      result += text.substr(begin, i - begin);
  }
  return result;
}

}  // namespace caucus::cli
