// A checksum of bytes: tells a damaged file from a sound one, and promises nothing against forgery.
#pragma once

#include <string>
#include <string_view>

namespace caucus {

// XXH3-128 as 32 hexadecimal digits.
std::string checksum(std::string_view bytes);

}  // namespace caucus
