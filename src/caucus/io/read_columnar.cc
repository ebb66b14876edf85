// .cds files: see columnar.h. Nothing in a file is taken for true before it is checked: the head when it is opened, the payload
// against its checksums, and then what the numbers say, since a checksum promises nothing against forgery.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_set>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/io/columnar.h"
#include "caucus/io/readers.h"
#include "caucus/io/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus::columnar {

namespace {

constexpr std::string_view remedy = "convert the original again, or copy the file anew";

struct Checked {
  double weight = 0.0;
  std::string wrong;
};
auto parts(IsA<Checked> auto& checked) { return std::tie(checked.weight, checked.wrong); }

class Reader {
 public:
  Reader(const Source& source, const ReadOptions& options) : bytes_(source.text()), name_(source.name()), owner_(source.owner()) {
    // Arrays are used where they lie, so they must lie somewhere that lasts, and at their alignment.
    if (owner_ == nullptr || reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(double) != 0) {
      auto copy = std::make_shared<std::vector<double>>((bytes_.size() + sizeof(double) - 1) / sizeof(double));
      std::memcpy(copy->data(), bytes_.data(), bytes_.size());
      bytes_ = {reinterpret_cast<const char*>(copy->data()), bytes_.size()};
      owner_ = std::move(copy);
    }
    workers_.ranks = options.ranks;
    if (workers_.several()) workers_.threads = std::max(1, resolve_threads(0) / options.ranks->size());
    // What fits make of the rankings may be as large as they are.
    if (source.is_mapped()) scratch_.folder = folder_of(name_);
    open();
    check_payload();
    data_.unranked = options.unranked.value_or(static_cast<Unranked>(head_.unranked));
  }

