// Parallel work in fixed blocks: how the work is cut depends on its size alone, never on the number
// of threads, and partial sums are folded in block order. Same input, same bits, any thread count.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace caucus {

// 0 means all cores this process may use.
int resolve_threads(int threads);

// A range [0, size) cut into equal blocks.
class Blocks {
 public:
  // At least `grain` elements per block (but the last), at most `limit` blocks.
  explicit Blocks(std::size_t size, std::size_t grain = 1024, std::size_t limit = 64)
      : size_(size), count_(std::clamp<std::size_t>(size / std::max<std::size_t>(grain, 1), 1, limit)) {}

  std::size_t count() const { return count_; }
  std::size_t begin(std::size_t block) const { return size_ * block / count_; }
  std::size_t end(std::size_t block) const { return size_ * (block + 1) / count_; }

 private:
  std::size_t size_;
  std::size_t count_;
};

// Calls body(i) for i in [0, count) on up to `threads` threads. The first exception is rethrown.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

// One partial result per block, made by `make`, filled by body(partial, begin, end) and folded in
// block order by fold(total, partial). Returns the total.
template <class Make, class Body, class Fold>
auto parallel_fold(const Blocks& blocks, int threads, Make&& make, Body&& body, Fold&& fold) {
  using Partial = decltype(make());
  if (blocks.count() == 1) {
    Partial total = make();
    body(total, blocks.begin(0), blocks.end(0));
    return total;
  }
  std::vector<Partial> partials;
  partials.reserve(blocks.count());
  for (std::size_t i = 0; i < blocks.count(); ++i) partials.push_back(make());
  parallel_for(blocks.count(), threads, [&](std::size_t i) { body(partials[i], blocks.begin(i), blocks.end(i)); });
  for (std::size_t i = 1; i < blocks.count(); ++i) fold(partials[0], partials[i]);
  return std::move(partials[0]);
}

}  // namespace caucus
