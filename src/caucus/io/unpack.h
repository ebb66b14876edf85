// Packed text, told by its first bytes: gzip and zstd.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace caucus {

bool is_packed(std::string_view text);

// The text behind `packed`, which is_packed(). Throws DataError (broken, ends too early, unpacks to an absurd size), named `name`.
// zlib counts its input in 32 bits: more than `most_at_once` bytes are handed over in turn.
std::string unpack(std::string_view packed, const std::string& name, std::size_t most_at_once = std::size_t{1} << 30);

// An archive may unpack to this many bytes: generous for text, deadly for no machine.
std::size_t max_unpacked_bytes(std::size_t packed_bytes);

}  // namespace caucus