  Dataset read() {
    data_.items = read_texts(require(item_names));
    check_items();
    read_rankings();
    read_rows();
    read_columns();
    const auto counted = numbers_in<double>(require(facts));
    if (counted.size() != 2 || !(counted[0] >= 0.0) || !(counted[1] >= 0.0)) fail("the counts of overvotes");
    data_.facts = {counted[0], counted[1], head_.seats};
    if (const Section* found = find(columnar::warnings)) data_.warnings = read_texts(*found);
    if (const Section* found = find(voter_column)) {
      const std::vector<std::string> column = read_texts(*found);
      if (column.size() != 1) fail("the column of voters");
      data_.voters.column = column[0];
    }
    return std::move(data_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw DataError(fmt::format("{}: damaged or forged: {} cannot be right; {}", name_, what, remedy));
  }

  void open() {
    if (!is_columnar(bytes_)) {
      const std::string start(bytes_.substr(0, std::min<std::size_t>(bytes_.size(), 8)));
      throw DataError(fmt::format("{}: not a caucus data set (.cds): it begins with {}; --from states another format", name_,
                                  show_text(start)));
    }
    if (bytes_.size() < sizeof(Head)) cut_off(sizeof(Head));
    std::memcpy(&head_, bytes_.data(), sizeof head_);
    if (head_.version != columnar::version)
      throw DataError(
          fmt::format("{}: a data set of version {}, but this program reads version {}; convert the original with this "
                      "program, or use a newer one",
                      name_, head_.version, columnar::version));
    if (head_.file_bytes > bytes_.size()) cut_off(head_.file_bytes);
    if (head_.file_bytes < bytes_.size())
      throw DataError(
          fmt::format("{}: damaged: {} bytes, of which {} belong to it; {}", name_, bytes_.size(), head_.file_bytes, remedy));
    if (head_.payload > bytes_.size() || head_.payload % alignment != 0) damaged("its head");
    const std::size_t num_blocks = (bytes_.size() - head_.payload + block_bytes - 1) / block_bytes;
    const std::size_t room = head_.payload - sizeof(Head);
    if (head_.payload < sizeof(Head) || head_.num_sections > room / sizeof(Section) ||
        num_blocks > (room - head_.num_sections * sizeof(Section)) / sizeof(std::uint64_t))
      damaged("its head");
    std::string front(bytes_.substr(0, head_.payload));
    Head blank = head_;
    blank.checksum = 0;
    std::memcpy(front.data(), &blank, sizeof blank);
    if (XXH3_64bits(front.data(), front.size()) != head_.checksum) damaged("its head");
    sections_.resize(head_.num_sections);
    if (!sections_.empty()) std::memcpy(sections_.data(), bytes_.data() + sizeof(Head), sections_.size() * sizeof(Section));
    sums_.resize(num_blocks);
    if (num_blocks > 0)
      std::memcpy(sums_.data(), bytes_.data() + sizeof(Head) + sections_.size() * sizeof(Section),
                  num_blocks * sizeof(std::uint64_t));
    for (const Section& section : sections_)
      if (section.kind >= end_of_kinds || section.begin < head_.payload || section.begin % alignment != 0 ||
          section.begin > bytes_.size() || section.bytes > bytes_.size() - section.begin)
        fail("its table of sections");
    if (head_.unranked > 1) fail("what unlisted items mean");
  }

  [[noreturn]] void cut_off(std::uint64_t wanted) const {
    throw DataError(fmt::format("{}: cut off: {} of {} bytes are there; {}", name_, bytes_.size(), wanted, remedy));
  }
  [[noreturn]] void damaged(const std::string& what) const {
    throw DataError(fmt::format("{}: damaged: {} does not match its checksum; {}", name_, what, remedy));
  }

  void check_payload() const {
    std::atomic<std::size_t> first_wrong = sums_.size();
    // Several processes check a share each, and then know what all have found.
    const auto [from, to] =
        workers_.several() ? detail::own_blocks(sums_.size(), *workers_.ranks) : std::pair(std::size_t{0}, sums_.size());
    const std::size_t first = from;
    const Blocks parts(to - from, 16);
    parallel_for(parts.count(), workers_.threads, [&](std::size_t part) {
      for (std::size_t b = first + parts.begin(part); b < first + parts.end(part); ++b) {
        const std::size_t begin = head_.payload + b * block_bytes, size = std::min(block_bytes, bytes_.size() - begin);
        if (XXH3_64bits(bytes_.data() + begin, size) == sums_[b]) continue;
        std::size_t now = first_wrong;
        while (b < now && !first_wrong.compare_exchange_weak(now, b)) {
        }
      }
    });
    if (workers_.several()) {
      Saver mine;
      mine(std::uint64_t{first_wrong});
      for (const std::string& said : workers_.ranks->exchange(mine.bytes())) {
        std::uint64_t wrong = 0;
        Loader loader(said);
        loader(wrong);
        first_wrong = std::min<std::size_t>(first_wrong, wrong);
      }
    }
    if (const std::size_t b = first_wrong; b < sums_.size()) {
      const std::size_t begin = head_.payload + b * block_bytes;
      damaged(
          fmt::format("block {} of {} (bytes {} to {})", b + 1, sums_.size(), begin, std::min(bytes_.size(), begin + block_bytes)));
    }
  }

  const Section* find(std::uint32_t kind, std::size_t part = 0) const {
    const auto found = std::ranges::find_if(sections_, [&](const Section& s) { return s.kind == kind && s.part == part; });
    return found == sections_.end() ? nullptr : &*found;
  }
  const Section& require(std::uint32_t kind) const {
    const Section* found = find(kind);
    if (found == nullptr) fail(fmt::format("section {}, which is missing,", kind));
    return *found;
  }
  template <class T>
  std::span<const T> numbers_in(const Section& section) const {
    if (section.bytes % sizeof(T) != 0) fail(fmt::format("the size of section {}", section.kind));
    return {reinterpret_cast<const T*>(bytes_.data() + section.begin), section.bytes / sizeof(T)};
  }
  std::vector<std::string> read_texts(const Section& section) const {
    const std::string_view all = bytes_.substr(section.begin, section.bytes);
    const auto number = [&](std::size_t i) {
      std::uint64_t value = 0;
      std::memcpy(&value, all.data() + i * sizeof value, sizeof value);
      return value;
    };
    const auto wrong = [&] { fail(fmt::format("the texts of section {}", section.kind)); };
    if (all.size() < sizeof(std::uint64_t) || number(0) > all.size() / sizeof(std::uint64_t) - 1) wrong();
    const std::size_t count = number(0);
    const std::string_view letters = all.substr((count + 1) * sizeof(std::uint64_t));
    std::vector<std::string> result;
    result.reserve(count);
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t end = number(i + 1);
      if (end < begin || end > letters.size()) wrong();
      result.emplace_back(letters.substr(begin, end - begin));
      if (!is_utf8(result.back())) wrong();
      begin = end;
    }
    if (begin != letters.size()) wrong();
    return result;
  }

  void check_items() const {
    if (data_.items.size() >= std::size_t{1} << 32) fail("the number of items");
    std::unordered_set<std::string_view> seen;
    for (const std::string& item : data_.items)
      if (item.empty() || !seen.insert(item).second)
        fail(fmt::format("item {}, which is there twice or has no name,", show_text(item)));
  }

  void read_rankings() {
    RankingArrays arrays;
    arrays.offsets = numbers_in<std::uint64_t>(require(offsets));
    arrays.items = numbers_in<ItemId>(require(listed));
    arrays.weights = numbers_in<double>(require(weights));
    if (const Section* ties = find(columnar::group_ends)) {
      arrays.group_ends = numbers_in<std::uint8_t>(*ties);
      if (arrays.group_ends.size() != arrays.items.size()) fail("the number of tie marks");
    }
    const std::size_t count = arrays.weights.size();
    if (count == 0) throw DataError(fmt::format("{}: there are no rankings", name_));
    if (count >= std::size_t{1} << 31 || arrays.offsets.size() != count + 1 || arrays.offsets[0] != 0 ||
        arrays.offsets[count] != arrays.items.size())
      fail("the number of rankings");
    // What is wrong in a block goes to all processes.
    const Checked checked = parallel_fold(
        Blocks(count), workers_, [] { return Checked{}; },
        [&](Checked& block, std::size_t begin, std::size_t end) {
          try {
            block.weight = check_block(arrays, begin, end);
          } catch (const DataError& wrong) {
            block.wrong = wrong.what();
          }
        },
        [](Checked& all, const Checked& block) {
          all.weight += block.weight;
          if (all.wrong.empty()) all.wrong = block.wrong;
        });
    if (!checked.wrong.empty()) throw DataError(checked.wrong);
    const double total = checked.weight;
    if (!(std::abs(total - head_.total_weight) <= 1e-9 * total)) fail("the total weight");
    if (const Section* rows = find(row_rankings)) {
      arrays.row_rankings = numbers_in<std::uint32_t>(*rows);
      arrays.row_weights = numbers_in<double>(require(row_weights));
      check_rows(arrays, total);
    }
    arrays.total_weight = head_.total_weight;
    arrays.owner = owner_;
    arrays.scratch = scratch_;
    data_.rankings = RankingSet(arrays);
  }

