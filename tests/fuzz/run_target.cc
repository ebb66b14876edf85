// The checks, compiled once for all targets.
#include <cstdio>
#include <exception>

#include "check.h"

namespace caucus::fuzz {

void run_target(std::string_view target, std::string_view text);

void run_target(std::string_view target, std::string_view text) {
  try {
    if (target == "table")
      check_table(text);
    else
      check_reader(*enum_from_name<Format>(target), text);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    __builtin_trap();
  }
}

}  // namespace caucus::fuzz
