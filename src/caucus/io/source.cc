#include "caucus/io/source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "caucus/base/error.h"

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

Source::Source() : storage_(std::make_unique<Storage>()) {}
Source::Source(Source&&) noexcept = default;
Source& Source::operator=(Source&&) noexcept = default;
Source::~Source() = default;

std::size_t max_unpacked_bytes(std::size_t packed_bytes) { return (std::size_t{256} << 20) + 200 * packed_bytes; }

namespace {

struct FileDescriptor {
  int fd = -1;
  bool owned = false;
  ~FileDescriptor() {
    if (owned && fd >= 0) ::close(fd);
  }
};

std::string read_all(int fd, const std::string& name) {
  std::string buffer;
  std::size_t size = 0;
  for (;;) {
    if (buffer.size() - size < (1U << 16)) buffer.resize(std::max<std::size_t>(1U << 18, buffer.size() * 2));
    const ssize_t got = ::read(fd, buffer.data() + size, buffer.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw IoError(fmt::format("{}: reading failed: {}", name, std::strerror(errno)));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  buffer.resize(size);
  return buffer;
}

[[noreturn]] void throw_too_big(const std::string& name, std::size_t limit) {
  throw DataError(
      fmt::format("{}: unpacks to more than {} MB, too much for an archive of its size; unpack it first", name, limit >> 20));
}

// Room for the next piece of unpacked text; grows by doubling up to the limit.
void make_room(std::string& out, std::size_t used, std::size_t limit, const std::string& name) {
  if (used < out.size()) return;
  if (used >= limit) throw_too_big(name, limit);
  out.resize(std::min(limit, std::max<std::size_t>(1U << 16, out.size() * 2)));
}

std::string unpack_gzip(std::string_view packed, const std::string& name) {
  const std::size_t limit = max_unpacked_bytes(packed.size());
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw IoError(name + ": cannot start gzip");
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};

  std::string out;
  std::size_t used = 0;
  std::size_t taken = 0;  // bytes handed to zlib so far; avail_in is 32 bits wide
  for (;;) {
    if (stream.avail_in == 0 && taken < packed.size()) {
      const std::size_t piece = std::min<std::size_t>(packed.size() - taken, 1U << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
      stream.avail_in = static_cast<uInt>(piece);
      taken += piece;
    }
    make_room(out, used, limit, name);
    const std::size_t room = std::min<std::size_t>(out.size() - used, 1U << 30);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (code == Z_STREAM_END) {
      // An archive may hold several members one after the other; anything else behind it is padding.
      const char* rest = reinterpret_cast<const char*>(stream.next_in);
      const bool another = stream.avail_in >= 2 && rest[0] == '\x1f' && rest[1] == '\x8b';
      if (!another) break;
      if (inflateReset(&stream) != Z_OK) throw DataError(name + ": broken gzip archive");
      continue;
    }
    if (code == Z_BUF_ERROR && stream.avail_in == 0 && taken == packed.size())
      throw DataError(name + ": the gzip archive ends too early");
    if (code != Z_OK && code != Z_BUF_ERROR)
      throw DataError(fmt::format("{}: broken gzip archive ({})", name, stream.msg != nullptr ? stream.msg : "no reason given"));
  }
  out.resize(used);
  return out;
}

std::string unpack_zstd(std::string_view packed, const std::string& name) {
  const std::size_t limit = max_unpacked_bytes(packed.size());
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) throw IoError(name + ": cannot start zstd");
  std::string out;
  std::size_t used = 0;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::size_t pending = 1;
  while (in.pos < in.size || pending != 0) {
    make_room(out, used, limit, name);
    ZSTD_outBuffer piece{out.data() + used, out.size() - used, 0};
    const std::size_t before = in.pos;
    pending = ZSTD_decompressStream(context.get(), &piece, &in);
    if (ZSTD_isError(pending) != 0) throw DataError(fmt::format("{}: broken zstd archive ({})", name, ZSTD_getErrorName(pending)));
    used += piece.pos;
    if (pending != 0 && in.pos == in.size && before == in.pos && piece.pos == 0)
      throw DataError(name + ": the zstd archive ends too early");
  }
  out.resize(used);
  return out;
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
  if (starts("\x1f\x8b") || starts("\x28\xb5\x2f\xfd")) {
    std::string unpacked = text_[0] == '\x1f' ? unpack_gzip(text_, name_) : unpack_zstd(text_, name_);
    storage_ = std::make_unique<Storage>();
    storage_->buffer = std::move(unpacked);
    text_ = storage_->buffer;
  }
  if (starts("\xef\xbb\xbf")) text_.remove_prefix(3);
  refuse_binary(text_, name_);
  if (starts("\xff\xfe") || starts("\xfe\xff")) throw DataError(name_ + ": the text is UTF-16; convert it to UTF-8 first");
}

Source Source::open(const std::string& path) {
  Source source;
  source.name_ = path == "-" ? "standard input" : path;
  FileDescriptor file;
  if (path == "-") {
    file.fd = STDIN_FILENO;
  } else {
    file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    file.owned = true;
    if (file.fd < 0) throw NoInputError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) throw NoInputError(fmt::format("{}: {}", source.name_, std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) throw NoInputError(source.name_ + ": is a folder, not a file");
  if (S_ISREG(status.st_mode) && status.st_size > 0 && path != "-") {
    Storage& storage = *source.storage_;
    storage.mapped_bytes = static_cast<std::size_t>(status.st_size);
    void* mapping = ::mmap(nullptr, storage.mapped_bytes, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (mapping != MAP_FAILED) {
      storage.mapping = mapping;
      ::madvise(mapping, storage.mapped_bytes, MADV_SEQUENTIAL);
      source.text_ = {static_cast<const char*>(mapping), storage.mapped_bytes};
    }
  }
  if (source.storage_->mapping == nullptr) {
    source.storage_->buffer = read_all(file.fd, source.name_);
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
