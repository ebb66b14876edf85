// Files that appear whole or not at all: written under a temporary name in the same folder, synced, renamed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace caucus {

// Collects text; a full buffer goes to the sink's target, or stays where there is none.
class TextSink {
 public:
  virtual ~TextSink() = default;
  std::string& buffer() { return buffer_; }
  // To be called now and then, between records: passes the buffer on once it is large.
  void checkpoint() {
    if (buffer_.size() >= (1U << 20)) drain();
  }

 protected:
  virtual void drain() {}
  std::string buffer_;
};

// Throws IoError. The target keeps its old content until commit() returns; without commit() nothing remains of the new one.
// "-" is standard output; a target that is no regular file (a pipe, a device) is written directly. Names that end in .gz or
// .zst are packed.
class FileWriter final : public TextSink {
 public:
  explicit FileWriter(const std::string& path);
  ~FileWriter() override;
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void commit();

 private:
  struct Target;
  void drain() override;

  std::unique_ptr<Target> target_;
};

}  // namespace caucus
