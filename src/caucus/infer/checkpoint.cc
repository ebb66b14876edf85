#include "caucus/infer/checkpoint.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "caucus/base/error.h"
#include "caucus/data/checksum.h"
#include "caucus/io/io.h"

namespace caucus {

namespace {
constexpr const char* checkpoint_format = "caucus.checkpoint/1";
constexpr const char* checkpoint_remedy = "remove it or name another file";
}  // namespace

void Checkpoint::save(const Saver& state) const {
  Saver content;
  content(std::string(checkpoint_format), who_, key_);
  const std::string body = content.bytes() + state.bytes();
  // A second name for the file that is there: at every moment one of the two is whole.
  std::error_code none;
  const std::string second = previous() + ".new";
  std::filesystem::remove(second, none);
  std::filesystem::create_hard_link(path_, second, none);
  if (!none) std::filesystem::rename(second, previous(), none);
  write_file(path_, checksum(body) + body);
}

void Checkpoint::damaged() const {
  throw DataError(fmt::format("{}: not a checkpoint, or a damaged one; {}", path_, checkpoint_remedy));
}

std::optional<Loader> Checkpoint::load(const std::function<void(std::string_view)>& warn) const {
  if (!std::filesystem::exists(path_)) return std::nullopt;
  try {
    return load_from(path_);
  } catch (const DataError& refusal) {
    if (!std::filesystem::exists(previous())) throw;
    std::optional<Loader> before;
    try {
      before = load_from(previous());
    } catch (const DataError&) {
    }
    if (!before) throw;
    warn(fmt::format("{}. The one before it, {}, is used.", refusal.what(), previous()));
    // Else the next save would put the damaged one in the place of the sound one.
    std::filesystem::copy_file(previous(), path_, std::filesystem::copy_options::overwrite_existing);
    return before;
  }
}

Loader Checkpoint::load_from(const std::string& path) const {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  // The checksum goes before the content: one changed byte, or a missing end, and nothing in it is to be trusted.
  const std::size_t head = checksum({}).size();
  if (bytes.size() < head || checksum(std::string_view(bytes).substr(head)) != bytes.substr(0, head)) damaged();
  Loader loader(bytes.substr(head));
  std::string format, who, key;
  try {
    loader(format, who, key);
  } catch (const BadState&) {
    damaged();
  }
  if (format != checkpoint_format) damaged();
  if (who != who_)
    throw DataError(fmt::format("{}: a checkpoint of {}, but the run is of {}; {}", path_, who, who_, checkpoint_remedy));
  if (key != key_)
    throw DataError(
        fmt::format("{}: the checkpoint is of other data, another seed or other options; {}", path_, checkpoint_remedy));
  return loader;
}

}  // namespace caucus
