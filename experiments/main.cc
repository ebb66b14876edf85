// caucus-experiments: the tables and figures of the five papers, one target each.
//
//   caucus-experiments list   [--out DIR]
//   caucus-experiments run    all|NAME... [--quick] [--data DIR] [--out DIR] [--trials N] [--threads N]
//   caucus-experiments tables all|NAME... [--quick] [--out DIR] [--docs FILE]
//   caucus-experiments repeat all|NAME... [--lines N] [--seconds S] [--seed N] [--unrecorded] [--replace] [--quick] [--data DIR]
//                             [--out DIR]
//
// `run` does what is not yet in OUT/paperN.jsonl, one line per unit of work, so a run that was stopped goes on, and several
// processes share what is left (mpirun -n 8 caucus-experiments run paper1 --threads 1, or just start it again); then it writes
// OUT/NAME.md and OUT/NAME.svg. `tables` only writes these, and with --docs also puts each table between the lines
// "<!-- NAME -->" and "<!-- end -->" of FILE. `repeat` draws N lines that took at most S seconds, runs them again and compares all
// but times; it fails where they differ, and with --replace writes them all as they come out now. --unrecorded takes lines that do
// not say which compiler and CPU made them, the quickest first. --quick has files of its own: paperN-quick.jsonl, NAME-quick.md.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "caucus/base/error.h"
#include "caucus/io/io.h"
#include "harness.h"

namespace {

using namespace caucus;
using namespace caucus::experiments;

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const auto& paper :
       {paper1_targets, paper2_targets, paper3_targets, paper4_targets, paper5_targets, findings_targets, choosing_targets})
    for (Target& target : paper()) all.push_back(std::move(target));
  return all;
}

struct Arguments {
  std::string command, docs;
  std::vector<Target> targets;
  Settings settings;
  std::size_t lines = 10;  // repeat
  double seconds = 1.0;
  std::optional<std::uint64_t> seed;
  bool replace = false, unrecorded = false;
};

Arguments parse(int argc, char** argv) {
  Arguments result;
  const char* data = std::getenv("CAUCUS_DATA");
  result.settings.data = data != nullptr ? data : "../shared/data";
  result.settings.out = "experiments/results";
  const std::vector<Target> all = all_targets();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw UsageError(word + " needs a value");
      return argv[++i];
    };
    if (word == "--data")
      result.settings.data = value();
    else if (word == "--out")
      result.settings.out = value();
    else if (word == "--docs")
      result.docs = value();
    else if (word == "--quick")
      result.settings.quick = true;
    else if (word == "--replace")
      result.replace = true;
    else if (word == "--unrecorded")
      result.unrecorded = true;
    else if (word == "--lines")
      result.lines = std::stoul(value());
    else if (word == "--seconds")
      result.seconds = std::stod(value());
    else if (word == "--seed")
      result.seed = std::stoull(value());
    else if (word == "--trials")
      result.settings.trials = std::stoi(value());
    else if (word == "--threads")
      result.settings.threads = std::stoi(value());
    else if (word.starts_with("-"))
      throw UsageError("unknown flag " + word);
    else if (result.command.empty())
      result.command = word;
    else {
      const std::size_t before = result.targets.size();
      for (const Target& target : all)  // "paper1" is all of paper 1
        if (word == "all" || target.name == word || target.name.starts_with(word + "-")) result.targets.push_back(target);
      if (result.targets.size() == before) throw UsageError("there is no target " + word + "; caucus-experiments list names them");
    }
  }
  if (result.command != "list" && result.command != "run" && result.command != "tables" && result.command != "repeat")
    throw UsageError(
        "usage: caucus-experiments list | run all|NAME... [--quick] [--data DIR] [--out DIR] [--trials N] [--threads N] | tables "
        "all|NAME... [--docs FILE] | repeat all|NAME... [--lines N] [--seconds S] [--seed N] [--unrecorded] [--replace]");
  if (result.command != "list" && result.targets.empty()) throw UsageError("say which target, or all");
  return result;
}

