// What every command that fits takes: --seed, --threads, --time-limit, --out, --report, --json.
#pragma once

#include <string>

#include "commands.h"
#include "report.h"

namespace caucus::cli {

struct RunFlagTexts {
  std::string seed = "seed of all random numbers; same seed, same result";
  std::string threads = "number of threads, 0 for all cores; the result does not depend on it";
  std::string time_limit;
  std::string out;
};

// Flags has seed, time_limit, out and report.
template <class Flags>
void add_run_flags(CLI::App& command, Flags& flags, Context& context, const RunFlagTexts& texts) {
  command.add_option("--seed", flags.seed, texts.seed)->capture_default_str();
  command.add_option("--threads", context.threads, texts.threads)->check(CLI::Range(0, 4096))->capture_default_str();
  command.add_option("--time-limit", flags.time_limit, texts.time_limit)->check(CLI::NonNegativeNumber);
  command.add_option("-o,--out", flags.out, texts.out)->type_name("FILE");
  add_report_flag(command, flags.report);
  command.add_flag("--json", context.json, "print the result as one JSON object");
}

}  // namespace caucus::cli
