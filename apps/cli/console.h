// What every command shares: the terminal, Ctrl-C, exit codes.
#pragma once

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/infer/stopping.h"

namespace caucus::cli {

// Exit codes as in sysexits.h (75: the time limit left work undone, try again with more); 130 is 128 + SIGINT.
enum Exit : int { ok = 0, usage = 64, data = 65, no_input = 66, internal = 70, io = 74, unfinished = 75, interrupted = 130 };

struct Context {
  bool json = false;
  bool quiet = false;
  bool no_color = false;
  int threads = 0;
  std::string command_line;
  std::vector<std::string> arguments;  // its words after the program's name
  int exit_code = Exit::ok;

  bool color_stdout() const;
  bool color_stderr() const;
};

// Results go to stdout, everything else to stderr.
void print(std::string_view text);
void print_json(const nlohmann::ordered_json& json);
// A sum of weights: a whole number where it is one.
nlohmann::ordered_json json_count(double count);
void note(const Context& context, std::string_view text);     // silent with --quiet
void warning(const Context& context, std::string_view text);  // "warning: ..."
void error(const Context& context, std::string_view text);    // "caucus: ..."

// ANSI styles, empty where there is no terminal.
struct Style {
  explicit Style(bool on);
  std::string_view bold, dim, warn, bad, bar, reset;
};

// While one lives, the first Ctrl-C asks the running fit to end; a second one kills.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  static bool requested();
};

// A bar on a terminal, a plain line every few seconds in a log, nothing with --quiet.
class ProgressObserver : public Observer, public StopSource {
 public:
  explicit ProgressObserver(const Context& context);
  ~ProgressObserver() override;
  Flow progress(const Progress& progress) override;
  bool stop_requested() const override { return InterruptGuard::requested(); }
  void warning(std::string_view message) override;
  void clear();

 private:
  const Context& context_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point started_, last_;
};

// Width of a text on a terminal: counts code points, wide ones (CJK) twice.
std::size_t display_width(std::string_view text);
// Cut or filled with blanks to exactly `width` columns.
std::string fit_width(std::string_view text, std::size_t width);
// Control characters as escapes, so a name in a file cannot drive the terminal.
std::string printable(std::string_view text);

}  // namespace caucus::cli
