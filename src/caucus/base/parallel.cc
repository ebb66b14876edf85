#include "caucus/base/parallel.h"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#ifdef __SANITIZE_THREAD__
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#endif

namespace caucus {

int resolve_threads(int threads) { return threads > 0 ? threads : tbb::info::default_concurrency(); }

#ifdef __SANITIZE_THREAD__
// oneTBB is not built with the sanitizer, which therefore sees neither its locks nor the order they keep, and would report a race
// wherever one thread hands work to another. Plain threads do the same work here, so that what it reports are races of our own.
static void run_on_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> workers;
  for (int t = 1; t < threads; ++t) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  if (failure) std::rethrow_exception(failure);
}
#endif

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  const int resolved = resolve_threads(threads);
  if (resolved == 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
#ifdef __SANITIZE_THREAD__
  run_on_threads(count, resolved, body);
#else
  // More threads than cores are allowed when asked for; without this oneTBB caps them and says so on stderr.
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(resolved));
  tbb::task_arena arena(resolved);
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, count, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t i = range.begin(); i < range.end(); ++i) body(i);
        },
        tbb::simple_partitioner());
  });
#endif
}

}  // namespace caucus
