// Parallel work in fixed blocks: how the work is cut depends on its size alone, never on the number
// of threads, and partial sums are folded in block order. Same input, same bits, any thread count.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "caucus/base/bytes.h"
#include "caucus/base/workers.h"

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

// The next step of a scope: what was kept of it, read into blank(), else made now and kept.
template <class Blank, class Make>
auto remembered(JournalScope& scope, Blank&& blank, Make&& make) {
  const std::string place = scope.next();
  if (const std::string* bytes = scope.journal().find(place)) {
    auto value = blank();
    Loader loader(*bytes);
    loader(value);
    return value;
  }
  const auto begun = std::chrono::steady_clock::now();
  auto value = make();
  Saver saver;
  saver(value);
  scope.journal().keep(place, saver.bytes(), std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  return value;
}

// Calls body(i) for i in [0, count) on up to `threads` threads. The first exception is rethrown.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

namespace detail {

// The blocks of a range that a process does: whole ones, so that partial sums are the same whoever makes them.
inline std::pair<std::size_t, std::size_t> blocks_of(std::size_t count, int who, int size_of_all) {
  const auto rank = static_cast<std::size_t>(who), size = static_cast<std::size_t>(size_of_all);
  return {count * rank / size, count * (rank + 1) / size};
}
inline std::pair<std::size_t, std::size_t> own_blocks(std::size_t count, const Collective& ranks) {
  return blocks_of(count, ranks.rank(), ranks.size());
}

// Each process makes the partials of its own blocks, and gets those of the others.
template <class Partial, class Make, class Body>
std::vector<Partial> partials_of_all(const Blocks& blocks, const Workers& workers, Make&& make, Body&& body) {
  std::vector<Partial> partials;
  partials.reserve(blocks.count());
  for (std::size_t i = 0; i < blocks.count(); ++i) partials.push_back(make());
  const auto [first, last] = own_blocks(blocks.count(), *workers.ranks);
  const std::size_t own = first;
  parallel_for(last - first, workers.threads,
               [&](std::size_t i) { body(partials[own + i], blocks.begin(own + i), blocks.end(own + i)); });
  Saver mine;
  for (std::size_t i = first; i < last; ++i) mine(partials[i]);
  std::size_t next = 0;
  for (const std::string& bytes : workers.ranks->exchange(mine.bytes()))
    for (Loader loader(bytes); !loader.at_end();) loader(partials.at(next++));
  return partials;
}

}  // namespace detail

// What each process wrote for the elements of its own blocks, `width` values each, goes to all.
template <class T>
void share_rows(const Blocks& blocks, const Workers& workers, T* values, std::size_t width) {
  if (!workers.several() || blocks.count() == 1) return;
  const auto [first, last] = detail::own_blocks(blocks.count(), *workers.ranks);
  const auto row = [&](std::size_t block) {
    return values + (block < blocks.count() ? blocks.begin(block) : blocks.end(block - 1)) * width;
  };
  const std::vector<std::string> all = workers.ranks->exchange(
      std::string(reinterpret_cast<const char*>(row(first)), static_cast<std::size_t>(row(last) - row(first)) * sizeof(T)));
  for (int rank = 0; rank < workers.ranks->size(); ++rank) {
    if (rank == workers.ranks->rank()) continue;
    const std::string& bytes = all[static_cast<std::size_t>(rank)];
    const std::size_t begin = detail::blocks_of(blocks.count(), rank, workers.ranks->size()).first;
    if (!bytes.empty()) std::memcpy(row(begin), bytes.data(), bytes.size());
  }
}

// The elements of a range that are this process's: those of its blocks, all where it is alone.
inline std::pair<std::size_t, std::size_t> own_range(const Blocks& blocks, const Workers& workers) {
  if (!workers.several() || blocks.count() == 1) return {blocks.begin(0), blocks.end(blocks.count() - 1)};
  const auto [first, last] = detail::own_blocks(blocks.count(), *workers.ranks);
  return {blocks.begin(first), first < last ? blocks.end(last - 1) : blocks.begin(first)};
}

// Calls body(begin, end) for blocks, each of which writes `width` values for each of its elements to `values`. Several processes
// share the blocks, and then all have all values.
template <class T, class Body>
void parallel_fill(const Blocks& blocks, const Workers& workers, T* values, std::size_t width, Body&& body) {
  if (!workers.several() || blocks.count() == 1) {
    parallel_for(blocks.count(), workers.threads, [&](std::size_t i) { body(blocks.begin(i), blocks.end(i)); });
    return;
  }
  const auto [first, last] = detail::own_blocks(blocks.count(), *workers.ranks);
  const std::size_t own = first;
  parallel_for(last - first, workers.threads, [&](std::size_t i) { body(blocks.begin(own + i), blocks.end(own + i)); });
  share_rows(blocks, workers, values, width);
}

// One partial result per block, made by `make`, filled by body(partial, begin, end) and folded in
// block order by fold(total, partial). Returns the total. Several processes share the blocks, and a journal keeps the total, where
// a partial result can be written down; `body` must then have no other effect than on it.
template <class Make, class Body, class Fold>
auto parallel_fold(const Blocks& blocks, const Workers& workers, Make&& make, Body&& body, Fold&& fold) {
  using Partial = decltype(make());
  const auto whole = [&] {
    if (blocks.count() == 1) {
      Partial total = make();
      body(total, blocks.begin(0), blocks.end(0));
      return total;
    }
    std::vector<Partial> partials;
    bool made = false;
    if constexpr (Packable<Partial>)
      if (workers.several()) partials = detail::partials_of_all<Partial>(blocks, workers, make, body), made = true;
    if (!made) {
      partials.reserve(blocks.count());
      for (std::size_t i = 0; i < blocks.count(); ++i) partials.push_back(make());
      parallel_for(blocks.count(), workers.threads, [&](std::size_t i) { body(partials[i], blocks.begin(i), blocks.end(i)); });
    }
    for (std::size_t i = 1; i < blocks.count(); ++i) fold(partials[0], partials[i]);
    return std::move(partials[0]);
  };
  if constexpr (Packable<Partial>)
    if (workers.journal != nullptr) return remembered(*workers.journal, make, whole);
  return whole();
}

}  // namespace caucus
