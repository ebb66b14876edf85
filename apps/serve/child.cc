#include "child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

namespace caucus::serve {

namespace asio = boost::asio;
using Error = boost::system::error_code;

namespace {

constexpr std::size_t most_kept = 64 * 1024 * 1024;  // bytes of one output
constexpr int progress_descriptor = 3;

struct Pipe {
  int read = -1, write = -1;
};
std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{ends[0], ends[1]};
}

}  // namespace

class Child : public std::enable_shared_from_this<Child> {
 public:
  Child(asio::io_context& io, Lane::Progress progress, Lane::Done done)
      : out_(io),
        err_(io),
        reports_(io),
        signals_(io, SIGCHLD),
        timer_(io),
        progress_(std::move(progress)),
        done_(std::move(done)) {}

  void start(const std::string& program, const Command& command, std::uint64_t memory) {
    most_lines_ = command.most_lines;
    std::vector<std::string> words{program};
    words.insert(words.end(), command.words.begin(), command.words.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const auto out = make_pipe(), err = make_pipe(), reports = make_pipe();
    if (!out || !err || !reports) return fail(fmt::format("no pipe: {}", std::strerror(errno)));
    wait_for_end();  // before there is one that could end
    pid_ = fork();
    if (pid_ == 0) become(program, command, memory, arguments, *out, *err, *reports);  // does not return
    for (const int end : {out->write, err->write, reports->write}) ::close(end);
    if (pid_ < 0) {
      for (const int end : {out->read, err->read, reports->read}) ::close(end);
      return fail(fmt::format("no process: {}", std::strerror(errno)));
    }
    open_ = 3;
    out_.assign(out->read), err_.assign(err->read), reports_.assign(reports->read);
    read(out_, out_piece_, [this](std::string_view text) { keep(outcome_.out, text, true); });
    read(err_, err_piece_, [this](std::string_view text) { keep(outcome_.err, text, false); });
    read(reports_, reports_piece_, [this](std::string_view text) { report(text); });
    if (command.patience.count() > 0) {
      timer_.expires_after(command.patience);
      timer_.async_wait([self = weak_from_this(), seconds = command.patience.count()](Error error) {
        const auto child = self.lock();
        if (error || !child) return;
        child->outcome_.err += fmt::format("caucus: stopped after {} s\n", seconds);
        child->kill(SIGKILL);
      });
    }
  }

  // The whole group, as a command may have started others.
  void kill(int signal) {
    if (pid_ > 0 && !ended_) ::kill(-pid_, signal);
  }
  void ask_to_end() { kill(asked_ ? SIGKILL : SIGINT), asked_ = true; }

 private:
  // In the new process. One thread, so everything may be called between fork and exec.
  [[noreturn]] static void become(const std::string& program, const Command& command, std::uint64_t memory,
                                  const std::vector<char*>& arguments, const Pipe& out, const Pipe& err, const Pipe& reports) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGINT);  // a server that was killed takes its fits along; they keep what they have
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGHUP}) std::signal(signal, SIG_DFL);
    const rlimit space{memory, memory}, core{0, 0};
    if (memory > 0) setrlimit(RLIMIT_AS, &space);
    setrlimit(RLIMIT_CORE, &core);
    if (chdir(command.folder.c_str()) != 0) _exit(127);
    int out_end = out.write, err_end = err.write;
    if (!command.log.empty()) {
      out_end = err_end = open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      if (out_end < 0) _exit(127);
    }
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    // First out of the way of one another, then to their places.
    const int safe_reports = fcntl(reports.write, F_DUPFD_CLOEXEC, 10), safe_out = fcntl(out_end, F_DUPFD_CLOEXEC, 10),
              safe_err = fcntl(err_end, F_DUPFD_CLOEXEC, 10);
    dup2(nothing, STDIN_FILENO), dup2(safe_out, STDOUT_FILENO), dup2(safe_err, STDERR_FILENO),
        dup2(safe_reports, progress_descriptor);
    setenv("CAUCUS_PROGRESS_FD", "3", 1);
    setenv("NO_COLOR", "1", 1);
    execv(program.c_str(), arguments.data());
    _exit(127);
  }

  using Piece = std::array<char, 16 * 1024>;
  template <class Take>
  void read(asio::posix::stream_descriptor& from, Piece& piece, Take take) {
    from.async_read_some(asio::buffer(piece),
                         [this, self = shared_from_this(), &from, &piece, take](Error error, std::size_t size) {
                           if (error) {
                             --open_;
                             return finish();
                           }
                           take(std::string_view(piece.data(), size));
                           read(from, piece, take);
                         });
  }
  void keep(std::string& kept, std::string_view text, bool lines) {
    if (enough_) return;
    kept += text;
    if (lines && most_lines_ > 0 && static_cast<std::size_t>(std::ranges::count(kept, '\n')) >= most_lines_) {
      enough_ = true;
      kill(SIGKILL);
    } else if (kept.size() > most_kept) {
      kill(SIGKILL);
    }
  }
  void report(std::string_view text) {
    line_ += text;
    for (std::size_t end; (end = line_.find('\n')) != std::string::npos; line_.erase(0, end + 1))
      if (progress_) progress_(std::string_view(line_).substr(0, end));
    if (line_.size() > 65536) line_.clear();
  }

  void wait_for_end() {
    signals_.async_wait([self = weak_from_this()](Error error, int) {
      const auto child = self.lock();
      if (error || !child || child->ended_) return;
      int status = 0;
      if (child->pid_ > 0 && waitpid(child->pid_, &status, WNOHANG) == child->pid_) {
        child->ended_ = true;
        child->outcome_.exit_code = child->enough_ ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        child->outcome_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        return child->finish();
      }
      child->wait_for_end();
    });
  }
  void finish() {
    if (!ended_ || open_ > 0 || !done_) return;
    timer_.cancel();
    Error ignored;
    signals_.cancel(ignored);
    std::exchange(done_, nullptr)(std::move(outcome_));
  }
  void fail(std::string text) {
    outcome_.err = fmt::format("caucus: {}\n", text);
    ended_ = true;
    asio::post(out_.get_executor(), [self = shared_from_this()] { self->finish(); });
  }

  asio::posix::stream_descriptor out_, err_, reports_;
  Piece out_piece_, err_piece_, reports_piece_;
  asio::signal_set signals_;
  asio::steady_timer timer_;
  Lane::Progress progress_;
  Lane::Done done_;
  Outcome outcome_;
  std::string line_;
  std::size_t most_lines_ = 0;
  pid_t pid_ = -1;
  int open_ = 0;
  bool ended_ = false, asked_ = false, enough_ = false;
};

