#include "caucus/io/stream.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "caucus/base/error.h"
#include "caucus/io/columnar.h"
#include "caucus/io/descriptor.h"
#include "caucus/io/item_edits.h"
#include "caucus/io/readers.h"
#include "caucus/io/spool.h"
#include "caucus/io/unpack.h"

namespace caucus {

namespace {

// Blocks of whole lines from a descriptor. Every block but the last is read in full before it is cut, so where it is cut depends on
// the text alone, not on how a pipe delivers it.
class LineBlocks {
 public:
  LineBlocks(const std::string& path, std::size_t block) : file_(open_input(path)), name_(input_name(path)), block_(block) {}

  const std::string& name() const { return name_; }

  // Whole lines; empty at the end of the text. Valid until the next call.
  std::string_view next() {
    buffer_.erase(0, given_);
    given_ = 0;
    for (std::size_t wanted = block_;; wanted += block_) {
      fill(wanted);
      if (ended_) return give(buffer_.size());
      const std::size_t newline = buffer_.rfind('\n');
      if (newline != std::string::npos) return give(newline + 1);
    }
  }
  // Everything that is left, with the block that was given last.
  std::string take_all() {
    given_ = 0;
    while (!ended_) fill(std::max(2 * buffer_.size(), block_));
    return std::move(buffer_);
  }

 private:
  std::string_view give(std::size_t size) {
    given_ = size;
    return std::string_view(buffer_).substr(0, size);
  }
  void fill(std::size_t wanted) {
    std::size_t size = buffer_.size();
    if (size >= wanted || ended_) return;
    buffer_.resize(wanted);
    const ssize_t got = read_full(file_.get(), buffer_.data() + size, wanted - size);
    if (got < 0) throw IoError(fmt::format("{}: reading failed: {}", name_, std::strerror(errno)));
    size += static_cast<std::size_t>(got);
    ended_ = size < wanted;
    buffer_.resize(size);
  }

  Descriptor file_;
  std::string name_;
  std::size_t block_;
  std::string buffer_;
  std::size_t given_ = 0;
  bool ended_ = false;
};

}  // namespace

struct RankingStream::State {
  State(const std::string& path, std::size_t block) : blocks(path, block) {}

  LineBlocks blocks;
  std::unique_ptr<LineReader> reader;  // null: all rankings are in `whole`
  RankingSet whole;
  bool whole_given = false;
  std::size_t num_items = 0;
  bool fed = false;  // the reader has lines that next() has not yet handed over
  Spool spool;
  bool complete = true;  // all rankings so far list all items, without ties: only such are spooled
  bool ended = false;    // the text has been read to its end
  Dataset head;
  RowDigest rows;
  std::string digest;
  double total = 0.0;

  void finish(Dataset data) {
    data.source = blocks.name();
    data.rankings = {};
    head = std::move(data);
    digest = rows.finish(head.items, head.unranked);
    ended = true;
  }
  void add(const RankingSet& piece) {
    rows.add(piece);
    total += piece.total_weight();
    for (std::size_t i = 0; i < piece.size() && complete; ++i) complete = piece.length(i) == num_items;
    complete = complete && !piece.has_ties();
  }
};

RankingStream::RankingStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
RankingStream::RankingStream(RankingStream&&) noexcept = default;
RankingStream& RankingStream::operator=(RankingStream&&) noexcept = default;
RankingStream::~RankingStream() = default;

RankingStream RankingStream::open(const std::string& path, const ReadOptions& options, const std::string& spool_folder,
                                  std::size_t block) {
  auto state = std::make_unique<State>(path, block);
  LineBlocks& blocks = state->blocks;
  const std::string_view first = blocks.next();
  const bool mapped = columnar::is_columnar(first) && path != "-";  // one piece that takes no memory
  if (!mapped && !is_packed(first) && !edits_items(options) && !is_json_array(first)) {
    // Refuses UTF-16 and takes a byte order mark off.
    const Source start = Source::from_text(first, blocks.name());
    const Format format = options.format == Format::automatic ? guess_format(start) : options.format;
    if (format == Format::preflib) state->reader = make_preflib_reader(start, options);
    if (format == Format::jsonl) state->reader = make_jsonl_reader(start, options, false);
    if (state->reader != nullptr) {
      state->reader->feed(start.text());
      while (!state->reader->header_ended()) {
        const std::string_view more = blocks.next();
        if (more.empty()) break;
        state->reader->feed(more);
      }
    }
  }
  if (state->reader != nullptr && state->reader->items_known()) {
    state->num_items = state->reader->num_items();
    state->fed = true;
    state->spool.open(spool_folder, state->num_items);
    return RankingStream(std::move(state));
  }
  Dataset data;
  if (state->reader != nullptr) {
    for (std::string_view more = blocks.next(); !more.empty(); more = blocks.next()) state->reader->feed(more);
    data = state->reader->finish();
    question_items(data, options);
  } else if (mapped) {
    data = read_dataset(path, options);
  } else {
    const std::string text = blocks.take_all();
    data = parse_dataset(text, blocks.name(), options);
  }
  state->reader = nullptr;
  state->num_items = data.num_items();
  state->whole = std::move(data.rankings);
  state->head = std::move(data);
  return RankingStream(std::move(state));
}

std::size_t RankingStream::num_items() const { return state_->num_items; }
bool RankingStream::in_memory() const { return state_->reader == nullptr && !state_->whole.empty(); }

bool RankingStream::next(RankingSet& piece) {
  State& state = *state_;
  if (in_memory()) {
    if (!state.whole_given) {
      if (!state.ended) state.add(state.whole);
      piece = state.whole;
      state.whole_given = true;
      return true;
    }
    if (!state.ended) state.finish(std::move(state.head));
    return false;
  }
  if (state.ended) return state.spool.read(piece);
  for (;;) {
    if (!state.fed) {
      const std::string_view lines = state.blocks.next();
      if (lines.empty()) break;
      state.reader->feed(lines);
    }
    state.fed = false;
    piece = state.reader->take();
    if (piece.empty()) continue;
    state.add(piece);
    if (state.complete) state.spool.write(piece);
    return true;
  }
  state.finish(state.reader->finish());
  return false;
}

void RankingStream::rewind() {
  State& state = *state_;
  if (!state.ended || !state.complete)
    throw std::logic_error("RankingStream::rewind: only complete rankings, and only from the end");
  if (in_memory())
    state.whole_given = false;
  else
    state.spool.rewind();
}

const Dataset& RankingStream::head() const { return state_->head; }
std::string RankingStream::digest() const { return state_->digest; }
double RankingStream::total_weight() const { return state_->total; }

}  // namespace caucus
