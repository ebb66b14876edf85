// A journal in a file: the checkpoint of everything that is made of passes and tasks.
//
// A run is a function of its data, options and seed, so what it has done need not be known as a state: the results of its tasks and
// of its dear passes are kept by their place, each under a checksum, one after the other. A run that is begun again with the file
// finds them and goes on where they end. Whatever ends the program, all that was written before stays.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "caucus/base/workers.h"
#include "caucus/io/descriptor.h"

namespace caucus {

struct JournalPlan {
  std::string path;     // empty: no journal
  double every = 10.0;  // seconds between writes; 0: every result at once
  bool resume = false;  // go on with the file where there is one; else one that is there becomes PATH.previous
};

class FileJournal final : public Journal {
 public:
  // `key` says what the run is of. Throws DataError for a file of something else, or one whose beginning is damaged (with
  // PATH.previous in its place where that one is sound: then it is said and used); IoError where none can be written. Damage
  // further on is said, and what stands before it used. Several processes: the first reads and writes.
  // `stopped`: the run was told to stop, and nothing is kept any more.
  FileJournal(const JournalPlan& plan, std::string key, Collective* ranks, std::function<void(std::string_view)> warn,
              std::function<bool()> stopped = {});
  ~FileJournal() override;

  const std::string* find(const std::string& place) const override;
  // A full disk is said once, and takes nothing away: the results wait, and are written when there is room.
  void keep(const std::string& place, const std::string& bytes, double seconds) override;
  void close() override { closed_ = true; }
  std::size_t num_found() const { return found_.size(); }

 private:
  void open(const std::string& key);
  bool read(const std::string& path, const std::string& key, std::string& why);
  void begin_file(const std::string& key);
  void flush();
  void share(Collective& ranks);

  JournalPlan plan_;
  std::function<void(std::string_view)> warn_;
  std::function<bool()> stopped_;
  std::atomic<bool> closed_ = false;
  std::map<std::string, std::string> found_;
  bool writes_ = true;
  mutable std::mutex mutex_;
  Descriptor file_;
  std::uint64_t written_ = 0;  // bytes of the file that are sound
  std::string waiting_;
  bool full_ = false;  // it was said
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace caucus
