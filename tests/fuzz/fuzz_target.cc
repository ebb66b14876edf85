// One libFuzzer target; CAUCUS_FUZZ_TARGET names what it reads: a format as on the command line, "auto" or "table".
#include <cstdint>
#include <cstdio>
#include <exception>

#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  constexpr std::string_view target = CAUCUS_FUZZ_TARGET;
  try {
    if constexpr (target == "table")
      caucus::fuzz::check_table(text);
    else
      caucus::fuzz::check_reader(*caucus::enum_from_name<caucus::Format>(target), text);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    __builtin_trap();
  }
  return 0;
}
