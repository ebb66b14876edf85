// Lists of tasks that know nothing of each other: starts, moves, folds, chains, samples.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "caucus/base/parallel.h"

namespace caucus {

// body(i) for i < count on the threads and processes of `workers`, each a function of i alone; the results by i, none where the
// body gave none (it was stopped before it began). What is whole(result) goes to the journal, and is not done again. Processes take
// the next task whenever they are free: a slow one does not hold up the others.
template <class Value, class Body, class Whole>
std::vector<std::optional<Value>> run_tasks(const Workers& workers, std::size_t count, Body&& body, Whole&& whole) {
  std::vector<std::optional<Value>> results(count);
  std::vector<std::size_t> open;
  const std::string section = workers.journal != nullptr ? workers.journal->next() + "/" : "";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string* kept = workers.journal != nullptr ? workers.journal->journal().find(section + std::to_string(i)) : nullptr;
    if (kept == nullptr) {
      open.push_back(i);
      continue;
    }
    Loader loader(*kept);
    loader(results[i].emplace());
  }
  const auto keep = [&](std::size_t i, const Saver& saver, double seconds) {
    if (workers.journal != nullptr && whole(*results[i]))
      workers.journal->journal().keep(section + std::to_string(i), saver.bytes(), seconds);
  };
  const auto run = [&](std::size_t i) {
    const auto begun = std::chrono::steady_clock::now();
    results[i] = body(i);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  if (!workers.several()) {
    parallel_for(open.size(), workers.threads, [&](std::size_t t) {
      const double seconds = run(open[t]);
      if (workers.journal == nullptr || !results[open[t]]) return;
      Saver saver;
      saver(*results[open[t]]);
      keep(open[t], saver, seconds);
    });
    return results;
  }
  Collective& ranks = *workers.ranks;
  ranks.deal();
  std::vector<double> seconds(count, -1.0);  // of those done here
  parallel_for(static_cast<std::size_t>(resolve_threads(workers.threads)), workers.threads, [&](std::size_t) {
    for (std::size_t t = ranks.ticket(); t < open.size(); t = ranks.ticket()) seconds[open[t]] = run(open[t]);
  });
  Saver mine;
  for (const std::size_t i : open)
    if (seconds[i] >= 0.0 && results[i]) mine(std::uint64_t{i}, seconds[i], *results[i]);
  for (const std::string& bytes : ranks.exchange(mine.bytes()))
    for (Loader loader(bytes); !loader.at_end();) {
      std::uint64_t i = 0;
      double took = 0.0;
      loader(i, took);
      loader(results.at(i).emplace());
      Saver saver;
      saver(*results[i]);
      keep(i, saver, took);
    }
  return results;
}

}  // namespace caucus
