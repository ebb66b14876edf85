// Several files read as one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>

#include "caucus/base/error.h"
#include "caucus/io/io.h"
#include "caucus/io/items.h"
#include "caucus/io/one_copy.h"
#include "caucus/io/parts.h"
#include "caucus/io/row_table.h"
#include "caucus/io/text.h"
#include "caucus/io/voters.h"

namespace caucus {

namespace {

class Joined {
 public:
  explicit Joined(const Scratch& scratch) : rows_(scratch) {}

  void add(const Dataset& part) {
    if (num_rows_ == 0) data_.unranked = part.unranked;
    if (part.unranked != data_.unranked)
      throw DataError(fmt::format("{}: unlisted items are {} here and {} in {}; --unranked says what they mean in all files",
                                  part.source, name_of(part.unranked), name_of(data_.unranked), data_.source));
    for (const std::string& text : part.warnings) data_.warnings.push_back(fmt::format("{}: {}", part.source, text));
    sorted_ = sorted_ && std::ranges::is_sorted(part.items, natural_less);
    std::vector<ItemId> ids;
    for (const std::string& item : part.items) ids.push_back(index_.insert(item));
    for_each_file_row(
        part,
        [&](std::size_t, std::size_t row) {
          rows_.begin();
          part.rankings[part.rankings.row_ranking(row)].for_each_group([&](std::span<const ItemId> group) {
            for (const ItemId item : group) rows_.push(ids[item]);
            rows_.end_group();
          });
          rows_.finish(part.rankings.row_weight(row));
          add_cells(part.covariates, row, part.source);
        },
        [&](std::size_t, std::size_t row) {
          rows_.blank(part.blanks[row].weight);
          add_cells(part.blank_covariates, row, part.source);
        });
    data_.facts.overvoted += part.facts.overvoted;
    data_.facts.skipped += part.facts.skipped;
    data_.facts.seats = std::max(data_.facts.seats, part.facts.seats);
    data_.source += (data_.source.empty() ? "" : ", ") + part.source;
  }

  Dataset finish() {
    data_.items = index_.take_names();
    rows_.build(data_);
    if (sorted_) sort_items(data_);
    for (Input& input : columns_) {
      input.texts.resize(num_rows_);
      input.numbers.resize(num_rows_, std::numeric_limits<double>::quiet_NaN());
      Column column{std::move(input.name), {}, {}};
      (input.numeric ? column.numbers.swap(input.numbers) : column.texts.swap(input.texts));
      data_.covariates.push_back(std::move(column));
    }
    split_blank_rows(data_);
    return std::move(data_);
  }

 private:
  // Both forms are kept until all files have said of what kind the column is.
  struct Input {
    std::string name;
    bool numeric = true;
    std::vector<double> numbers;
    std::vector<std::string> texts;
  };

  void add_cells(const std::vector<Column>& columns, std::size_t row, const std::string& source) {
    for (const Column& column : columns) {
      Input& input = input_named(column.name);
      input.numeric = input.numeric && column.is_numeric();
      input.numbers.resize(num_rows_, std::numeric_limits<double>::quiet_NaN());
      input.texts.resize(num_rows_);
      input.numbers.push_back(column.is_numeric() ? column.numbers[row] : std::numeric_limits<double>::quiet_NaN());
      input.texts.push_back(covariate_text(column, row));
    }
    Input& file = input_named("file");
    if (file.texts.size() == num_rows_) file.texts.push_back(source.substr(source.find_last_of('/') + 1));
    file.numeric = false;
    ++num_rows_;
  }

  Input& input_named(const std::string& name) {
    const auto found = std::ranges::find(columns_, name, &Input::name);
    if (found != columns_.end()) return *found;
    columns_.push_back({name, true, {}, {}});
    return columns_.back();
  }

