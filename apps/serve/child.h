// Commands of caucus run as processes of their own: a crash, an endless fit or a file that fills the memory ends there.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caucus::serve {

struct Command {
  std::vector<std::string> words;    // after the program's name
  std::string folder;                // where it runs
  std::string log = {};              // file that takes stdout and stderr; empty: both are kept
  std::size_t most_lines = 0;        // of stdout, then it has said enough; 0: all
  std::chrono::seconds patience{0};  // then it is stopped; 0: never
};

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out, err;
  bool ok() const { return exit_code == 0; }
};

class Child;

// Runs at most `places` commands at a time; the others wait in line.
class Lane {
 public:
  using Progress = std::function<void(std::string_view line)>;  // one JSON object
  using Done = std::function<void(Outcome)>;

  Lane(boost::asio::io_context& io, std::string program, std::size_t places, std::uint64_t memory);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Returns a ticket. `started` is called when its turn comes, `done` once, unless it was taken out of the line before.
  std::uint64_t add(Command command, Done done, std::function<void()> started = {}, Progress progress = {});
  // Still in line: taken out, true. Running: asked to end with what it has (SIGINT), harder the second time; false.
  bool cancel(std::uint64_t ticket);
  void stop_all();

 private:
  struct Waiting;
  void next();

  boost::asio::io_context& io_;
  std::string program_;
  std::size_t places_;
  std::uint64_t memory_, tickets_ = 0;
  std::vector<Waiting> line_;
  std::vector<std::pair<std::uint64_t, std::shared_ptr<Child>>> running_;
};

}  // namespace caucus::serve
