#include "caucus/io/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "caucus/base/error.h"

namespace caucus {

void Spool::open(const std::string& folder, std::size_t num_items) {
  folder_ = folder.empty() ? "." : folder;
  num_items_ = num_items;
  std::string name = folder_ + "/caucus-XXXXXX";
  file_ = Descriptor::own(::mkostemp(name.data(), O_CLOEXEC));
  if (!file_.is_open())
    throw IoError(
        fmt::format("{}: no temporary file can be made there: {}; name another folder in TMPDIR", folder_, std::strerror(errno)));
  ::unlink(name.c_str());
}

void Spool::put(const void* data, std::size_t bytes) {
  if (!write_full(file_.get(), data, bytes))
    throw IoError(fmt::format("{}: writing a temporary file failed: {}; name a folder with more room in TMPDIR", folder_,
                              std::strerror(errno)));
}

bool Spool::get(void* data, std::size_t bytes) {
  const ssize_t got = read_full(file_.get(), data, bytes);
  if (got == 0 && bytes > 0) return false;
  if (got < static_cast<ssize_t>(bytes))
    throw IoError(
        fmt::format("{}: reading a temporary file failed: {}", folder_, got < 0 ? std::strerror(errno) : "it ends too early"));
  return true;
}

template <class Number>
void Spool::pack(const RankingSet& piece) {
  bytes_.resize(piece.items().size() * sizeof(Number));
  char* p = bytes_.data();
  for (const ItemId item : piece.items()) {
    const auto number = static_cast<Number>(item);
    std::memcpy(p, &number, sizeof number);
    p += sizeof number;
  }
  put(bytes_.data(), bytes_.size());
}

template <class Number>
void Spool::unpack(std::size_t size, std::vector<ItemId>& items) {
  items.resize(size * num_items_);
  bytes_.resize(items.size() * sizeof(Number));
  if (!get(bytes_.data(), bytes_.size())) throw IoError(folder_ + ": a temporary file ends too early");
  const char* p = bytes_.data();
  for (ItemId& item : items) {
    Number number;
    std::memcpy(&number, p, sizeof number);
    item = number;
    p += sizeof number;
  }
}

void Spool::write(const RankingSet& piece) {
  if (piece.empty()) return;
  const auto weights = piece.weights();
  const bool whole = std::all_of(weights.begin(), weights.end(), [](double w) { return w == std::floor(w) && w < 4294967296.0; });
  const PieceHead head{piece.size(), whole ? 1U : 0U};
  put(&head, sizeof head);
  if (whole) {
    const std::vector<std::uint32_t> counts(weights.begin(), weights.end());
    put(counts.data(), counts.size() * sizeof counts[0]);
  } else {
    put(weights.data(), weights.size_bytes());
  }
  if (num_items_ <= 256)
    pack<std::uint8_t>(piece);
  else if (num_items_ <= 65536)
    pack<std::uint16_t>(piece);
  else
    pack<std::uint32_t>(piece);
}

void Spool::rewind() {
  if (::lseek(file_.get(), 0, SEEK_SET) < 0)
    throw IoError(fmt::format("{}: reading a temporary file failed: {}", folder_, std::strerror(errno)));
}

bool Spool::read(RankingSet& piece) {
  PieceHead head{};
  if (!get(&head, sizeof head)) return false;
  std::vector<double> weights(head.size);
  const char* early = ": a temporary file ends too early";
  if (head.whole_weights == 1) {
    std::vector<std::uint32_t> counts(head.size);
    if (!get(counts.data(), counts.size() * sizeof counts[0])) throw IoError(folder_ + early);
    std::copy(counts.begin(), counts.end(), weights.begin());
  } else if (!get(weights.data(), weights.size() * sizeof weights[0])) {
    throw IoError(folder_ + early);
  }
  std::vector<ItemId> items;
  if (num_items_ <= 256)
    unpack<std::uint8_t>(head.size, items);
  else if (num_items_ <= 65536)
    unpack<std::uint16_t>(head.size, items);
  else
    unpack<std::uint32_t>(head.size, items);
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < head.size; ++i)
    builder.append(std::span<const ItemId>(items).subspan(i * num_items_, num_items_), weights[i]);
  piece = builder.build();
  return true;
}

}  // namespace caucus
