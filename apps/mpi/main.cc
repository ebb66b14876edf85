// caucus-mpi: the commands fit, select, compare and regress on several processes, as in mpirun -n 8 caucus-mpi fit votes.cds -k 5.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "caucus/base/parallel.h"
#include "communicator.h"
#include "program.h"

namespace {

constexpr std::array<std::string_view, 4> shared_commands{"fit", "select", "compare", "regress"};
constexpr double patience = 10.0;  // seconds until the others have failed too, or not

// Only the first process speaks.
void fall_silent() {
  const int nowhere = ::open("/dev/null", O_WRONLY);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

bool asks_for_help(int argc, char** argv) {
  return argc < 2 || std::any_of(argv + 1, argv + argc,
                                 [](std::string_view word) { return word == "--help" || word == "-h" || word == "--version"; });
}

// For the cost model in docs/scale.md: one line per process.
void tell_traffic(const caucus::mpi::Communicator& processes, int loud) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const auto& traffic = processes.traffic();
  dprintf(loud, "traffic: process %d exchanges %llu bytes %llu waited %.3f worked %.3f\n", processes.rank(),
          static_cast<unsigned long long>(traffic.exchanges), static_cast<unsigned long long>(traffic.bytes), traffic.seconds,
          seconds(used.ru_utime) + seconds(used.ru_stime) - traffic.processor);
}

int run(int argc, char** argv, caucus::mpi::Communicator& processes, int loud) {
  caucus::cli::Context context;
  context.ranks = &processes;
  context.threads = std::max(1, caucus::resolve_threads(0) / processes.num_on_this_machine());
  if (!asks_for_help(argc, argv) && std::ranges::find(shared_commands, std::string_view(argv[1])) == shared_commands.end()) {
    if (processes.rank() == 0)
      fmt::print(stderr, "caucus-mpi: {} is for one process: caucus {}; on several there are fit, select, compare and regress\n",
                 argv[1], argv[1]);
    return caucus::cli::Exit::usage;
  }
  const int code = caucus::cli::run_program(argc, argv, context);
  if (code == caucus::cli::Exit::ok || processes.meet(patience)) return code;
  // The others wait for this one, which cannot go on.
  dprintf(loud, "caucus-mpi: process %d of %d failed (exit code %d) and ends the job; a checkpoint keeps what was done before\n",
          processes.rank() + 1, processes.size(), code);
  MPI_Abort(MPI_COMM_WORLD, code);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int code = 0;
  {
    caucus::mpi::Communicator processes;
    const int loud = ::dup(STDERR_FILENO);
    if (processes.rank() > 0) fall_silent();
    if (provided < MPI_THREAD_SERIALIZED && processes.rank() == 0)
      fmt::print(stderr, "caucus-mpi: this MPI does not allow threads; --threads 1 is safe\n");
    code = run(argc, argv, processes, loud);
    if (std::getenv("CAUCUS_MPI_TRAFFIC") != nullptr) tell_traffic(processes, loud);
  }
  MPI_Finalize();
  return code;
}
