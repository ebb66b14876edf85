#include <fmt/format.h>

#include "commands.h"

namespace caucus::cli {

void add_sample(CLI::App& app, Context& context) {
  struct Flags {
    std::string model, out = "-", format = "auto", labels;
    SampleRequest request;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("sample", "Draw rankings from a model");
  command->add_option("model", flags->model, "model file")->required()->type_name("MODEL");
  command->add_option("-n,--count", flags->request.count, "number of rankings")->required();
  command->add_option("--seed", flags->request.seed, "seed; same seed, same rankings")->capture_default_str();
  command->add_option("--length", flags->request.length, "list only the best t items of each ranking (0: all)")->capture_default_str();
  command->add_option("-o,--out", flags->out, "file to write, its format by extension; - for standard output")->type_name("FILE")->capture_default_str();
  command->add_option("--to", flags->format, "format to write")
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<Format>.begin(), enum_names<Format>.end())));
  command->add_option("--labels", flags->labels, "also write row,label: the group each ranking was drawn from")->type_name("FILE");
  command->add_option("--threads", context.threads, "number of threads, 0 for all cores")->check(CLI::Range(0, 4096))->capture_default_str();
  command->footer(examples({"caucus sample model.json -n 1000 --out draws.soc", "caucus sample model.json -n 1000 | caucus fit -"}));
  command->callback([flags, &context] {
    const LoadedModel loaded = load_model(flags->model);
    flags->request.threads = context.threads;
    const Sample sample = loaded.model->sample(flags->request);
    WriteOptions options;
    options.format = *enum_from_name<Format>(flags->format);
    for (const std::string& lost : write_dataset(sample.data, flags->out, options)) warning(context, "not written: " + lost);
    if (!flags->labels.empty()) {
      std::string csv = "row,label\n";
      for (std::size_t row = 0; row < sample.labels.size(); ++row) csv += fmt::format("{},{}\n", row + 1, sample.labels[row] + 1);
      write_file(flags->labels, csv);
    }
    if (flags->out != "-") note(context, fmt::format("{} rankings written to {}", flags->request.count, flags->out));
  });
}

}  // namespace caucus::cli
