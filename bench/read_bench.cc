// Reading a large .soi file: caucus against a plain loop of getline and from_chars that keeps the numbers and merges nothing,
// and against one that also merges equal ballots. Answers are compared before anything is timed.
//
//   read_bench [--benchmark_filter=...]       CAUCUS_BENCH_MB=100 sets the size of the file
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/io/io.h"

namespace caucus {
namespace {

// A file of top-t ballots over `num_items` items, most of them distinct.
class TestFile {
 public:
  TestFile(const char* name, std::size_t num_items, std::size_t max_length, std::size_t bytes)
      : path_(std::filesystem::temp_directory_path() / ("caucus-" + std::to_string(::getpid()) + name)) {
    std::string text = "# DATA TYPE: soi\n# NUMBER ALTERNATIVES: " + std::to_string(num_items) + "\n";
    for (std::size_t i = 1; i <= num_items; ++i)
      text += "# ALTERNATIVE NAME " + std::to_string(i) + ": item " + std::to_string(i) + "\n";
    RandomStream stream(1);
    std::vector<std::size_t> order(num_items);
    for (std::size_t i = 0; i < num_items; ++i) order[i] = i + 1;
    while (text.size() < bytes) {
      const std::size_t length = 1 + stream.below(max_length);
      for (std::size_t i = 0; i < length; ++i) std::swap(order[i], order[i + stream.below(num_items - i)]);
      text += std::to_string(1 + stream.below(3));
      text += ':';
      for (std::size_t i = 0; i < length; ++i) {
        text += i == 0 ? ' ' : ',';
        text += std::to_string(order[i]);
      }
      text += '\n';
    }
    size_ = text.size();
    write_file(path_.string(), text);
  }
  ~TestFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  std::size_t size() const { return size_; }

