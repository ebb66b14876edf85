#include "caucus/service/model_file.h"

#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/io/source.h"
#include "caucus/result/model_json.h"
#include "caucus/service/families.h"

namespace caucus {

nlohmann::ordered_json model_to_json(const FitOutcome& outcome, const Dataset& data, const Provenance& provenance) {
  return model_to_json(outcome, digest(data), data.source, provenance);
}

nlohmann::ordered_json model_to_json(const FitOutcome& outcome, const std::string& digest, const std::string& source,
                                     const Provenance& provenance) {
  const FittedModel& model = *outcome.model;
  nlohmann::ordered_json json;
  json["schema"] = model_schema;
  json["family"] = model.family();
  json["method"] = outcome.summary.method;
  json["items"] = model.items();
  json["unranked"] = name_of(model.unranked());
  nlohmann::json own = model.to_json();
  const std::vector<Group> groups = model.profile();
  for (std::size_t k = 0; k < groups.size(); ++k) model_json::write_errors(groups[k], own["components"][k]);
  for (const auto& [key, value] : own.items()) json[key] = value;
  json["fit"] = model_json::write_summary(outcome.summary);
  if (outcome.summary.posterior) json["posterior"] = model_json::write_posterior(*outcome.summary.posterior);
  json["data"] = {{"digest", digest}, {"source", source}};
  json["provenance"] = {{"version", provenance.version}, {"command", provenance.command}};
  return json;
}

LoadedModel parse_model(std::string_view text, const std::string& name) {
  LoadedModel loaded;
  try {
    loaded.json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    // Byte -> line and column, as for every other file.
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i + 1 < error.byte && i < text.size(); ++i) text[i] == '\n' ? (++line, column = 1) : ++column;
    throw DataError({Diagnostic{name, line, column, "this is not JSON; expected a model file written by 'caucus fit --out'"}});
  }
  const auto schema = loaded.json.is_object() ? loaded.json.find("schema") : loaded.json.end();
  if (!loaded.json.is_object() || schema == loaded.json.end() || *schema != model_schema)
    throw DataError({Diagnostic{name, 0, 0, fmt::format("expected a model file with \"schema\": \"{}\"", model_schema)}});
  const auto family = loaded.json.find("family");
  if (family == loaded.json.end() || !family->is_string())
    throw DataError({Diagnostic{name, 0, 0, "expected the key \"family\" with a family's name"}});
  try {
    loaded.model = find_family(family->get<std::string>()).load(loaded.json);
  } catch (const Error& error) {
    throw DataError({Diagnostic{name, 0, 0, error.what()}});
  } catch (const nlohmann::json::exception& error) {
    throw DataError({Diagnostic{name, 0, 0, fmt::format("malformed model file: {}", error.what())}});
  }
  std::vector<GroupErrors> errors;
  for (const auto& component : loaded.json.at("components")) errors.push_back(model_json::read_errors(component));
  loaded.model->set_errors(std::move(errors));
  loaded.summary = model_json::read_summary(loaded.json);
  loaded.states_unranked = loaded.json.contains("unranked");
  return loaded;
}

LoadedModel load_model(const std::string& path) {
  const Source source = Source::open(path);
  return parse_model(source.text(), source.name());
}

}  // namespace caucus
