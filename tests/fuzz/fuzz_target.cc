// One libFuzzer target; CAUCUS_FUZZ_TARGET names what it reads: a format as on the command line, "auto" or "table".
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace caucus::fuzz {
void run_target(std::string_view target, std::string_view text);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  caucus::fuzz::run_target(CAUCUS_FUZZ_TARGET, {reinterpret_cast<const char*>(bytes), size});
  return 0;
}
