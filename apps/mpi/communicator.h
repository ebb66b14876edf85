// The processes of an MPI job as the library sees them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <mutex>

#include "caucus/base/workers.h"

namespace caucus::mpi {

// One at a time, between MPI_Init_thread and MPI_Finalize.
class Communicator final : public Collective {
 public:
  Communicator();
  ~Communicator() override;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int first_on_machine() const override { return first_on_machine_; }
  std::vector<std::string> exchange(const std::string& mine) override;
  bool any(bool mine) override;
  void deal() override;
  // A counter that lies with the first process: taking a ticket interrupts nobody where memory is shared; between machines the
  // first process answers when it is in a call of MPI itself. Where the network has no such counters, tickets go round in turn.
  std::size_t ticket() override;

  int num_on_this_machine() const { return neighbors_; }
  // Waits until all processes have called it, at most so many seconds: did they?
  bool meet(double seconds);

  // What this process said to the others, and the time that took, waiting for them included.
  struct Traffic {
    std::uint64_t exchanges = 0, bytes = 0;
    double seconds = 0.0, processor = 0.0;
  };
  const Traffic& traffic() const { return traffic_; }

 private:
  Traffic traffic_;
  int rank_ = 0, size_ = 1, neighbors_ = 1, first_on_machine_ = 0;
  MPI_Comm work_ = MPI_COMM_NULL, meeting_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::uint64_t* counter_ = nullptr;
  std::uint64_t next_ = 0;  // the own ticket where there is no counter
  std::mutex mutex_;
};

}  // namespace caucus::mpi
