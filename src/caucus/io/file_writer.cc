#include "caucus/io/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "caucus/base/error.h"
#include "caucus/io/descriptor.h"
#include "caucus/io/io.h"

namespace caucus {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

namespace {

[[noreturn]] void throw_io(const std::string& path, const char* what) {
  throw IoError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

void write_all(int fd, const char* data, std::size_t size, const std::string& path) {
  if (!write_full(fd, data, size)) throw_io(path, "writing failed");
}

// What stands between the text and the file: nothing, gzip or zstd.
class Packer {
 public:
  virtual ~Packer() = default;
  virtual void put(std::string_view text, bool last, int fd, const std::string& path) {
    (void)last;
    write_all(fd, text.data(), text.size(), path);
  }
};

class GzipPacker final : public Packer {
 public:
  explicit GzipPacker(const std::string& path) : out_(1U << 18) {
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw IoError(path + ": cannot start gzip");
  }
  ~GzipPacker() override { deflateEnd(&stream_); }
  void put(std::string_view text, bool last, int fd, const std::string& path) override {
    do {
      const std::string_view piece = text.substr(0, 1U << 30);
      text.remove_prefix(piece.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream_.avail_in = static_cast<uInt>(piece.size());
      do {
        stream_.next_out = out_.data();
        stream_.avail_out = static_cast<uInt>(out_.size());
        deflate(&stream_, last && text.empty() ? Z_FINISH : Z_NO_FLUSH);
        write_all(fd, reinterpret_cast<const char*>(out_.data()), out_.size() - stream_.avail_out, path);
      } while (stream_.avail_out == 0);
    } while (!text.empty());
  }

 private:
  z_stream stream_{};
  std::vector<Bytef> out_;
};

class ZstdPacker final : public Packer {
 public:
  explicit ZstdPacker(const std::string& path) : context_(ZSTD_createCCtx(), ZSTD_freeCCtx), out_(ZSTD_CStreamOutSize()) {
    if (context_ == nullptr) throw IoError(path + ": cannot start zstd");
  }
  void put(std::string_view text, bool last, int fd, const std::string& path) override {
    ZSTD_inBuffer in{text.data(), text.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) throw IoError(fmt::format("{}: zstd: {}", path, ZSTD_getErrorName(left)));
      write_all(fd, out_.data(), out.pos, path);
      if (last ? left == 0 : in.pos == in.size) break;
    }
  }

 private:
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context_;
  std::vector<char> out_;
};

// Follows a link, so that the file it points to is replaced and the link stays.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

// The temporary name beside the target: unique within the machine by process id, within the process by a counter that no result
// depends on. Long names are cut so that it fits the file system's limit.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::size_t slash = path.find_last_of('/') + 1;
  return fmt::format("{}.{}.{}-{}.tmp", path.substr(0, slash), path.substr(slash).substr(0, 200), ::getpid(), counter.fetch_add(1));
}

}  // namespace

struct FileWriter::Target {
  std::string path;
  std::string temporary;  // empty: written directly, or without a name
  bool unnamed = false;
  Descriptor file;
  std::unique_ptr<Packer> packer;

  // Tries names until one is free.
  template <class Make>
  void take_name(const std::string& shown, Make&& make) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const std::string name = temporary_name(path);
      if (make(name)) {
        temporary = name;
        return;
      }
      if (errno != EEXIST) break;
    }
    throw_io(shown, "cannot be written");
  }
};

FileWriter::FileWriter(const std::string& path) : target_(std::make_unique<Target>()) {
  if (path.ends_with(".gz"))
    target_->packer = std::make_unique<GzipPacker>(path);
  else if (path.ends_with(".zst"))
    target_->packer = std::make_unique<ZstdPacker>(path);
  else
    target_->packer = std::make_unique<Packer>();
  if (path == "-") {
    target_->path = "standard output";
    target_->file = Descriptor::borrow(STDOUT_FILENO);
    return;
  }
  target_->path = resolved(path);
  struct stat status {};
  const bool exists = ::stat(target_->path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) throw IoError(path + ": is a folder");
  if (exists && !S_ISREG(status.st_mode)) {
    target_->file = Descriptor::own(::open(target_->path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!target_->file.is_open()) throw_io(path, "cannot be opened");
    return;
  }
  // A file without a name, where the file system has such: nothing of it stays, however the program ends.
  if (::access("/proc/self/fd", F_OK) == 0)  // by which it gets its name in the end
    target_->file = Descriptor::own(::open(folder_of(target_->path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  target_->unnamed = target_->file.is_open();
  if (!target_->unnamed)
    target_->take_name(path, [&](const std::string& name) {
      target_->file = Descriptor::own(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      return target_->file.is_open();
    });
  if (exists) ::fchmod(target_->file.get(), status.st_mode & 07777);
}

FileWriter::~FileWriter() {
  if (target_ != nullptr && !target_->temporary.empty()) ::unlink(target_->temporary.c_str());
}

void FileWriter::drain() {
  target_->packer->put(buffer_, false, target_->file.get(), target_->path);
  buffer_.clear();
}

void FileWriter::commit() {
  Target& target = *target_;
  target.packer->put(buffer_, true, target.file.get(), target.path);
  buffer_.clear();
  if (target.temporary.empty() && !target.unnamed) return;
  if (::fsync(target.file.get()) != 0) throw_io(target.path, "syncing failed");
  // A name of its own first: linking cannot replace a file, renaming can.
  if (target.unnamed) {
    const std::string self = fmt::format("/proc/self/fd/{}", target.file.get());
    target.take_name(target.path, [&](const std::string& name) {
      return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    });
    target.unnamed = false;
  }
  if (!target.file.close()) throw_io(target.path, "writing failed");
  if (::rename(target.temporary.c_str(), target.path.c_str()) != 0) throw_io(target.path, "renaming failed");
  target.temporary.clear();
  // The new name itself must survive a power cut; a folder that cannot be synced (some network drives) is no error.
  const Descriptor folder = Descriptor::own(::open(folder_of(target.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) ::fsync(folder.get());
}

void write_file(const std::string& path, std::string_view content) {
  FileWriter writer(path);
  writer.buffer() = content;
  writer.commit();
}

}  // namespace caucus
