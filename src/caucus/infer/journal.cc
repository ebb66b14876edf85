#include "caucus/infer/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "caucus/base/bytes.h"
#include "caucus/base/error.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus {

namespace {

constexpr const char* journal_format = "caucus.journal/1";
constexpr const char* journal_remedy = "remove it, name another file, or leave --resume out";
// A result is kept where its room takes less time to fill than the result took: four megabytes a second, so that the shortest runs
// of small fits, of half a kilobyte and a third of a millisecond, are kept too.
constexpr double bytes_per_second = 4e6;
constexpr std::size_t most_waiting = std::size_t{64} << 20;

struct JournalRecord {
  std::uint64_t size, checksum;
};

std::string as_record(const std::string& bytes) {
  const JournalRecord head{bytes.size(), XXH3_64bits(bytes.data(), bytes.size())};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + bytes;
}

// The record at `position`, which moves behind it; false where there is none that is whole.
bool take_journal_record(const std::string& bytes, std::size_t& position, std::string& content) {
  JournalRecord head{};
  if (bytes.size() - position < sizeof head) return false;
  std::memcpy(&head, bytes.data() + position, sizeof head);
  if (head.size > bytes.size() - position - sizeof head) return false;
  content = bytes.substr(position + sizeof head, head.size);
  if (XXH3_64bits(content.data(), content.size()) != head.checksum) return false;
  position += sizeof head + head.size;
  return true;
}

}  // namespace

FileJournal::FileJournal(const JournalPlan& plan, std::string key, Collective* ranks, std::function<void(std::string_view)> warn,
                         std::function<bool()> stopped)
    : plan_(plan), warn_(std::move(warn)), stopped_(std::move(stopped)) {
  writes_ = ranks == nullptr || ranks->rank() == 0;
  if (writes_) open(key);
  if (ranks != nullptr) share(*ranks);
}

FileJournal::~FileJournal() {
  const std::lock_guard lock(mutex_);
  flush();
}

void FileJournal::open(const std::string& key) {
  const std::string previous = plan_.path + ".previous";
  std::error_code ignored;
  const bool there = std::filesystem::exists(plan_.path, ignored);
  std::string why;
  if (plan_.resume && there && !read(plan_.path, key, why)) {
    std::string why_not;
    if (!std::filesystem::exists(previous, ignored) || !read(previous, key, why_not)) throw DataError(why);
    warn_(fmt::format("{} The one before it, {}, is used.", why, previous));
    std::filesystem::copy_file(previous, plan_.path, std::filesystem::copy_options::overwrite_existing, ignored);
  } else if (!plan_.resume && there) {
    std::filesystem::rename(plan_.path, previous, ignored);
  }
  const int number = ::open(plan_.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (number < 0) throw IoError(fmt::format("{}: cannot be written: {}", plan_.path, std::strerror(errno)));
  file_ = Descriptor::own(number);
  if (written_ == 0) begin_file(key);
  if (::ftruncate(number, static_cast<off_t>(written_)) != 0 || ::lseek(number, static_cast<off_t>(written_), SEEK_SET) < 0)
    throw IoError(fmt::format("{}: cannot be written: {}", plan_.path, std::strerror(errno)));
}

void FileJournal::begin_file(const std::string& key) {
  Saver head;
  head(std::string(journal_format), key);
  const std::string bytes = as_record(head.bytes());
  if (!write_full(file_.get(), bytes.data(), bytes.size()) || ::fdatasync(file_.get()) != 0)
    throw IoError(fmt::format("{}: cannot be written: {}", plan_.path, std::strerror(errno)));
  written_ = bytes.size();
}

// False with the reason where the file cannot be used at all.
bool FileJournal::read(const std::string& path, const std::string& key, std::string& why) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::size_t position = 0;
  std::string content, format, of;
  if (bytes.empty()) return true;  // killed before it wrote anything
  const bool sound = take_journal_record(bytes, position, content);
  if (sound) {
    try {
      Loader head(content);
      head(format, of);
    } catch (const BadState&) {
      format.clear();
    }
  }
  if (!sound || format != journal_format) {
    why = fmt::format("{}: not a checkpoint, or a damaged one; {}", path, journal_remedy);
    return false;
  }
  if (of != key) {
    why = fmt::format("{}: the checkpoint is of other data, another seed, other options or another version; {}", path,
                      journal_remedy);
    return false;
  }
  std::map<std::string, std::string> found;
  std::size_t end = position;
  while (take_journal_record(bytes, position, content)) {
    std::string place, value;
    try {
      Loader loader(content);
      loader(place, value);
    } catch (const BadState&) {
      break;
    }
    found[place] = std::move(value);
    end = position;
  }
  if (end < bytes.size())
    warn_(fmt::format("{}: the end of the checkpoint, {} bytes, is damaged; the {} results before it are used", path,
                      bytes.size() - end, found.size()));
  found_ = std::move(found);
  written_ = end;
  return true;
}

void FileJournal::share(Collective& ranks) {
  Saver mine;
  if (ranks.rank() == 0)
    for (const auto& [place, value] : found_) mine(place, value);
  const std::string all = ranks.exchange(mine.bytes()).front();
  if (ranks.rank() == 0) return;
  for (Loader loader(all); !loader.at_end();) {
    std::string place, value;
    loader(place, value);
    found_[place] = std::move(value);
  }
}

const std::string* FileJournal::find(const std::string& place) const {
  const auto at = found_.find(place);
  return at == found_.end() ? nullptr : &at->second;
}

void FileJournal::keep(const std::string& place, const std::string& bytes, double seconds) {
  if (!writes_ || static_cast<double>(bytes.size()) > bytes_per_second * seconds) return;
  if (stopped_ && stopped_()) close();
  if (closed_) return;
  Saver content;
  content(place, bytes);
  const std::lock_guard lock(mutex_);
  if (waiting_.size() > most_waiting) return;
  waiting_ += as_record(content.bytes());
  if (std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count() >= plan_.every) flush();
}

void FileJournal::flush() {
  last_ = std::chrono::steady_clock::now();
  if (waiting_.empty() || !file_.is_open()) return;
  if (write_full(file_.get(), waiting_.data(), waiting_.size()) && ::fdatasync(file_.get()) == 0) {
    written_ += waiting_.size();
    waiting_.clear();
    return;
  }
  const int reason = errno;
  // A part of a record must not stand before the next ones.
  if (::ftruncate(file_.get(), static_cast<off_t>(written_)) != 0 ||
      ::lseek(file_.get(), static_cast<off_t>(written_), SEEK_SET) < 0)
    file_.close();
  if (!full_ && warn_)
    warn_(fmt::format("{}: the checkpoint cannot be written ({}); what was written before stays, and it is tried again", plan_.path,
                      std::strerror(reason)));
  full_ = true;
}

}  // namespace caucus
