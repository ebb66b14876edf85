#include "caucus/io/unpack.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "caucus/base/error.h"

namespace caucus {

namespace {

constexpr std::string_view gzip_magic = "\x1f\x8b", zstd_magic = "\x28\xb5\x2f\xfd";

[[noreturn]] void throw_too_big(const std::string& name, std::size_t limit) {
  throw DataError(
      fmt::format("{}: unpacks to more than {} MB, too much for an archive of its size; unpack it first", name, limit >> 20));
}

// Room for the next piece of unpacked text; grows by doubling up to the limit.
void make_room(std::string& out, std::size_t used, std::size_t limit, const std::string& name) {
  if (used < out.size()) return;
  if (used >= limit) throw_too_big(name, limit);
  out.resize(std::min(limit, std::max<std::size_t>(1U << 16, out.size() * 2)));
}

std::string unpack_gzip(std::string_view packed, const std::string& name, std::size_t most_at_once) {
  const std::size_t limit = max_unpacked_bytes(packed.size());
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw IoError(name + ": cannot start gzip");
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};

  std::string out;
  std::size_t used = 0;
  std::size_t taken = 0;  // bytes handed to zlib so far; avail_in is 32 bits wide
  for (;;) {
    if (stream.avail_in == 0 && taken < packed.size()) {
      const std::size_t piece = std::min(packed.size() - taken, most_at_once);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
      stream.avail_in = static_cast<uInt>(piece);
      taken += piece;
    }
    make_room(out, used, limit, name);
    const std::size_t room = std::min<std::size_t>(out.size() - used, 1U << 30);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (code == Z_STREAM_END) {
      // An archive may hold several members one after the other; anything else behind it is padding.
      // The next one may lie behind what zlib has been given.
      if (!packed.substr(taken - stream.avail_in).starts_with(gzip_magic)) break;
      if (inflateReset(&stream) != Z_OK) throw DataError(name + ": broken gzip archive");
      continue;
    }
    if (code == Z_BUF_ERROR && stream.avail_in == 0 && taken == packed.size())
      throw DataError(name + ": the gzip archive ends too early");
    if (code != Z_OK && code != Z_BUF_ERROR)
      throw DataError(fmt::format("{}: broken gzip archive ({})", name, stream.msg != nullptr ? stream.msg : "no reason given"));
  }
  out.resize(used);
  return out;
}

std::string unpack_zstd(std::string_view packed, const std::string& name) {
  const std::size_t limit = max_unpacked_bytes(packed.size());
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) throw IoError(name + ": cannot start zstd");
  std::string out;
  std::size_t used = 0;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::size_t pending = 1;
  while (in.pos < in.size || pending != 0) {
    make_room(out, used, limit, name);
    ZSTD_outBuffer piece{out.data() + used, out.size() - used, 0};
    const std::size_t before = in.pos;
    pending = ZSTD_decompressStream(context.get(), &piece, &in);
    if (ZSTD_isError(pending) != 0) throw DataError(fmt::format("{}: broken zstd archive ({})", name, ZSTD_getErrorName(pending)));
    used += piece.pos;
    if (pending != 0 && in.pos == in.size && before == in.pos && piece.pos == 0)
      throw DataError(name + ": the zstd archive ends too early");
  }
  out.resize(used);
  return out;
}

}  // namespace

bool is_packed(std::string_view text) { return text.starts_with(gzip_magic) || text.starts_with(zstd_magic); }

std::string unpack(std::string_view packed, const std::string& name, std::size_t most_at_once) {
  return packed.starts_with(gzip_magic) ? unpack_gzip(packed, name, most_at_once) : unpack_zstd(packed, name);
}

std::size_t max_unpacked_bytes(std::size_t packed_bytes) { return (std::size_t{64} << 20) + 100 * packed_bytes; }

}  // namespace caucus
