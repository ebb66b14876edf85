#include <fmt/format.h>

#include "caucus/base/options.h"
#include "caucus/io/file_writer.h"
#include "caucus/result/voter_sample.h"
#include "commands.h"

namespace caucus::cli {

namespace {

struct Flags {
  std::string model, out = "-", format = "auto", labels;
  SampleRequest request;
  std::string per_voter;  // "20" or "5..20"
  std::size_t menu = 0;
};

// "20" or "5..20".
std::pair<std::size_t, std::size_t> parse_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  const auto number = [&](std::string_view part) {
    const std::int64_t value = detail::parse_integer("--per-voter", part);
    if (value < 1 || value > 1'000'000) throw UsageError(fmt::format("--per-voter {}: expected 1 to 1000000 rankings", text));
    return static_cast<std::size_t>(value);
  };
  const std::size_t least = number(std::string_view(text).substr(0, dots));
  return {least, dots == std::string::npos ? least : number(std::string_view(text).substr(dots + 2))};
}

// --count voters, each with several rankings of one group.
void run_voters(const Flags& flags, Context& context) {
  const LoadedModel loaded = load_model(flags.model);
  const auto [least, most] = parse_range(flags.per_voter.empty() ? "1" : flags.per_voter);
  const Sample sample = sample_voters(*loaded.model, {.voters = flags.request.count,
                                                      .least = least,
                                                      .most = most,
                                                      .menu = flags.menu,
                                                      .length = flags.request.length,
                                                      .seed = flags.request.seed,
                                                      .threads = context.threads});
  WriteOptions options;
  options.format = *enum_from_name<Format>(flags.format);
  for (const std::string& lost : write_dataset(sample.data, flags.out, options)) warning(context, "not written: " + lost);
  if (!flags.labels.empty()) {
    FileWriter labels(flags.labels);
    labels.buffer() = "voter,label\n";
    for (std::size_t v = 0; v < sample.labels.size(); ++v)
      labels.buffer() += fmt::format("{},{}\n", sample.data.voters.names[v], sample.labels[v] + 1);
    labels.commit();
  }
  if (flags.out != "-")
    note(context,
         fmt::format("{} rankings of {} voters written to {}", sample.data.rankings.num_rows(), flags.request.count, flags.out));
}

// Drawn in pieces. JSON lines are written piece by piece; the heads of the other formats count what is to come, so rankings are
// gathered first, beside the file where they are many: any number of them fits in memory.
void run_sample(const Flags& flags, Context& context) {
  if (!flags.per_voter.empty() || flags.menu > 0) return run_voters(flags, context);
  const LoadedModel loaded = load_model(flags.model);
  SampleRequest request = flags.request;
  request.threads = context.threads;
  WriteOptions options;
  options.format = *enum_from_name<Format>(flags.format);
  Dataset empty;
  empty.items = loaded.model->items();
  const Format format = options.format == Format::automatic ? format_for_writing(flags.out, empty) : options.format;
  const bool by_line = format == Format::jsonl;
  const std::size_t piece = by_line ? SampleRequest::block : 64 * SampleRequest::block;

  std::unique_ptr<FileWriter> labels;
  if (!flags.labels.empty()) {
    labels = std::make_unique<FileWriter>(flags.labels);
    labels->buffer() = "row,label\n";
  }
  std::unique_ptr<RankingWriter> rankings;
  std::size_t row = 0;
  Dataset all;
  RankingSetBuilder gathered(Scratch{flags.out == "-" ? std::string() : folder_of(flags.out)});
  if (!by_line) gathered.expect_rows(flags.request.count);
  do {
    request.first = row;
    request.count = std::min(piece, flags.request.count - row);
    Sample sample = loaded.model->sample(request);
    if (by_line) {
      if (rankings == nullptr) rankings = std::make_unique<RankingWriter>(flags.out, sample.data);
      rankings->add(sample.data);
    } else {
      const bool in_one_piece = request.count == flags.request.count;
      const RankingSet& drawn = sample.data.rankings;
      for (std::size_t i = 0; !in_one_piece && i < drawn.num_rows(); ++i) {
        const RankingView ranking = drawn[drawn.row_ranking(i)];
        gathered.append(ranking.items(), drawn.row_weight(i), ranking.group_ends());
      }
      if (!in_one_piece) sample.data.rankings = {};
      all = std::move(sample.data);
    }
    for (const int label : sample.labels) {
      ++row;
      if (labels == nullptr) continue;
      labels->buffer() += fmt::format("{},{}\n", row, label + 1);
      labels->checkpoint();
    }
  } while (row < flags.request.count);
  if (!by_line) {
    if (gathered.num_rows() > 0) all.rankings = gathered.build();
    for (const std::string& lost : write_dataset(all, flags.out, options)) warning(context, "not written: " + lost);
  }
  if (rankings != nullptr) rankings->commit();
  if (labels != nullptr) labels->commit();
  if (flags.out != "-") note(context, fmt::format("{} rankings written to {}", flags.request.count, flags.out));
}

}  // namespace

void add_sample(CLI::App& app, Context& context) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("sample", "Draw rankings from a model");
  command->add_option("model", flags->model, "model file")->required()->type_name("MODEL");
  command->add_option("-n,--count", flags->request.count, "number of rankings, or of voters with --per-voter")->required();
  command
      ->add_option("--per-voter", flags->per_voter,
                   "rankings each voter casts, all from one group: a number, or a range as in 5..20")
      ->type_name("M");
  command->add_option("--menu", flags->menu,
                      "each ranking orders so many items chosen at random (2: battles); unlisted ones are absent");
  command->add_option("--seed", flags->request.seed, "seed; same seed, same rankings")->capture_default_str();
  command->add_option("--length", flags->request.length, "list only the best t items of each ranking (0: all)")
      ->capture_default_str();
  command->add_option("-o,--out", flags->out, "file to write, its format by extension; - for standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--to", flags->format, "format to write")
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<Format>.begin(), enum_names<Format>.end())));
  command->add_option("--labels", flags->labels, "also write row,label: the group each ranking was drawn from")->type_name("FILE");
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->footer(examples({"caucus sample model.json -n 1000 --out draws.soc", "caucus sample model.json -n 1000 | caucus fit -",
                            "caucus sample model.json -n 500 --per-voter 20 --menu 2 --out battles.jsonl --labels voters.csv"}));
  command->callback([flags, &context] { run_sample(*flags, context); });
}

}  // namespace caucus::cli