struct Lane::Waiting {
  std::uint64_t ticket;
  Command command;
  Done done;
  std::function<void()> started;
  Progress progress;
};

Lane::Lane(asio::io_context& io, std::string program, std::size_t places, std::uint64_t memory)
    : io_(io), program_(std::move(program)), places_(places), memory_(memory) {}
Lane::~Lane() = default;

std::uint64_t Lane::add(Command command, Done done, std::function<void()> started, Progress progress) {
  line_.push_back({++tickets_, std::move(command), std::move(done), std::move(started), std::move(progress)});
  const std::uint64_t ticket = tickets_;
  asio::post(io_, [this] { next(); });
  return ticket;
}

void Lane::next() {
  while (!line_.empty() && running_.size() < places_) {
    Waiting first = std::move(line_.front());
    line_.erase(line_.begin());
    const auto ended = [this, ticket = first.ticket, done = std::move(first.done)](Outcome outcome) {
      std::erase_if(running_, [&](const auto& one) { return one.first == ticket; });
      done(std::move(outcome));
      next();
    };
    const auto child = std::make_shared<Child>(io_, std::move(first.progress), ended);
    running_.emplace_back(first.ticket, child);
    if (first.started) first.started();
    child->start(program_, first.command, memory_);
  }
}

bool Lane::cancel(std::uint64_t ticket) {
  if (std::erase_if(line_, [&](const Waiting& one) { return one.ticket == ticket; }) > 0) return true;
  for (const auto& [number, child] : running_)
    if (number == ticket) child->ask_to_end();
  return false;
}

void Lane::stop_all() {
  line_.clear();
  for (const auto& [number, child] : running_) child->kill(SIGINT);
}

}  // namespace caucus::serve
