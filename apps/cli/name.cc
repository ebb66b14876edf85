// Names for the groups of a fitted model, kept in its file.
#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/io/source.h"
#include "commands.h"

namespace caucus::cli {

namespace {

struct NameFlags {
  std::string model, out;
  std::vector<std::string> names;
};

void run_name(const NameFlags& flags, Context& context) {
  const LoadedModel loaded = load_model(flags.model);
  const std::size_t groups = loaded.model->profile().size();
  if (flags.names.size() > groups)
    throw UsageError(fmt::format("{}: found {} names; the model has {} group{}", flags.model, flags.names.size(), groups,
                                 groups == 1 ? "" : "s"));
  nlohmann::ordered_json model = nlohmann::ordered_json::parse(Source::open(flags.model).text());
  model["group_names"] = flags.names;
  const std::string& out = flags.out.empty() ? flags.model : flags.out;
  write_file(out, model.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  note(context, fmt::format("{} of {} groups named in {}", flags.names.size(), groups, out));
}

}  // namespace

void add_name(CLI::App& app, Context& context) {
  auto flags = std::make_shared<NameFlags>();
  CLI::App* command = app.add_subcommand("name", "Give the groups of a model names that its reports use");
  command->add_option("model", flags->model, "model file")->required()->type_name("MODEL");
  command->add_option("names", flags->names, "names, of the largest group first")->required()->type_name("NAME");
  command->add_option("-o,--out", flags->out, "write the named model to this file instead of changing it")->type_name("FILE");
  command->footer(examples({"caucus name model.json \"Young families\" \"Shopkeepers\" \"Teenagers\""}));
  command->callback([flags, &context] { run_name(*flags, context); });
}

}  // namespace caucus::cli
