// The bytes of an input: a plain file is mapped, a packed one (gzip, zstd by magic bytes) is unpacked into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace caucus {

class Source {
 public:
  // Throws NoInputError, IoError, DataError (broken archive, archive that unpacks to an absurd size, UTF-16). "-" is
  // standard input.
  static Source open(const std::string& path);
  // The file at `path`, called `name` in messages.
  static Source open_as(const std::string& path, const std::string& name);
  // `text` is not copied: it must outlive the source.
  static Source from_text(std::string_view text, std::string name);

  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  std::string_view text() const { return text_; }    // without a byte order mark
  const std::string& name() const { return name_; }  // for messages
  // Lower case, without the dot and without gz or zst: "votes.SOI.gz" -> "soi".
  std::string extension() const;
  // The text before this position will not be read again: mapped pages may go.
  void release(std::size_t position) const;
  // Keeps the bytes where they are for as long as it lives; null where they belong to the caller.
  std::shared_ptr<const void> owner() const;
  bool is_mapped() const;  // and not in memory

 private:
  struct Storage;
  Source();
  void settle();  // unpacks, strips the byte order mark, refuses UTF-16

  std::shared_ptr<Storage> storage_;
  std::string_view text_;
  std::string name_;
};

}  // namespace caucus
