#include "caucus/io/parts.h"

#include <algorithm>
#include <cstring>

#include "caucus/base/error.h"
#include "caucus/base/workers.h"
#include "caucus/io/readers.h"
#include "caucus/io/unpack.h"

namespace caucus {

namespace {

constexpr std::size_t least_part = 16 << 10;  // bytes: below, a part is not worth the talk

// Where part `rank` of [begin, size) begins: behind a line break that is outside quotes, `quoted` being whether the byte at the
// even cut is inside them.
std::size_t next_line(std::string_view text, std::size_t position, bool quoted) {
  for (; position < text.size(); ++position) {
    if (text[position] == '"') quoted = !quoted;
    if (text[position] == '\n' && !quoted) return position + 1;
  }
  return text.size();
}

std::vector<std::size_t> cut(std::string_view text, std::size_t begin, bool has_quotes, Collective& ranks) {
  const auto size = static_cast<std::size_t>(ranks.size()), own = static_cast<std::size_t>(ranks.rank());
  const auto even = [&](std::size_t rank) { return begin + (text.size() - begin) * rank / size; };
  std::vector<std::size_t> quotes(size, 0);
  if (has_quotes) {
    Saver mine;
    mine(static_cast<std::uint64_t>(std::ranges::count(text.substr(even(own), even(own + 1) - even(own)), '"')));
    const std::vector<std::string> all = ranks.exchange(mine.bytes());
    for (std::size_t rank = 0; rank < size; ++rank) {
      std::uint64_t count = 0;
      Loader loader(all[rank]);
      loader(count);
      quotes[rank] = count;
    }
  }
  std::vector<std::size_t> cuts{begin};
  std::size_t before = 0;
  for (std::size_t rank = 1; rank < size; ++rank) {
    before += quotes[rank - 1];
    // A cut at the beginning of a line is one.
    const std::size_t at = even(rank);
    const bool quoted = before % 2 == 1;
    cuts.push_back(std::max(cuts.back(), !quoted && at > begin && text[at - 1] == '\n' ? at : next_line(text, at, quoted)));
  }
  cuts.push_back(text.size());
  return cuts;
}

std::unique_ptr<PartReader> make_reader(const Source& source, const ReadOptions& options, Format format) {
  switch (format) {
    case Format::preflib:
      return make_preflib_parts(source, options);
    case Format::jsonl:
      return is_json_array(source.text()) ? nullptr : make_jsonl_parts(source, options);
    case Format::preflib_old:
    case Format::blt:
    case Format::columnar:
      return nullptr;
    default:
      return make_csv_parts(source, options, format);
  }
}

}  // namespace

bool read_in_parts(const Source& source, const ReadOptions& options, Format format, Dataset* whole) {
  Collective* const ranks = options.ranks;
  const std::string_view text = source.text();
  if (ranks == nullptr || ranks->size() < 2 || !source.is_mapped() ||
      text.size() < static_cast<std::size_t>(ranks->size()) * least_part)
    return false;
  // Every process looks at the head, and comes to the same reader or the same failure.
  const auto make = [&]() -> std::unique_ptr<PartReader> {
    try {
      return make_reader(source, options, format);
    } catch (const Error&) {
      return nullptr;
    }
  };
  std::unique_ptr<PartReader> reader = make();
  if (reader == nullptr || reader->body() >= text.size()) return false;
  const std::vector<std::size_t> cuts = cut(text, reader->body(), reader->has_quotes(), *ranks);
  const auto own = static_cast<std::size_t>(ranks->rank());
  Saver mine;
  bool sound = false;
  try {
    sound = reader->read(cuts[own], cuts[own + 1]);
    if (sound) reader->save(mine);
  } catch (const Error&) {
    sound = false;
  }
  if (ranks->any(!sound)) return false;
  reader = whole != nullptr ? make() : nullptr;
  bool failed = false;
  for (int rank = 0; rank < ranks->size(); ++rank) {
    std::vector<std::string> said = ranks->exchange(rank == ranks->rank() ? mine.bytes() : std::string());
    if (rank == ranks->rank()) mine = Saver();
    if (whole == nullptr || failed) continue;
    Loader loader(std::move(said[static_cast<std::size_t>(rank)]));
    try {
      reader->absorb(loader);
    } catch (const Error&) {
      failed = true;
    } catch (const BadState&) {
      failed = true;
    }
  }
  if (ranks->any(failed)) return false;
  if (whole != nullptr) *whole = reader->finish();
  return true;
}

void save_rankings(const RankingSet& rankings, Saver& saver) {
  std::vector<std::uint32_t> lengths(rankings.size());
  for (std::size_t i = 0; i < rankings.size(); ++i) lengths[i] = static_cast<std::uint32_t>(rankings.length(i));
  saver(lengths, rankings.items(), rankings.group_ends(), rankings.weights(), rankings.row_rankings(), rankings.row_weights());
}

SavedRankings::SavedRankings(Loader& loader) {
  loader(lengths, items, group_ends, weights, row_rankings, row_weights);
  begins.reserve(lengths.size());
  std::size_t begin = 0;
  for (const std::uint32_t length : lengths) {
    begins.push_back(begin);
    begin += length;
  }
  if (begin != items.size() || weights.size() != lengths.size() || row_rankings.size() != row_weights.size() ||
      (!group_ends.empty() && group_ends.size() != items.size()))
    throw BadState{};
}

void SavedRankings::renumber(std::span<const ItemId> ids) {
  for (std::uint32_t& item : items) {
    if (item >= ids.size()) throw BadState{};
    item = ids[item];
  }
}

namespace {

struct SavedBlanks {
  std::vector<std::uint64_t> rows;
  std::vector<double> weights;
};
void save_blanks(std::span<const BlankRow> blanks, Saver& saver) {
  SavedBlanks saved;
  for (const BlankRow& blank : blanks) {
    saved.rows.push_back(blank.row);
    saved.weights.push_back(blank.weight);
  }
  saver(saved.rows, saved.weights);
}
SavedBlanks load_blanks(Loader& loader) {
  SavedBlanks saved;
  loader(saved.rows, saved.weights);
  if (saved.rows.size() != saved.weights.size()) throw BadState{};
  return saved;
}

void save_columns(const std::vector<Column>& columns, Saver& saver) {
  saver(std::uint64_t{columns.size()});
  for (const Column& column : columns) saver(column.name, column.numbers, column.texts);
}
std::vector<Column> load_columns(Loader& loader) {
  std::uint64_t count = 0;
  loader(count);
  std::vector<Column> columns;
  for (std::uint64_t i = 0; i < count; ++i) {
    Column& column = columns.emplace_back();
    loader(column.name, column.numbers, column.texts);
  }
  return columns;
}

}  // namespace

void save_rows(BallotRows& rows, Saver& saver) {
  Dataset data;
  rows.build(data);
  save_rankings(data.rankings, saver);
  save_blanks(data.blanks, saver);
}

void absorb_rows(BallotRows& rows, Loader& loader, std::span<const ItemId> ids) {
  SavedRankings rankings(loader);
  rankings.renumber(ids);
  const SavedBlanks blanks = load_blanks(loader);
  std::size_t next = 0, row = 0;
  for (std::size_t at = 0; at < rankings.num_rows() + blanks.rows.size(); ++at) {
    if (next < blanks.rows.size() && blanks.rows[next] == at) {
      rows.blank(blanks.weights[next++]);
      continue;
    }
    if (row >= rankings.num_rows() || rankings.ranking_of(row) >= rankings.lengths.size()) throw BadState{};
    const RankingView ranking = rankings[rankings.ranking_of(row)];
    rows.builder().append(ranking.items(), rankings.weight_of(row), ranking.group_ends());
    ++row;
  }
}

void save_dataset(const Dataset& data, Saver& saver) {
  saver(data.items, data.source, data.warnings, data.voters.column, data.unranked, data.facts.overvoted, data.facts.skipped,
        std::uint64_t{data.facts.seats});
  save_rankings(data.rankings, saver);
  save_blanks(data.blanks, saver);
  save_columns(data.covariates, saver);
  save_columns(data.blank_covariates, saver);
}

Dataset load_dataset(Loader& loader) {
  Dataset data;
  std::uint64_t seats = 0;
  loader(data.items, data.source, data.warnings, data.voters.column, data.unranked, data.facts.overvoted, data.facts.skipped,
         seats);
  data.facts.seats = seats;
  const SavedRankings rankings(loader);
  RankingSetBuilder builder;
  for (std::size_t row = 0; row < rankings.num_rows(); ++row) {
    if (rankings.ranking_of(row) >= rankings.lengths.size()) throw BadState{};
    const RankingView ranking = rankings[rankings.ranking_of(row)];
    builder.append(ranking.items(), rankings.weight_of(row), ranking.group_ends());
  }
  data.rankings = builder.build();
  const SavedBlanks blanks = load_blanks(loader);
  for (std::size_t i = 0; i < blanks.rows.size(); ++i) data.blanks.push_back({blanks.rows[i], blanks.weights[i]});
  data.covariates = load_columns(loader);
  data.blank_covariates = load_columns(loader);
  return data;
}

}  // namespace caucus