  // Rankings [begin, end): lengths, items that exist and come once, closed tie-groups in order, weights. Their sum.
  double check_block(const RankingArrays& arrays, std::size_t begin, std::size_t end) const {
    std::vector<std::uint32_t> last_seen(data_.num_items(), 0);
    std::uint32_t stamp = 0;
    double total = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t from = arrays.offsets[i], to = arrays.offsets[i + 1];
      if (to <= from || to > arrays.items.size()) fail(fmt::format("the length of ranking {}", i + 1));
      ++stamp;
      for (std::uint64_t j = from; j < to; ++j) {
        const ItemId item = arrays.items[j];
        if (item >= last_seen.size() || last_seen[item] == stamp)
          fail(fmt::format("ranking {}, which lists an item twice or one that does not exist,", i + 1));
        last_seen[item] = stamp;
      }
      if (!arrays.group_ends.empty()) {
        for (std::uint64_t j = from; j < to; ++j) {
          const bool open = arrays.group_ends[j] == 0;
          if (arrays.group_ends[j] > 1 || (open && (j + 1 == to || arrays.items[j] > arrays.items[j + 1])))
            fail(fmt::format("a tie of ranking {}", i + 1));
        }
      }
      const double weight = arrays.weights[i];
      if (!(weight > 0.0) || !std::isfinite(weight)) fail(fmt::format("the weight of ranking {}", i + 1));
      total += weight;
    }
    return total;
  }

  void check_rows(const RankingArrays& arrays, double total) const {
    if (arrays.row_rankings.size() != arrays.row_weights.size() || arrays.row_rankings.size() < arrays.weights.size())
      fail("the number of rows");
    double sum = 0.0;
    for (std::size_t row = 0; row < arrays.row_rankings.size(); ++row) {
      const double weight = arrays.row_weights[row];
      if (arrays.row_rankings[row] >= arrays.weights.size() || !(weight > 0.0) || !std::isfinite(weight))
        fail(fmt::format("row {}", row + 1));
      sum += weight;
    }
    if (!(std::abs(sum - total) <= 1e-9 * total)) fail("the weights of the rows");
  }

  void read_rows() {
    const Section* section = find(blank_rows);
    if (section == nullptr) return;
    const auto rows = numbers_in<std::uint64_t>(*section);
    const auto counts = numbers_in<double>(require(blank_weights));
    if (rows.size() != counts.size()) fail("the number of blank rows");
    const std::size_t listed_rows = data_.rankings.num_rows() + rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= listed_rows || (i > 0 && rows[i] <= rows[i - 1]) || !(counts[i] >= 0.0) || !std::isfinite(counts[i]))
        fail(fmt::format("blank row {}", i + 1));
      data_.blanks.push_back({rows[i], counts[i]});
    }
  }

  void read_columns() {
    const Section* section = find(column_names);
    if (section == nullptr) return;
    const std::vector<std::string> names = read_texts(*section);
    for (std::size_t i = 0; i < names.size(); ++i) {
      data_.covariates.push_back(read_column(names[i], i, numbers, texts, data_.rankings.num_rows()));
      if (!data_.blanks.empty())
        data_.blank_covariates.push_back(read_column(names[i], i, blank_numbers, blank_texts, data_.blanks.size()));
    }
  }
  Column read_column(const std::string& name, std::size_t part, Kind as_numbers, Kind as_texts, std::size_t size) const {
    Column column{name, {}, {}};
    if (const Section* found = find(as_numbers, part)) {
      const auto values = numbers_in<double>(*found);
      column.numbers.assign(values.begin(), values.end());
    } else if (const Section* other = find(as_texts, part)) {
      column.texts = read_texts(*other);
    }
    if (column.size() != size) fail(fmt::format("the column {}", show_text(name)));
    return column;
  }

  std::string_view bytes_;
  const std::string& name_;
  std::shared_ptr<const void> owner_;
  Workers workers_ = 0;
  Scratch scratch_;
  Head head_{};
  std::vector<Section> sections_;
  std::vector<std::uint64_t> sums_;
  Dataset data_;
};

}  // namespace

}  // namespace caucus::columnar

namespace caucus {

Dataset read_columnar(const Source& source, const ReadOptions& options) { return columnar::Reader(source, options).read(); }

}  // namespace caucus
