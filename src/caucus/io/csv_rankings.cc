// CSV in its ranking forms.
#include "caucus/io/csv_rankings.h"

namespace caucus {

namespace csv_format {

// Where nothing but the battle is kept of a line, one that was met before gives what it gave then.
void CsvRankings::read_known_pairs() {
  KnownLines known;
  for (bool more = true; more && known.on() && diagnostics_.empty();) {
    more = false;
    for (const KnownLines::Line& line : known.look_ahead(reader_.rest())) {
      more = true;
      if (const KnownLines::Row* row = known.find(line)) {
        constexpr std::uint8_t tied[2] = {0, 1};
        rows_.builder().append(row->battle, row->weight,
                               row->tied ? std::span<const std::uint8_t>(tied) : std::span<const std::uint8_t>{});
        reader_.skip_line(line.text.size());
        continue;
      }
      const std::size_t begin = reader_.position();
      if (!next()) return;
      last_battle_ = {};
      read_pair();
      // Blank lines and quotes make records that are not this line.
      if (reader_.position() - begin != line.text.size() + 1 || !diagnostics_.empty()) break;
      if (last_battle_.weight > 0.0) known.keep(line, last_battle_);
    }
  }
}

void CsvRankings::read_triples() {
  struct Entry {
    double value;
    std::uint32_t voter;
    ItemId item;
    std::size_t line;
  };
  const bool ratings = layout_.format == Format::csv_ratings;
  std::vector<Entry> entries;
  std::vector<double> weights;
  ItemIndex voters;
  std::vector<std::string_view> voter_names;
  std::vector<std::uint8_t> varies(kept_columns_.size(), 0);
  bool numbered = true;  // the voters are called 1, 2, 3, ...: row numbers, not names
  while (next()) {
    const double row_weight = weight();
    const CsvCell cell_voter = cell(layout_.columns[0]);
    const CsvCell cell_value = cell(layout_.columns[2]);
    const ItemId voter = voters.insert(cell_voter.text);
    if (voter == weights.size()) {
      weights.push_back(row_weight);
      voter_names.push_back(cell_voter.text);
      const auto number = parse_count(cell_voter.text);
      numbered = numbered && number && *number == weights.size() && cell_voter.text.front() != '0';
      keep_row();
    } else {
      for (std::size_t i = 0; i < kept_columns_.size(); ++i)
        if (kept_[i][voter] != cell(kept_columns_[i]).text) varies[i] = 1;
      if (row_weight != weights[voter])
        complain(cell(*layout_.weight), "found another weight for " + show_text(cell_voter.text) + ", expected one per voter");
    }
    const CsvCell cell_item = cell(layout_.columns[1]);
    const ItemId item = row_weight == 0.0 ? ItemIndex::none : item_in(cell_item.text);
    if (item == ItemIndex::none || is_nothing(cell_value.text)) continue;  // a voter may list nobody
    const auto value = parse_number(cell_value.text);
    if (!value || (!ratings && *value < 0.0)) {
      complain(cell_value, fmt::format("found {}, expected a {}", show_text(cell_value.text), ratings ? "rating" : "rank"));
      continue;
    }
    if (!ratings && *value == 0.0) continue;
    entries.push_back({*value, voter, item, reader_.line()});
  }
  diagnostics_.throw_if_any();

  // Entries by voter, in file order within each.
  std::vector<std::size_t> begin(weights.size() + 1, 0);
  for (const Entry& entry : entries) ++begin[entry.voter + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::size_t> sorted(entries.size());
  std::vector<std::size_t> place(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < entries.size(); ++i) sorted[place[entries[i].voter]++] = i;

  std::vector<std::size_t> last_seen(index_.size(), 0);
  std::vector<std::pair<double, ItemId>> values;
  std::size_t num_repeated = 0;
  for (std::size_t voter = 0; voter < weights.size(); ++voter) {
    values.clear();
    for (std::size_t i = begin[voter + 1]; i-- > begin[voter];) {
      // Backwards: of several entries for one item the last counts.
      const Entry& entry = entries[sorted[i]];
      if (last_seen[entry.item] == voter + 1) {
        if (!ratings)
          diagnostics_.add(entry.line, 1,
                           fmt::format("found item {} for voter {}, and again below, expected each once",
                                       show_text(index_.names()[entry.item]), show_text(voter_names[voter])));
        ++num_repeated;
        continue;
      }
      last_seen[entry.item] = voter + 1;
      values.emplace_back(entry.value, entry.item);
    }
    std::ranges::reverse(values);
    ratings ? push_ratings(values) : push_ranks(values);
    rows_.finish(weights[voter]);
  }
  if (num_repeated > 0)
    warnings_.push_back(fmt::format("{} items were rated twice by the same user; the last rating counts", num_repeated));
  keep_voter_columns(voter_names, varies, numbered);
}

void CsvRankings::keep_voter_columns(const std::vector<std::string_view>& voter_names, const std::vector<std::uint8_t>& varies,
                                     bool numbered) {
  std::vector<std::size_t> columns;
  std::vector<std::vector<std::string_view>> kept;
  // Whom a row belongs to is worth keeping, unless the names are the row numbers.
  if (!numbered || header_[layout_.columns[0]] == options_.voter) {
    columns.push_back(layout_.columns[0]);
    kept.push_back(voter_names);
  }
  std::vector<std::string> lost;
  for (std::size_t i = 0; i < kept_columns_.size(); ++i) {
    if (varies[i] != 0) {
      lost.push_back(show_text(header_[kept_columns_[i]]));
      continue;
    }
    columns.push_back(kept_columns_[i]);
    kept.push_back(std::move(kept_[i]));
  }
  if (!lost.empty())
    warnings_.push_back(
        fmt::format("columns that differ within a voter are no covariates and were left out: {}", fmt::join(lost, ", ")));
  kept_columns_ = std::move(columns);
  kept_ = std::move(kept);
}

}  // namespace csv_format

using csv_format::CsvRankings;

namespace {

class CsvParts final : public PartReader {
 public:
  CsvParts(const Source& source, const ReadOptions& options) : rankings_(source, options) {}
  bool begin(Format format) { return rankings_.begin_parts(format); }
  std::size_t body() const override { return rankings_.body(); }
  bool has_quotes() const override { return true; }
  bool read(std::size_t begin, std::size_t end) override { return rankings_.read_part(begin, end); }
  void save(Saver& saver) override { rankings_.save(saver); }
  void absorb(Loader& loader) override { rankings_.absorb(loader); }
  Dataset finish() override { return rankings_.finish_parts(); }

 private:
  CsvRankings rankings_;
};

}  // namespace

std::unique_ptr<PartReader> make_csv_parts(const Source& source, const ReadOptions& options, Format format) {
  auto parts = std::make_unique<CsvParts>(source, options);
  if (!parts->begin(format)) return nullptr;
  return parts;
}

Dataset read_csv(const Source& source, const ReadOptions& options, Format format) {
  return CsvRankings(source, options).read(format);
}

}  // namespace caucus
