#include "communicator.h"

#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>

namespace caucus::mpi {

Communicator::Communicator() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &work_);
  MPI_Comm_dup(MPI_COMM_WORLD, &meeting_);
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &neighbors_);
  MPI_Comm_free(&machine);
  const MPI_Aint bytes = rank_ == 0 ? static_cast<MPI_Aint>(sizeof(std::uint64_t)) : 0;
  MPI_Win_allocate(bytes, sizeof(std::uint64_t), MPI_INFO_NULL, work_, &counter_, &window_);
}

Communicator::~Communicator() {
  MPI_Win_free(&window_);
  MPI_Comm_free(&meeting_);
  MPI_Comm_free(&work_);
}

std::vector<std::string> Communicator::exchange(const std::string& mine) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t own = mine.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_));
  MPI_Allgather(&own, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, work_);
  std::vector<int> counts, begins;
  std::uint64_t total = 0;
  for (const std::uint64_t size : sizes) {
    begins.push_back(static_cast<int>(total));
    counts.push_back(static_cast<int>(size));
    total += size;
    if (total > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
      throw std::length_error("a message between processes of more than 2 GB");
  }
  std::string all(total, '\0');
  MPI_Allgatherv(mine.data(), static_cast<int>(own), MPI_BYTE, all.data(), counts.data(), begins.data(), MPI_BYTE, work_);
  std::vector<std::string> result;
  for (std::size_t r = 0; r < sizes.size(); ++r) result.push_back(all.substr(static_cast<std::size_t>(begins[r]), sizes[r]));
  return result;
}

bool Communicator::any(bool mine) {
  const std::lock_guard lock(mutex_);
  int own = mine ? 1 : 0, all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LOR, work_);
  return all != 0;
}

void Communicator::deal() {
  const std::lock_guard lock(mutex_);
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