  Dataset data_;
  ItemIndex index_;
  BallotRows rows_;
  std::vector<Input> columns_;
  std::size_t num_rows_ = 0;
  bool sorted_ = true;
};

}  // namespace

namespace {

bool is_folder(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none);
}

bool is_data_file(std::string name) {
  for (const std::string_view packed : {".gz", ".zst", ".zstd"})
    if (name.ends_with(packed)) {
      name.resize(name.size() - packed.size());
      break;
    }
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string::npos || name.starts_with('.')) return false;
  const std::string extension = lower_case(std::string_view(name).substr(dot + 1));
  return std::ranges::any_of(formats(), [&](const FormatInfo& format) {
    return std::ranges::find(format.extensions, extension) != format.extensions.end();
  });
}

// One process each reads some of the files, and says them to all, in the order of the files; keepers take them. False where there
// are too few files, or something is wrong in one of them: then they are read one by one, with the messages of that.
bool read_shards(const std::vector<std::string>& files, const ReadOptions& options, bool keeper,
                 const std::function<void(const Dataset&)>& take) {
  Collective* const ranks = options.ranks;
  if (ranks == nullptr || files.size() < static_cast<std::size_t>(ranks->size()) || ranks->size() < 2) return false;
  ReadOptions alone = options;
  alone.ranks = nullptr;
  const auto size = static_cast<std::size_t>(ranks->size()), own = static_cast<std::size_t>(ranks->rank());
  Saver mine;
  bool sound = true;
  try {
    for (std::size_t i = files.size() * own / size; i < files.size() * (own + 1) / size; ++i)
      save_dataset(read_dataset(files[i], alone), mine);
  } catch (const Error&) {
    sound = false;
  }
  if (ranks->any(!sound)) return false;
  for (int rank = 0; rank < ranks->size(); ++rank) {
    std::vector<std::string> said = ranks->exchange(rank == ranks->rank() ? mine.bytes() : std::string());
    if (!keeper) continue;
    for (Loader loader(std::move(said[static_cast<std::size_t>(rank)])); !loader.at_end();) take(load_dataset(loader));
  }
  return true;
}

}  // namespace

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(path, failed))
      if (entry.is_regular_file() && is_data_file(entry.path().filename().string())) inside.push_back(entry.path().string());
    if (failed) throw IoError(fmt::format("{}: cannot be read: {}", path, failed.message()));
    if (inside.empty()) throw DataError(path + ": a folder without data files (their names end in .soi, .csv, .jsonl, .cds, ...)");
    std::ranges::sort(inside, natural_less);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

Dataset read_datasets(const std::vector<std::string>& named, const ReadOptions& options) {
  const std::vector<std::string> paths = files_of(named);
  if (paths.size() == 1) return read_dataset(paths[0], options);
  // A voter may stand in several files, so voters are looked for when all are one.
  ReadOptions each = options;
  each.voters_file.clear();
  each.rows_are_voters = false;
  const auto read = [&](const ReadOptions& how, bool keeper) {
    Joined joined(how.scratch);
    std::string column;
    const auto add = [&](const Dataset& part) {
      if (column.empty()) column = part.voters.column;
      joined.add(part);
    };
    if (!read_shards(paths, how, keeper, add))
      for (const std::string& path : paths) {
        const Dataset part = read_dataset(path, how);
        if (keeper) add(part);
      }
    if (!keeper) return Dataset{};
    Dataset data = joined.finish();
    data.voters.column = column;
    return data;
  };
  const bool several = options.ranks != nullptr && options.ranks->size() > 1;
  Dataset data;
  if (several) {
    ReadOptions alone = each, gathered = each;
    alone.ranks = nullptr;
    if (gathered.scratch.folder.empty()) gathered.scratch.folder = folder_of(paths[0]);
    data = read_one_copy(
        paths[0], options, [&](bool keeper) { return read(gathered, keeper); }, [&] { return read(alone, true); });
  } else {
    data = read(each, true);
  }
  add_voters(data, options);
  return data;
}

}  // namespace caucus
