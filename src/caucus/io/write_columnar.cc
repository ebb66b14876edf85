// .cds files: see columnar.h.
#include <cstring>
#include <deque>
#include <span>

#include "caucus/io/columnar.h"
#include "caucus/io/writers.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus::columnar {

namespace {

std::string packed_texts(const std::vector<std::string>& values) {
  std::string out;
  const auto put = [&](std::uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); };
  put(values.size());
  std::uint64_t end = 0;
  for (const std::string& value : values) put(end += value.size());
  for (const std::string& value : values) out += value;
  return out;
}

class Layout {
 public:
  explicit Layout(const Dataset& data) {
    add(item_names, packed_texts(data.items));
    const RankingSet& rankings = data.rankings;
    add(offsets, rankings.offsets());
    add(listed, rankings.items());
    if (rankings.has_ties()) add(columnar::group_ends, rankings.group_ends());
    add(weights, rankings.weights());
    if (!rankings.row_rankings().empty()) {
      add(row_rankings, rankings.row_rankings());
      add(row_weights, rankings.row_weights());
    }
    if (!data.blanks.empty()) {
      std::string rows, counts;
      for (const BlankRow& blank : data.blanks) {
        const std::uint64_t row = blank.row;
        rows.append(reinterpret_cast<const char*>(&row), sizeof row);
        counts.append(reinterpret_cast<const char*>(&blank.weight), sizeof blank.weight);
      }
      add(blank_rows, std::move(rows));
      add(blank_weights, std::move(counts));
    }
    const double counted[2] = {data.facts.overvoted, data.facts.skipped};
    add(facts, std::string(reinterpret_cast<const char*>(counted), sizeof counted));
    if (!data.warnings.empty()) add(warnings, packed_texts(data.warnings));
    if (!data.voters.column.empty()) add(voter_column, packed_texts({data.voters.column}));
    std::vector<std::string> names;
    for (const Column& column : data.covariates) names.push_back(column.name);
    if (!names.empty()) add(column_names, packed_texts(names));
    add_columns(data.covariates, numbers, texts);
    add_columns(data.blank_covariates, blank_numbers, blank_texts);

    payload_ = aligned(sizeof(Head) + sections_.size() * sizeof(Section));
    std::uint64_t end = 0;
    for (const Section& section : sections_) end = aligned(end) + section.bytes;
    const std::size_t num_blocks = (end + block_bytes - 1) / block_bytes;
    payload_ = aligned(payload_ + num_blocks * sizeof(std::uint64_t));
    std::uint64_t position = payload_;
    for (Section& section : sections_) {
      section.begin = aligned(position);
      position = section.begin + section.bytes;
    }
    std::memcpy(head_.magic, magic.data(), magic.size());
    head_.version = columnar::version;
    head_.num_sections = static_cast<std::uint32_t>(sections_.size());
    head_.file_bytes = position;
    head_.payload = payload_;
    head_.total_weight = rankings.total_weight();
    head_.unranked = static_cast<std::uint32_t>(data.unranked);
    head_.seats = data.facts.seats;
  }

  void write(TextSink& sink) {
    std::vector<std::uint64_t> sums;
    XXH3_state_t* state = XXH3_createState();
    XXH3_64bits_reset(state);
    std::size_t in_block = 0;
    for_each_piece([&](const char* bytes, std::size_t size) {
      while (size > 0) {
        const std::size_t now = std::min(size, block_bytes - in_block);
        XXH3_64bits_update(state, bytes, now);
        bytes += now;
        size -= now;
        in_block += now;
        if (in_block < block_bytes) continue;
        sums.push_back(XXH3_64bits_digest(state));
        XXH3_64bits_reset(state);
        in_block = 0;
      }
    });
    if (in_block > 0) sums.push_back(XXH3_64bits_digest(state));
    XXH3_freeState(state);

    std::string front(payload_, '\0');
    std::memcpy(front.data() + sizeof(Head), sections_.data(), sections_.size() * sizeof(Section));
    std::memcpy(front.data() + sizeof(Head) + sections_.size() * sizeof(Section), sums.data(), sums.size() * sizeof(std::uint64_t));
    std::memcpy(front.data(), &head_, sizeof head_);
    head_.checksum = XXH3_64bits(front.data(), front.size());
    std::memcpy(front.data(), &head_, sizeof head_);
    sink.buffer() += front;
    sink.checkpoint();
    for_each_piece([&](const char* bytes, std::size_t size) {
      for (std::size_t at = 0; at < size; at += block_bytes) {
        sink.buffer().append(bytes + at, std::min(block_bytes, size - at));
        sink.checkpoint();
      }
    });
  }

 private:
  template <class T>
  void add(Kind kind, std::span<const T> values) {
    sections_.push_back({kind, 0, 0, values.size_bytes()});
    contents_.push_back({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  void add(Kind kind, std::string bytes, std::size_t part = 0) {
    kept_.push_back(std::move(bytes));
    sections_.push_back({kind, static_cast<std::uint32_t>(part), 0, kept_.back().size()});
    contents_.push_back(kept_.back());
  }
  void add_columns(const std::vector<Column>& columns, Kind as_numbers, Kind as_texts) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].is_numeric())
        add(as_numbers,
            std::string(reinterpret_cast<const char*>(columns[i].numbers.data()), columns[i].numbers.size() * sizeof(double)), i);
      else
        add(as_texts, packed_texts(columns[i].texts), i);
    }
  }
  // The payload from its beginning to the end of the file.
  template <class Visit>
  void for_each_piece(Visit&& visit) const {
    static constexpr char zeros[alignment] = {};
    std::uint64_t position = payload_;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      visit(zeros, sections_[i].begin - position);
      visit(contents_[i].data(), contents_[i].size());
      position = sections_[i].begin + sections_[i].bytes;
    }
  }

  Head head_{};
  std::size_t payload_ = 0;
  std::vector<Section> sections_;
  std::vector<std::string_view> contents_;
  std::deque<std::string> kept_;
};

}  // namespace

}  // namespace caucus::columnar

namespace caucus {

void write_columnar(const Dataset& data, TextSink& sink, Lost& lost) {
  if (!data.voters.table.empty()) lost.emplace_back("what the table of voters says of them (read the file with --voters again)");
  columnar::Layout(data).write(sink);
}

}  // namespace caucus
