#include <fmt/format.h>

#include "caucus/io/file_writer.h"
#include "commands.h"

namespace caucus::cli {

namespace {

struct Flags {
  std::string model, out = "-", format = "auto", labels;
  SampleRequest request;
};

// JSON lines are drawn and written in blocks, so any number of rankings fits in memory; other formats count them in their heads.
void run_sample(const Flags& flags, Context& context) {
  const LoadedModel loaded = load_model(flags.model);
  SampleRequest request = flags.request;
  request.threads = context.threads;
  WriteOptions options;
  options.format = *enum_from_name<Format>(flags.format);
  Dataset empty;
  empty.items = loaded.model->items();
  const Format format = options.format == Format::automatic ? format_for_writing(flags.out, empty) : options.format;
  const bool in_blocks = format == Format::jsonl;

  std::unique_ptr<FileWriter> labels;
  if (!flags.labels.empty()) {
    labels = std::make_unique<FileWriter>(flags.labels);
    labels->buffer() = "row,label\n";
  }
  std::unique_ptr<RankingWriter> rankings;
  std::size_t row = 0;
  do {
    request.first = row;
    request.count = in_blocks ? std::min(SampleRequest::block, flags.request.count - row) : flags.request.count;
    const Sample sample = loaded.model->sample(request);
    if (in_blocks) {
      if (rankings == nullptr) rankings = std::make_unique<RankingWriter>(flags.out, sample.data);
      rankings->add(sample.data);
    } else {
      for (const std::string& lost : write_dataset(sample.data, flags.out, options)) warning(context, "not written: " + lost);
    }
    for (const int label : sample.labels) {
      ++row;
      if (labels == nullptr) continue;
      labels->buffer() += fmt::format("{},{}\n", row, label + 1);
      labels->checkpoint();
    }
  } while (row < flags.request.count);
  if (rankings != nullptr) rankings->commit();
  if (labels != nullptr) labels->commit();
  if (flags.out != "-") note(context, fmt::format("{} rankings written to {}", flags.request.count, flags.out));
}

}  // namespace

void add_sample(CLI::App& app, Context& context) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("sample", "Draw rankings from a model");
  command->add_option("model", flags->model, "model file")->required()->type_name("MODEL");
  command->add_option("-n,--count", flags->request.count, "number of rankings")->required();
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
  command->footer(
      examples({"caucus sample model.json -n 1000 --out draws.soc", "caucus sample model.json -n 1000 | caucus fit -"}));
  command->callback([flags, &context] { run_sample(*flags, context); });
}

}  // namespace caucus::cli
