#include "caucus/service/model_file.h"

#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/io/source.h"
#include "caucus/service/families.h"
#include "caucus/service/reading.h"

namespace caucus {

LoadedModel parse_model(std::string_view text, const std::string& name) {
  const ModelDocument document = ModelDocument::parse(text, name);
  LoadedModel loaded;
  try {
    loaded.model = find_family(document.family()).load(document.record());
    loaded.facts = document.facts();
    const RecordView& file = document.record().model;
    if (file.has("reading")) loaded.reading = reading_of(file.object("reading"));
    if (file.has("selection")) loaded.selection = selection_of(file.object("selection"));
    if (file.has("membership"))
      loaded.model->set_membership(Membership::read(file.object("membership"), loaded.model->num_components()));
    loaded.model->set_errors(document.errors());
    loaded.summary = document.summary();
  } catch (const Error& error) {
    throw DataError({Diagnostic{name, 0, 0, error.what()}});
  }
  return loaded;
}

std::string group_name(std::span<const std::string> names, std::size_t k) {
  return k < names.size() && !names[k].empty() ? names[k] : fmt::format("Group {}", k + 1);
}

LoadedModel load_model(const std::string& path) {
  const Source source = Source::open(path);
  return parse_model(source.text(), source.name());
}

}  // namespace caucus
