// Checkpoints of a request: opened when its data are there, and handed on with the run.
#pragma once

#include <optional>
#include <string>

#include "caucus/data/dataset.h"
#include "caucus/infer/journal.h"
#include "caucus/infer/multistart.h"
#include "caucus/infer/run.h"

namespace caucus::service {

class Checkpoints {
 public:
  // `what`: the command with everything it was asked for that bears on its result. Without a path in the plan the run stays as it
  // is. Throws as FileJournal does.
  Checkpoints(const JournalPlan& plan, const std::string& what, const Dataset& data, const Run& run);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  const Run& run() const { return run_; }

 private:
  Run run_;
  SharedObserver observer_;  // remembers that it was told to stop
  std::optional<FileJournal> journal_;
  std::optional<JournalScope> scope_;
};

// Options as one line, by name.
std::string options_text(const OptionMap& options);

}  // namespace caucus::service
