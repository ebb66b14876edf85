// Who does the work of a run: threads, perhaps other processes that run the same program on the same data, and perhaps a journal
// that remembers what was done before.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace caucus {

// Processes that share a run. All of them execute the same program on the same data and come to the same decisions; they share
// loops over blocks of the data and lists of tasks. What is computed does not depend on how many they are.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The first of those that run on the same machine: it may hand them what lies in its memory.
  virtual int first_on_machine() const { return rank(); }
  // What each says, by rank, to all. All call.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // Does one of them say so? All call.
  virtual bool any(bool mine) = 0;
  // A list of tasks is dealt: all call. Then each takes the next ticket 0, 1, 2, ... whenever it is free; no ticket is given twice.
  virtual void deal() = 0;
  virtual std::size_t ticket() = 0;
};

// Results by their place in a run. A run that is repeated from its beginning finds there what it has done before: since what it
// does depends on nothing else, it goes on to the same bits.
class Journal {
 public:
  virtual ~Journal() = default;
  // Null where it was not kept.
  virtual const std::string* find(const std::string& place) const = 0;
  // `seconds`: the work that finding it again will save; what is not worth its room may be forgotten. From any thread.
  virtual void keep(const std::string& place, const std::string& bytes, double seconds) = 0;
  // The run was told to stop: what it does from here on is not what a run without a break would do.
  virtual void close() = 0;
};

// A part of a run that is done step by step: each step has a place of its own.
class JournalScope {
 public:
  JournalScope(Journal& journal, std::string prefix) : journal_(&journal), prefix_(std::move(prefix)) {}
  std::string next() { return prefix_ + std::to_string(step_++); }
  Journal& journal() const { return *journal_; }
  const std::string& prefix() const { return prefix_; }

 private:
  Journal* journal_;
  std::string prefix_;
  std::size_t step_ = 0;
};

struct Workers {
  Workers(int num_threads) : threads(num_threads) {}  // NOLINT: a number of threads is who most have
  Workers(int num_threads, Collective* processes, JournalScope* scope) : threads(num_threads), ranks(processes), journal(scope) {}

  int threads;
  Collective* ranks = nullptr;      // null: this process alone
  JournalScope* journal = nullptr;  // null: nothing is remembered

  Workers without_journal() const { return {threads, ranks, nullptr}; }
  bool several() const { return ranks != nullptr && ranks->size() > 1; }
};

}  // namespace caucus
