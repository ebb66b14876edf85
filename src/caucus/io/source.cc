#include "caucus/io/source.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "caucus/base/error.h"
#include "caucus/io/descriptor.h"
#include "caucus/io/unpack.h"

namespace caucus {

// Owns either a mapping or a buffer.
struct Source::Storage {
  void* mapping = nullptr;
  std::size_t mapped_bytes = 0;
  mutable std::size_t released = 0;
  std::string buffer;

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (mapping != nullptr) ::munmap(mapping, mapped_bytes);
  }
};

Source::Source() : storage_(std::make_shared<Storage>()) {}
Source::Source(Source&&) noexcept = default;
Source& Source::operator=(Source&&) noexcept = default;
Source::~Source() = default;

namespace {

// A pipe or a device may never end: a bound, and a look at its beginning.
constexpr std::size_t most_piped = std::size_t{2} << 30;

std::string read_all(int fd, const std::string& name) {
  std::string buffer;
  std::size_t size = 0;
  while (size == buffer.size()) {
    if (size >= most_piped)
      throw DataError(
          fmt::format("{}: found more than {} MB from a pipe or device; write them to a file first", name, most_piped >> 20));
    buffer.resize(std::min(most_piped, std::max<std::size_t>(1U << 18, buffer.size() * 2)));
    const ssize_t got = read_full(fd, buffer.data() + size, buffer.size() - size);
    if (got < 0) throw IoError(fmt::format("{}: reading failed: {}", name, std::strerror(errno)));
    if (size == 0 && got > 0 && buffer[0] == '\0') throw DataError(name + ": begins with a zero byte; expected text");
    size += static_cast<std::size_t>(got);
  }
  buffer.resize(size);
  return buffer;
}

// Files of other programs, known by their first bytes, and the line that makes a table of them.
void refuse_binary(std::string_view text, const std::string& name) {
  const auto starts = [&](std::string_view magic) { return text.substr(0, magic.size()) == magic; };
  const std::string_view head = text.substr(0, std::min<std::size_t>(text.size(), 4096));
  std::string_view what, reader;
  if (starts("PK\x03\x04") || starts("\xd0\xcf\x11\xe0")) {
    const bool ods = head.find("opendocument") != std::string_view::npos;
    what = ods ? "an OpenDocument spreadsheet" : "a spreadsheet (xlsx or xls)";
    reader = "read_excel";
  } else if (starts("PAR1")) {
    what = "a parquet file";
    reader = "read_parquet";
  } else if (starts("ARROW1")) {
    what = "an Arrow (feather) file";
    reader = "read_feather";
  } else if (starts("$FL2") || starts("$FL3")) {
    what = "an SPSS file";
    reader = "read_spss";
  } else {
    return;
  }
  const std::size_t slash = name.find_last_of('/') + 1, dot = name.find_last_of('.');
  const std::string target = (dot == std::string::npos || dot < slash ? name : name.substr(0, dot)) + ".csv";
  throw DataError(
      fmt::format("{0}: found {1}, expected text. This line makes a table of it:\n  python3 -c \"import pandas; "
                  "pandas.{2}('{0}').to_csv('{3}', index=False)\"",
                  name, what, reader, target));
}

}  // namespace

void Source::settle() {
  const auto starts = [&](std::string_view magic) { return text_.substr(0, magic.size()) == magic; };
  if (is_packed(text_)) {
    std::string unpacked = unpack(text_, name_);
    storage_ = std::make_shared<Storage>();
    storage_->buffer = std::move(unpacked);
    text_ = storage_->buffer;
  }
  if (starts("\xef\xbb\xbf")) text_.remove_prefix(3);
  refuse_binary(text_, name_);
  if (starts("\xff\xfe") || starts("\xfe\xff")) throw DataError(name_ + ": the text is UTF-16; convert it to UTF-8 first");
}

Source Source::open(const std::string& path) { return open_as(path, input_name(path)); }

Source Source::open_as(const std::string& path, const std::string& name) {
  Source source;
  source.name_ = name;
  const Descriptor file = open_input(path);
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 && path != "-") {
    Storage& storage = *source.storage_;
    storage.mapped_bytes = static_cast<std::size_t>(status.st_size);
    void* mapping = ::mmap(nullptr, storage.mapped_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapping != MAP_FAILED) {
      storage.mapping = mapping;
      ::madvise(mapping, storage.mapped_bytes, MADV_SEQUENTIAL);
      source.text_ = {static_cast<const char*>(mapping), storage.mapped_bytes};
    }
  }
  if (source.storage_->mapping == nullptr) {
    source.storage_->buffer = read_all(file.get(), source.name_);
    source.text_ = source.storage_->buffer;
  }
  source.settle();
  return source;
}

Source Source::from_text(std::string_view text, std::string name) {
  Source source;
  source.text_ = text;
  source.name_ = std::move(name);
  source.settle();
  return source;
}

std::string Source::extension() const {
  std::string lower = name_.substr(name_.find_last_of('/') + 1);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const std::string_view packed : {".gz", ".zst", ".zstd"})
    if (lower.ends_with(packed)) {
      lower.resize(lower.size() - packed.size());
      break;
    }
  const std::size_t dot = lower.find_last_of('.');
  return dot == std::string::npos ? std::string() : lower.substr(dot + 1);
}

std::shared_ptr<const void> Source::owner() const {
  const bool here = storage_->mapping != nullptr || !storage_->buffer.empty();
  return here ? storage_ : nullptr;
}

bool Source::is_mapped() const { return storage_->mapping != nullptr; }

void Source::release(std::size_t position) const {
  const Storage& storage = *storage_;
  if (storage.mapping == nullptr) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t until = position / page * page;
  if (until <= storage.released) return;
  ::madvise(static_cast<char*>(storage.mapping) + storage.released, until - storage.released, MADV_DONTNEED);
  storage.released = until;
}

}  // namespace caucus