void put_between_markers(std::string& text, const std::string& name, const std::string& table) {
  const std::string begin = "<!-- " + name + " -->\n", end = "<!-- end -->";
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return;
  const std::size_t to = text.find(end, from);
  if (to == std::string::npos) throw DataError("no " + end + " after " + begin);
  text.replace(from + begin.size(), to - from - begin.size(), table);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw NoInputError(path + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string paper_of(const Target& target) { return target.name.substr(0, target.name.find('-')); }

bool makes(const Target& target, const std::string& key) {
  for (const std::string& prefix : keys_of(target))
    if (key.starts_with(prefix)) return true;
  return false;
}

// How long each target took where its lines say so.
void list(const Settings& settings) {
  std::map<std::string, Results> files;
  for (const Target& target : all_targets()) {
    const Results& results = files.try_emplace(paper_of(target), settings.out + "/" + paper_of(target) + ".jsonl").first->second;
    double seconds = 0.0;
    std::size_t lines = 0, told = 0;
    for (const auto& [key, line] : results.lines()) {
      if (!makes(target, key)) continue;
      ++lines;
      if (const auto took = recorded_seconds(line)) seconds += *took, ++told;
    }
    std::string time = "not run";
    if (lines > 0 && told == 0) time = "time not recorded";
    if (told > 0)
      time = (seconds < 99.5 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60.0)) +
             (told < lines ? fmt::format(" ({} of {} lines)", told, lines) : std::string());
    fmt::print("{:20} {:24} {}\n", target.name, time, target.what);
  }
}

// Draws lines on file, runs them again and says which come out different. Their number is the exit code's reason.
std::size_t repeat(const Arguments& arguments) {
  const Settings& settings = arguments.settings;
  std::map<std::string, Results> files;
  std::vector<std::tuple<double, std::string, std::string>> small;  // seconds, paper, key
  for (const Target& target : arguments.targets) {
    const std::string paper = paper_of(target);
    const Results& results =
        files.try_emplace(paper, settings.out + "/" + paper + (settings.quick ? "-quick" : "") + ".jsonl").first->second;
    for (const auto& [key, line] : results.lines()) {
      const double took = recorded_seconds(line).value_or(arguments.unrecorded ? 0.0 : 1e300);  // old lines may not say
      if (makes(target, key) && took <= arguments.seconds && (!arguments.unrecorded || !says_what_made_it(line)))
        small.emplace_back(took, paper, key);
    }
  }
  std::sort(small.begin(), small.end());
  small.erase(std::unique(small.begin(), small.end()), small.end());
  const std::uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}();
  if (!arguments.unrecorded) std::shuffle(small.begin(), small.end(), std::mt19937_64(seed));
  const std::size_t eligible = small.size();
  if (small.size() > arguments.lines) small.resize(arguments.lines);
  for (auto& [paper, results] : files) {
    std::set<std::string> keys;
    for (const auto& [took, of, key] : small)
      if (of == paper) keys.insert(key);
    results.repeat(keys);
    for (const Target& target : arguments.targets)
      if (paper_of(target) == paper && std::ranges::any_of(keys, [&](const std::string& key) { return makes(target, key); }))
        target.run(settings, results);
  }
  std::size_t different = 0, same = 0;
  for (auto& [paper, results] : files) {
    for (const Results::Repeated& one : results.repeated()) {
      if (one.difference.empty())
        ++same;
      else
        ++different, fmt::print("{} {}: {}\n", paper, one.key, one.difference);
    }
    for (const std::string& key : results.not_repeated())
      ++different, fmt::print("{} {}: no target makes this line any more\n", paper, key);
    if (arguments.replace) results.replace_repeated();
  }
  if (arguments.unrecorded)
    fmt::print("{} lines the same, {} different; {} more do not say what made them\n", same, different, eligible - small.size());
  else
    fmt::print("{} lines the same, {} different (--seed {})\n", same, different, seed);
  return different;
}

}  // namespace

int main(int argc, char** argv) try {
  const Arguments arguments = parse(argc, argv);
  const Settings& settings = arguments.settings;
  if (arguments.command == "list") {
    list(settings);
    return 0;
  }
  if (arguments.command == "repeat") return repeat(arguments) == 0 || arguments.replace ? 0 : 1;
  const std::string suffix = settings.quick ? "-quick" : "";
  std::string docs = arguments.docs.empty() ? std::string() : read_text(arguments.docs);
  std::map<std::string, Results> files;
  for (const Target& target : arguments.targets) {
    const std::string paper = paper_of(target);
    Results& results = files.try_emplace(paper, settings.out + "/" + paper + suffix + ".jsonl").first->second;
    if (arguments.command == "run") {
      fmt::print(stderr, "{}: {}\n", target.name, target.what);
      try {
        target.run(settings, results);
      } catch (const NoInputError& missing) {  // data that are not there stop one target, not all
        if (arguments.targets.size() == 1) throw;
        fmt::print(stderr, "{}: skipped, {}\n", target.name, missing.what());
      }
    }
    results.read();
    const Report report = target.report(settings, results);
    if (!report.table.empty()) write_file(settings.out + "/" + target.name + suffix + ".md", report.table);
    if (!report.svg.empty()) write_file(settings.out + "/" + target.name + suffix + ".svg", report.svg);
    if (!docs.empty() && !report.table.empty()) put_between_markers(docs, target.name, report.table);
  }
  if (!docs.empty()) write_file(arguments.docs, docs);
  return 0;
} catch (const caucus::UsageError& error) {
  fmt::print(stderr, "caucus-experiments: {}\n", error.what());
  return 64;
} catch (const caucus::NoInputError& error) {
  fmt::print(stderr, "caucus-experiments: {}\n", error.what());
  return 66;
} catch (const std::exception& error) {
  fmt::print(stderr, "caucus-experiments: {}\n", error.what());
  return 1;
}
