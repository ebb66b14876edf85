#include "caucus/base/bytes.h"

namespace caucus {

void Loader::fail() { throw BadState{}; }

void Loader::raw(void* to, std::size_t size) {
  if (size > bytes_.size() - at_) fail();
  if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
  at_ += size;
}

std::size_t Loader::count(std::size_t least) {
  std::uint64_t number = 0;
  get(number);
  if (number > (bytes_.size() - at_) / least) fail();
  return static_cast<std::size_t>(number);
}

}  // namespace caucus