 private:
  std::filesystem::path path_;
  std::size_t size_ = 0;
};

struct Plain {
  std::vector<unsigned> items;
  std::vector<std::size_t> offsets{0};
  std::vector<double> weights;
};

// What a careful hour gives: no checks, no merging, no names.
Plain read_plainly(const std::string& path) {
  Plain data;
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    const char* p = line.data();
    const char* end = p + line.size();
    unsigned value = 0;
    p = std::from_chars(p, end, value).ptr;
    data.weights.push_back(value);
    ++p;
    while (p < end) {
      while (p < end && (*p == ' ' || *p == ',')) ++p;
      const auto result = std::from_chars(p, end, value);
      if (result.ec != std::errc()) break;
      data.items.push_back(value - 1);
      p = result.ptr;
    }
    data.offsets.push_back(data.items.size());
  }
  return data;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum;
}

// The two read the same ballots, row by row.
void check(const Plain& plain, const Dataset& data) {
  const auto fail = [](const char* what) {
    std::fprintf(stderr, "read_bench: the two readers differ in %s\n", what);
    std::exit(1);
  };
  if (plain.weights.size() != data.rankings.num_rows()) fail("the number of rows");
  if (sum_of(plain.weights) != data.rankings.total_weight()) fail("the total weight");
  for (std::size_t row = 0; row < plain.weights.size(); ++row) {
    const RankingView ranking = data.rankings[data.rankings.row_ranking(row)];
    if (ranking.size() != plain.offsets[row + 1] - plain.offsets[row] || data.rankings.row_weight(row) != plain.weights[row])
      fail("a row");
    for (std::size_t i = 0; i < ranking.size(); ++i)
      if (ranking[i] != plain.items[plain.offsets[row] + i]) fail("an item");
  }
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void bench_caucus(benchmark::State& state, const TestFile& file) {
  read_dataset(file.path());  // the first use of fresh memory is the system's time; in a virtual machine it is most of it
  for (auto _ : state) benchmark::DoNotOptimize(read_dataset(file.path()).rankings.size());
  state.SetBytesProcessed(static_cast<std::int64_t>(file.size()) * state.iterations());
}

// Memory, in a process of its own: the peak while reading against what the data set keeps (below 3 wanted).
int print_peak(const char* path) {
  const double before = peak_megabytes();
  const Dataset data = read_dataset(path);
  const double kept = static_cast<double>(data.rankings.memory_bytes()) / 1048576.0;
  std::printf("memory: dataset %.0f MB, peak %.0f MB above the empty process, ratio %.2f (%s)\n", kept, peak_megabytes() - before,
              (peak_megabytes() - before) / kept, path);
  return 0;
}

void run_print_peak(const TestFile& file) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "read_bench", "--peak", file.path().c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

void bench_plain(benchmark::State& state, const TestFile& file) {
  read_plainly(file.path());
  for (auto _ : state) {
    const Plain data = read_plainly(file.path());
    benchmark::DoNotOptimize(data.items.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(file.size()) * state.iterations());
}

// The plain loop, and what a data set needs besides: equal ballots merged, by the obvious map.
void bench_plain_merged(benchmark::State& state, const TestFile& file) {
  for (auto _ : state) {
    const Plain data = read_plainly(file.path());
    std::map<std::vector<unsigned>, double> merged;
    for (std::size_t row = 0; row < data.weights.size(); ++row)
      merged[std::vector<unsigned>(data.items.begin() + static_cast<std::ptrdiff_t>(data.offsets[row]),
                                   data.items.begin() + static_cast<std::ptrdiff_t>(data.offsets[row + 1]))] += data.weights[row];
    benchmark::DoNotOptimize(merged.size());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(file.size()) * state.iterations());
}

// Other formats, from memory: the same ballots as this format writes them.
void bench_parse(benchmark::State& state, const Dataset& data, const char* extension) {
  const std::string name = std::string("x.") + extension;
  const std::string text = format_dataset(data, name);
  for (auto _ : state) benchmark::DoNotOptimize(parse_dataset(text, name).rankings.size());
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  state.SetItemsProcessed(static_cast<std::int64_t>(data.rankings.num_rows()) * state.iterations());
}

void bench_write(benchmark::State& state, const Dataset& data, const char* extension) {
  std::size_t bytes = 0;
  for (auto _ : state) bytes = format_dataset(data, std::string("x.") + extension).size();
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  state.SetItemsProcessed(static_cast<std::int64_t>(data.rankings.num_rows()) * state.iterations());
}

}  // namespace
}  // namespace caucus

int main(int argc, char** argv) {
  using namespace caucus;
  if (argc == 3 && std::string_view(argv[1]) == "--peak") return print_peak(argv[2]);
  benchmark::Initialize(&argc, argv);
  const char* megabytes = std::getenv("CAUCUS_BENCH_MB");
  const std::size_t bytes = (megabytes != nullptr ? std::strtoul(megabytes, nullptr, 10) : 100) << 20;
  // Long ballots over many items, as races and web searches are, and short ones over few, as elections are.
  const TestFile long_ballots("-long.soi", 100, 40, bytes);
  const TestFile short_ballots("-short.soi", 12, 12, bytes);
  if (std::getenv("CAUCUS_BENCH_UNCHECKED") == nullptr)
    for (const TestFile* file : {&long_ballots, &short_ballots}) check(read_plainly(file->path()), read_dataset(file->path()));
  for (const TestFile* file : {&long_ballots, &short_ballots}) run_print_peak(*file);
  for (const auto& [name, file] : {std::pair{"long", &long_ballots}, std::pair{"short", &short_ballots}}) {
    benchmark::RegisterBenchmark((std::string("read_caucus/") + name).c_str(),
                                 [f = file](benchmark::State& s) { bench_caucus(s, *f); })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(5);
    benchmark::RegisterBenchmark((std::string("read_getline/") + name).c_str(),
                                 [f = file](benchmark::State& s) { bench_plain(s, *f); })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(5);
  }
  benchmark::RegisterBenchmark("read_getline_and_map/long", [&](benchmark::State& s) { bench_plain_merged(s, long_ballots); })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
  const Dataset data = read_dataset(short_ballots.path());
  for (const char* extension : {"soi", "csv", "jsonl", "blt"})
    benchmark::RegisterBenchmark((std::string("write/") + extension).c_str(), [&, extension](benchmark::State& s) {
      bench_write(s, data, extension);
    })->Unit(benchmark::kMillisecond);
  for (const char* extension : {"csv", "jsonl", "blt"})
    benchmark::RegisterBenchmark((std::string("parse/") + extension).c_str(), [&, extension](benchmark::State& s) {
      bench_parse(s, data, extension);
    })->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
