#include "communicator.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace caucus::mpi {

namespace {

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// While it lives, time goes into talk and waiting.
class Clock {
 public:
  explicit Clock(Communicator::Traffic& traffic) : traffic_(traffic), begun_(MPI_Wtime()), used_(thread_seconds()) {}
  ~Clock() {
    traffic_.seconds += MPI_Wtime() - begun_;
    traffic_.processor += thread_seconds() - used_;
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

 private:
  Communicator::Traffic& traffic_;
  double begun_, used_;
};

}  // namespace

Communicator::Communicator() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &work_);
  MPI_Comm_dup(MPI_COMM_WORLD, &meeting_);
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &neighbors_);
  MPI_Allreduce(&rank_, &first_on_machine_, 1, MPI_INT, MPI_MIN, machine);
  MPI_Comm_free(&machine);
  const MPI_Aint bytes = rank_ == 0 ? static_cast<MPI_Aint>(sizeof(std::uint64_t)) : 0;
  // Some networks have no memory that others reach: then tasks are dealt in turn.
  MPI_Comm_set_errhandler(work_, MPI_ERRORS_RETURN);
  const int made = MPI_Win_allocate(bytes, sizeof(std::uint64_t), MPI_INFO_NULL, work_, &counter_, &window_);
  MPI_Comm_set_errhandler(work_, MPI_ERRORS_ARE_FATAL);
  int failed = made != MPI_SUCCESS ? 1 : 0, anywhere = 0;
  MPI_Allreduce(&failed, &anywhere, 1, MPI_INT, MPI_LOR, work_);
  if (anywhere == 0) return;
  if (failed == 0) MPI_Win_free(&window_);
  window_ = MPI_WIN_NULL;
}

Communicator::~Communicator() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  MPI_Comm_free(&meeting_);
  MPI_Comm_free(&work_);
}

std::vector<std::string> Communicator::exchange(const std::string& mine) {
  const std::lock_guard lock(mutex_);
  const Clock clock(traffic_);
  const std::uint64_t own = mine.size();
  const auto num = static_cast<std::size_t>(size_);
  std::vector<std::uint64_t> sizes(num);
  MPI_Allgather(&own, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, work_);
  std::vector<std::string> result(num);
  for (std::size_t r = 0; r < num; ++r) result[r].reserve(sizes[r]);
  // In rounds, whose room is small beside the messages; MPI counts bytes by an int.
  const std::uint64_t most = std::uint64_t{1} << 24, longest = *std::ranges::max_element(sizes);
  for (std::uint64_t done = 0; done < longest; done += most / num) {
    std::vector<int> counts, begins;
    int total = 0;
    for (const std::uint64_t size : sizes) {
      begins.push_back(total);
      counts.push_back(static_cast<int>(size > done ? std::min(size - done, most / num) : 0));
      total += counts.back();
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    MPI_Allgatherv(mine.data() + std::min(done, own), counts[static_cast<std::size_t>(rank_)], MPI_BYTE, all.data(), counts.data(),
                   begins.data(), MPI_BYTE, work_);
    for (std::size_t r = 0; r < num; ++r)
      result[r].append(all, static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(counts[r]));
  }
  ++traffic_.exchanges;
  traffic_.bytes += own;
  return result;
}

bool Communicator::any(bool mine) {
  const std::lock_guard lock(mutex_);
  const Clock clock(traffic_);
  int own = mine ? 1 : 0, all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LOR, work_);
  return all != 0;
}

void Communicator::deal() {
  const std::lock_guard lock(mutex_);
  const Clock clock(traffic_);
  next_ = static_cast<std::uint64_t>(rank_);
  if (window_ == MPI_WIN_NULL) return;
  MPI_Barrier(work_);  // nobody draws from the list before
  if (rank_ == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window_);
    *counter_ = 0;
    MPI_Win_unlock(0, window_);
  }
  MPI_Barrier(work_);
}

std::size_t Communicator::ticket() {
  const std::lock_guard lock(mutex_);
  if (window_ == MPI_WIN_NULL) {
    const std::uint64_t own = next_;
    next_ += static_cast<std::uint64_t>(size_);
    return static_cast<std::size_t>(own);
  }
  const std::uint64_t one = 1;
  std::uint64_t number = 0;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window_);
  MPI_Fetch_and_op(&one, &number, MPI_UINT64_T, 0, 0, MPI_SUM, window_);
  MPI_Win_unlock(0, window_);
  return static_cast<std::size_t>(number);
}

bool Communicator::meet(double seconds) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(meeting_, &request);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace caucus::mpi
