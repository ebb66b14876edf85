#include "caucus/base/parallel.h"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace caucus {

int resolve_threads(int threads) { return threads > 0 ? threads : tbb::info::default_concurrency(); }

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  const int resolved = resolve_threads(threads);
  if (resolved == 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  // More threads than cores are allowed when asked for; without this oneTBB caps them and says so on stderr.
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(resolved));
  tbb::task_arena arena(resolved);
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 1),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        for (std::size_t i = range.begin(); i < range.end(); ++i) body(i);
                      },
                      tbb::simple_partitioner());
  });
}

}  // namespace caucus
