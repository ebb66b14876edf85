#include <fmt/format.h>

#include "caucus/evaluate/model_distance.h"
#include "caucus/infer/pl_mixture/family.h"
#include "caucus/model/plackett_luce_mixture.h"
#include "commands.h"

namespace caucus::cli {

void add_generate(CLI::App& app, Context& context) {
  struct Flags {
    std::size_t items = 100, components = 3, informative = 5;
    std::uint64_t seed = 1;
    std::string out = "-";
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("generate", "Make a Plackett-Luce mixture at random, to draw data whose truth is known");
  command->add_option("--items", flags->items, "number of items")->check(CLI::Range(2, 1000000))->capture_default_str();
  command->add_option("-k,--components", flags->components, "number of groups")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      ->add_option("--informative", flags->informative,
                   "items on which the groups differ: standard normal utilities; the others have 0")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "seed; same seed, same model")->capture_default_str();
  command->add_option("-o,--out", flags->out, "model file to write, - for standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->footer(examples(
      {"caucus generate --items 100 -k 3 --informative 5 --out truth.json      the generator of Theorem 1 of Nguyen & Zhang (2023)",
       "caucus sample truth.json -n 10000 --out draws.soc",
       "caucus fit draws.soc -k 3 --out model.json && caucus distance model.json truth.json"}));
  command->callback([flags, &context] {
    if (flags->informative > flags->items) throw UsageError("--informative: more informative items than items");
    const PlackettLuceTruth truth = theorem1_truth(flags->items, flags->components, flags->informative, flags->seed);
    nlohmann::ordered_json items = nlohmann::ordered_json::array(), components = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < flags->items; ++i) items.push_back(fmt::format("item {}", i + 1));
    for (std::size_t k = 0; k < flags->components; ++k) {
      // Model files hold utilities of mean zero.
      std::vector<double> utilities(truth.utilities.begin() + static_cast<std::ptrdiff_t>(k * flags->items),
                                    truth.utilities.begin() + static_cast<std::ptrdiff_t>((k + 1) * flags->items));
      double mean = 0.0;
      for (const double value : utilities) mean += value / static_cast<double>(flags->items);
      for (double& value : utilities) value -= mean;
      components.push_back({{"weight", truth.weights[k]}, {"utilities", utilities}});
    }
    const nlohmann::ordered_json model{
        {"schema", model_schema}, {"family", make_pl_mixture_family()->info().name}, {"items", items}, {"components", components}};
    if (flags->out == "-") return print_json(model);
    write_file(flags->out, model.dump() + "\n");
    note(context, "Model written to " + flags->out);
  });
}

void add_distance(CLI::App& app, Context& context) {
  struct Flags {
    std::string first, second;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("distance", "How far apart two models are, their groups matched");
  command->add_option("first", flags->first, "model file")->required()->type_name("MODEL");
  command->add_option("second", flags->second, "model file over the same items")->required()->type_name("MODEL");
  command->add_flag("--json", context.json, "print the result as one JSON object");
  command->footer(examples({"caucus distance model.json truth.json"}));
  command->callback([flags, &context] {
    const LoadedModel first = load_model(flags->first), second = load_model(flags->second);
    const ModelDistance result = distance_between(*first.model, *second.model);
    const double num_pairs = 0.5 * static_cast<double>(result.num_items) * (static_cast<double>(result.num_items) - 1.0);
    if (context.json) {
      nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
      for (const GroupPair& pair : result.pairs) {
        nlohmann::ordered_json row{
            {"first", pair.first}, {"second", pair.second}, {"kendall", pair.kendall}, {"spearman", pair.spearman}};
        if (pair.utilities) row["utilities"] = *pair.utilities;
        pairs.push_back(row);
      }
      nlohmann::ordered_json json;
      if (result.utilities) json["distance"] = *result.utilities;
      json["groups"] = pairs;
      return print_json(json);
    }
    std::string text;
    if (result.utilities) text += fmt::format("distance of the utilities, groups matched: {:.6g}\n", *result.utilities);
    for (const GroupPair& pair : result.pairs) {
      text += fmt::format("  group {} and group {}: {} of {:.0f} pairs of items ordered the other way round", pair.first + 1,
                          pair.second + 1, pair.kendall, num_pairs);
      const double n = static_cast<double>(result.num_items);
      if (n > 1.0)
        text += fmt::format(", rank correlation {:.3f}", 1.0 - 6.0 * static_cast<double>(pair.spearman) / (n * n * n - n));
      if (pair.utilities) text += fmt::format(", utilities {:.6g} apart", *pair.utilities);
      text += "\n";
    }
    print(text);
  });
}

}  // namespace caucus::cli
