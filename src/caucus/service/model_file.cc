#include "caucus/service/model_file.h"

#include "caucus/base/error.h"
#include "caucus/io/source.h"
#include "caucus/result/model_json.h"
#include "caucus/service/families.h"

namespace caucus {

LoadedModel parse_model(std::string_view text, const std::string& name) {
  const ModelDocument document = ModelDocument::parse(text, name);
  LoadedModel loaded;
  try {
    loaded.model = find_family(document.family()).load(document.record());
    loaded.model->set_errors(document.errors());
    loaded.summary = document.summary();
  } catch (const Error& error) {
    throw DataError({Diagnostic{name, 0, 0, error.what()}});
  }
  loaded.states_unranked = document.states_unranked();
  loaded.json = document.state().json;
  return loaded;
}

LoadedModel load_model(const std::string& path) {
  const Source source = Source::open(path);
  return parse_model(source.text(), source.name());
}

}  // namespace caucus
