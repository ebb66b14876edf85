#include "caucus/io/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "caucus/base/error.h"

namespace caucus {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(owned_, other.owned_);
  return *this;
}

bool Descriptor::close() {
  const int number = std::exchange(number_, -1);
  return number < 0 || !owned_ || ::close(number) == 0;
}

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

Descriptor open_input(const std::string& path) {
  Descriptor file = path == "-" ? Descriptor::borrow(STDIN_FILENO) : Descriptor::own(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0)
    throw NoInputError(fmt::format("{}: cannot be opened: {}", input_name(path), std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) throw NoInputError(input_name(path) + ": is a folder, not a file");
  return file;
}

ssize_t read_full(int number, void* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(number, static_cast<char*>(data) + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

bool write_full(int number, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(number, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    next += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace caucus
