// The state of a run in a file, so that it goes on from there to the same bits. One format for all samplers: the checksum of what
// follows, the format's name, who wrote it, what the run was of, and the state as raw bytes. For the kind of machine that wrote it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "caucus/base/bytes.h"

namespace caucus {

// A checkpoint file of one kind of run, `who`, on data and with options that `key` describes.
class Checkpoint {
 public:
  Checkpoint(std::string path, std::string who, std::string key)
      : path_(std::move(path)), who_(std::move(who)), key_(std::move(key)) {}

  // The old file stays whole until the new one is, and then as PATH.previous.
  void save(const Saver& state) const;
  // None where there is no such file. Throws DataError for one that is damaged, foreign, or of other data or options, and says
  // which; where the one before it is sound, that is said to `warn` and it is used.
  std::optional<Loader> load(const std::function<void(std::string_view)>& warn) const;
  // Throws DataError: the file's name and a remedy.
  [[noreturn]] void damaged() const;

  // Reads the whole state by read(loader); false where there is no file.
  template <class Read>
  bool resume(Read&& read, const std::function<void(std::string_view)>& warn) const;

 private:
  std::string previous() const { return path_ + ".previous"; }
  Loader load_from(const std::string& path) const;

  std::string path_, who_, key_;
};

template <class Read>
bool Checkpoint::resume(Read&& read, const std::function<void(std::string_view)>& warn) const {
  std::optional<Loader> loader = load(warn);
  if (!loader) return false;
  try {
    read(*loader);
  } catch (const BadState&) {
    damaged();
  }
  if (!loader->at_end()) damaged();
  return true;
}

}  // namespace caucus
