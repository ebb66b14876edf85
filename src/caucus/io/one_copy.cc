#include "caucus/io/one_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <optional>

#include "caucus/base/bytes.h"
#include "caucus/base/error.h"
#include "caucus/io/descriptor.h"
#include "caucus/io/file_writer.h"
#include "caucus/io/readers.h"
#include "caucus/io/writers.h"

namespace caucus {

namespace {

class DescriptorSink final : public TextSink {
 public:
  explicit DescriptorSink(int file) : file_(file) {}
  bool finish() {
    drain();
    return sound_;
  }

 private:
  void drain() override {
    sound_ = sound_ && write_full(file_, buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  int file_;
  bool sound_ = true;
};

// The data in a file that is gone when nobody has it open; closed where there is no room for it.
Descriptor written(const Dataset& data, const std::string& folder) {
  const RankingSet& rankings = data.rankings;
  const std::size_t bytes = rankings.items().size_bytes() + rankings.weights().size_bytes() + rankings.offsets().size_bytes() +
                            rankings.row_rankings().size_bytes() + rankings.row_weights().size_bytes();
  for (const bool on_disk : {true, false}) {
    if (on_disk && bytes < Scratch().least) continue;
    Descriptor file = Descriptor::own(on_disk ? ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                                              : ::memfd_create("caucus data", MFD_CLOEXEC));
    if (!file.is_open()) continue;
    DescriptorSink sink(file.get());
    std::vector<std::string> lost;
    write_columnar(data, sink, lost);
    if (sink.finish()) return file;
  }
  return {};
}

// What a process says of its copy.
struct Said {
  enum class What : std::uint8_t { nothing, copy, failure, alone };
  What what = What::nothing;
  std::int64_t process = 0, file = -1;
  std::uint64_t inode = 0;
  std::string text;  // the source of the data, or what went wrong
};
auto parts(IsA<Said> auto& said) { return std::tie(said.what, said.process, said.file, said.inode, said.text); }

// 0: there is no such file.
std::uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}
std::string path_of(const Said& said) { return fmt::format("/proc/{}/fd/{}", said.process, said.file); }

}  // namespace

Dataset read_one_copy(const std::string& path, const ReadOptions& options, const std::function<Dataset(bool keeper)>& read,
                      const std::function<Dataset()>& alone) {
  Collective& ranks = *options.ranks;
  const bool keeper = ranks.first_on_machine() == ranks.rank();
  Said mine;
  std::exception_ptr failure;
  Descriptor file;
  try {
    const Dataset data = read(keeper);
    if (keeper && !data.rankings.empty()) file = written(data, folder_of(path));
    if (keeper) mine = {file.is_open() ? Said::What::copy : Said::What::alone, ::getpid(), file.get(), 0, data.source};
    if (file.is_open()) mine.inode = inode_of(path_of(mine));
  } catch (const Error& error) {
    failure = std::current_exception();
    mine = {Said::What::failure, 0, -1, 0, error.what()};
  }
  Saver saver;
  saver(mine);
  std::vector<Said> all;
  for (const std::string& bytes : ranks.exchange(saver.bytes())) {
    Loader loader(bytes);
    loader(all.emplace_back());
  }
  if (failure) std::rethrow_exception(failure);
  for (const Said& said : all)
    if (said.what == Said::What::failure) throw DataError(said.text);
  for (const Said& said : all)
    if (said.what == Said::What::alone) return alone();
  const Said& own = all[static_cast<std::size_t>(ranks.first_on_machine())];
  std::optional<Source> copy;
  try {
    // A process in a container of its own may know another one by that number.
    if (inode_of(path_of(own)) == own.inode) copy = Source::open_as(path_of(own), path);
  } catch (const Error&) {
    copy = std::nullopt;
  }
  if (ranks.any(!copy || !copy->is_mapped())) return alone();
  Dataset data = read_columnar(*copy, options);
  data.source = own.text;
  return data;
}

}  // namespace caucus
