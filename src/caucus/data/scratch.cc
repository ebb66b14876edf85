#include "caucus/data/scratch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace caucus {

std::shared_ptr<void> map_unnamed_file(const std::string& folder, std::size_t bytes) {
  return map_unnamed_file(folder, bytes, 0, bytes);
}

std::shared_ptr<void> map_unnamed_file(const std::string& folder, std::size_t bytes, std::size_t first, std::size_t last) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  // All of the room now: a disk that is full when a page is written would end the program.
  int failed = ::ftruncate(file, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (failed == 0 && first < last) {
    do failed = ::posix_fallocate(file, static_cast<off_t>(first), static_cast<off_t>(last - first));
    while (failed == EINTR);
  }
  void* const mapping = failed == 0 ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  if (mapping == MAP_FAILED) return nullptr;
  return {mapping, [bytes](void* memory) { ::munmap(memory, bytes); }};
}

}  // namespace caucus
