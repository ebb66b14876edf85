// What every command shares: the terminal, Ctrl-C, exit codes.
#pragma once

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
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
  Collective* ranks = nullptr;  // other processes of this run
  std::string command_line;
  std::vector<std::string> arguments;  // its words after the program's name
  int exit_code = Exit::ok;
  mutable std::set<std::string, std::less<>> warned;  // so that no warning is given twice

  // Of several processes one reads the command's words aloud and writes its files.
  bool is_root() const { return ranks == nullptr || ranks->rank() == 0; }
  bool color_stdout() const;
  bool color_stderr() const;
};

// Results go to stdout, everything else to stderr.
void print(std::string_view text);
void print_json(const nlohmann::ordered_json& json);
// A sum of weights: a whole number where it is one.
nlohmann::ordered_json json_count(double count);
// The same for a person: sums of weights such as 1/300 are whole up to rounding.
std::string count_text(double count);
void note(const Context& context, std::string_view text);  // silent with --quiet
// "Model written to m.json": silent where there is no path or the path is standard output.
void note_written(const Context& context, std::string_view what, const std::string& path);
void warning(const Context& context, std::string_view text);  // "warning: ...", once; silent with --quiet
void error(const Context& context, std::string_view text);    // "caucus: ..."

// Standard output holds one thing: what a path of "-" writes, the JSON object, or the text for a person. Throws UsageError where
// two would mix; answers whether the text is wanted: not beside a "-", nor with --quiet where a file holds the result.
bool wants_text(const Context& context, std::initializer_list<std::string> paths);

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

// A bar on a terminal, a plain line every few seconds in a log, nothing with --quiet. To a program that asks by CAUCUS_PROGRESS_FD,
// a number of an open descriptor: one JSON object a line, and nothing on stderr.
class ProgressObserver : public Observer, public StopSource {
 public:
  explicit ProgressObserver(const Context& context);
  ~ProgressObserver() override;
  Flow progress(const Progress& progress) override;
  bool stop_requested() const override { return InterruptGuard::requested(); }
  void warning(std::string_view message) override;
  void clear();

 private:
  void tell(const Progress& progress, double seconds) const;

  const Context& context_;
  bool terminal_;
  int listener_ = -1;  // descriptor of CAUCUS_PROGRESS_FD
  bool shown_ = false;
  std::chrono::steady_clock::time_point started_, last_;
};

// Width of a text on a terminal: counts code points, wide ones (CJK) twice.
std::size_t display_width(std::string_view text);
// Cut or filled with blanks to exactly `width` columns.
std::string fit_width(std::string_view text, std::size_t width);
// The text broken at blanks so that no line is longer than a terminal of 80 columns (a word that is longer stays whole); lines
// after the first begin with `indent` blanks. Ends without a line break.
std::string wrapped(std::string_view text, std::size_t indent = 0);
// Control characters as escapes, so a name in a file cannot drive the terminal.
std::string printable(std::string_view text);

}  // namespace caucus::cli
