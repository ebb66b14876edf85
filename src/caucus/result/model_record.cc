#include "caucus/result/model_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "caucus/base/error.h"
#include "caucus/result/model_json.h"
#include "caucus/result/record_json.h"

namespace caucus {

std::vector<double> ModelRecord::weights() const {
  std::vector<double> result;
  double total = 0.0;
  for (const RecordView& component : components) {
    const bool alone = components.size() == 1 && !component.has("weight");
    result.push_back(alone ? 1.0 : component.non_negative("weight"));
    total += result.back();
  }
  if (std::abs(total - 1.0) > 1e-6) model.fail("components", fmt::format("weights that sum to 1, but they sum to {}", total));
  for (double& weight : result) weight /= total;
  return result;
}

namespace {

// Beyond it sums of likelihoods would overflow. Parameters have a bound of their own: record.cc. Numbers below the least normal
// one, whose inverse is infinite, are nothing.
constexpr double largest_in_file = 1e100;
// Strengths of ties stand beside worths of e^-640; the family that reads them knows what goes together.
constexpr double largest_strength = 1e290;
constexpr std::size_t deepest = 64;

// How deep brackets are nested: known before anything is built of them.
std::size_t nesting(std::string_view text) {
  std::size_t depth = 0, most = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == '[' || c == '{') most = std::max(most, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return most;
}

void check_numbers(nlohmann::json& json, const std::string& name, const std::string& where) {
  const double largest = where.starts_with("ties.") ? largest_strength : largest_in_file;
  if (json.is_number_float() && !(std::abs(json.get<double>()) <= largest))
    throw DataError({Diagnostic{name, 0, 0, fmt::format("{}: expected a number of at most {:g}", where, largest)}});
  if (json.is_number_float() && std::abs(json.get<double>()) < std::numeric_limits<double>::min()) json = 0.0;
  if (json.is_object())
    for (auto& [key, value] : json.items()) check_numbers(value, name, where.empty() ? key : where + "." + key);
  else if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i)
      if (json[i].is_structured() || json[i].is_number_float()) check_numbers(json[i], name, fmt::format("{}[{}]", where, i));
}

}  // namespace

nlohmann::json parse_model_json(std::string_view text, const std::string& name, std::string_view made_by) {
  if (nesting(text) > deepest)
    throw DataError({Diagnostic{name, 0, 0, fmt::format("nested more than {} deep; expected a model file", deepest)}});
  try {
    nlohmann::json json = nlohmann::json::parse(text);
    check_numbers(json, name, "");
    return json;
  } catch (const nlohmann::json::parse_error& error) {
    // Byte -> line and column, as for every other file.
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i + 1 < error.byte && i < text.size(); ++i) text[i] == '\n' ? (++line, column = 1) : ++column;
    throw DataError(
        {Diagnostic{name, line, column, fmt::format("this is not JSON; expected a model file written by '{}'", made_by)}});
  } catch (const nlohmann::json::exception&) {  // 1e400: more than a number can hold
    throw DataError({Diagnostic{name, 0, 0, "a number is out of range; expected finite numbers"}});
  }
}

namespace {

ModelRecord record_of(const nlohmann::json& json) {
  ModelRecord record{{}, Unranked::last, view_of(json), {}};
  const RecordView& file = record.model;
  if (file.size("items") == 0) file.fail("items", "a list of item names");
  record.items = file.texts("items");
  std::unordered_set<std::string_view> seen;
  for (const std::string& item : record.items)
    if (!seen.insert(item).second) file.fail("items", fmt::format("distinct names, but '{}' stands twice", item));
  if (file.has("unranked")) {
    const auto& found = json["unranked"];
    const auto named = found.is_string() ? enum_from_name<Unranked>(found.get<std::string>()) : std::nullopt;
    if (!named) file.fail("unranked", "\"last\" or \"absent\"");
    record.unranked = *named;
  }
  if (file.size("components") == 0) file.fail("components", "a list with at least one component");
  record.components = file.objects("components");
  return record;
}

}  // namespace

ModelDocument::ModelDocument(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelDocument::ModelDocument(ModelDocument&&) noexcept = default;
ModelDocument::~ModelDocument() = default;

ModelDocument ModelDocument::parse(std::string_view text, const std::string& name) {
  const auto fail = [&](const std::string& message) { throw DataError({Diagnostic{name, 0, 0, message}}); };
  auto state = std::make_unique<State>();
  state->json = parse_model_json(text, name, "caucus fit --out");
  const nlohmann::json& json = state->json;
  if (!json.is_object() || json.value("schema", nlohmann::json()) != model_schema)
    fail(fmt::format("expected a model file with \"schema\": \"{}\"", model_schema));
  if (!json.contains("family") || !json["family"].is_string()) fail("expected the key \"family\" with a family's name");
  state->family = json["family"].get<std::string>();
  try {
    state->record = std::make_unique<ModelRecord>(record_of(json));
  } catch (const Error& error) {
    fail(error.what());
  }
  return ModelDocument(std::move(state));
}

const std::string& ModelDocument::family() const { return state_->family; }
const ModelRecord& ModelDocument::record() const { return *state_->record; }
FitSummary ModelDocument::summary() const { return model_json::read_summary(state_->json); }
std::vector<GroupErrors> ModelDocument::errors() const {
  std::vector<GroupErrors> result;
  for (const auto& component : state_->json["components"])
    result.push_back(model_json::read_errors(component, result.size(), state_->record->items.size()));
  return result;
}

ModelFacts ModelDocument::facts() const {
  const RecordView& file = state_->record->model;
  ModelFacts facts;
  facts.family = state_->family;
  facts.method = file.text("method", "");
  facts.fitted = file.has("fit");
  facts.states_unranked = file.has("unranked");
  facts.models_ties = file.has("ties");
  if (file.has("data")) {
    const RecordView data = file.object("data");
    facts.data = {data.text("digest", ""), data.text("source", "")};
  }
  if (file.has("provenance")) {
    const RecordView provenance = file.object("provenance");
    facts.provenance = {provenance.text("version", ""), provenance.text("command", "")};
  }
  if (file.has("group_names")) facts.group_names = file.texts("group_names");
  return facts;
}

DataFacts facts_of(const Dataset& data, Collective* ranks) { return {digest(data, ranks), data.source}; }

namespace {

using Json = nlohmann::json;

std::string compact(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// What holds no list or object stands on one line, so that an array of numbers reads as a row and large models stay small.
void append_text(const Json& json, std::size_t depth, std::string& out) {
  if (std::ranges::none_of(json, [](const Json& one) { return one.is_structured(); }) && !json.is_object()) {
    out += compact(json);
    return;
  }
  const char* separator = "\n";
  const auto next = [&] {
    out += separator;
    out.append(depth + 1, ' ');
    separator = ",\n";
  };
  out += json.is_object() ? '{' : '[';
  if (json.is_object())
    for (const auto& [key, value] : json.items()) {
      next();
      out += compact(key) + ": ";
      append_text(value, depth + 1, out);
    }
  else
    for (const Json& value : json) {
      next();
      append_text(value, depth + 1, out);
    }
  if (!json.empty()) {
    out += '\n';
    out.append(depth, ' ');
  }
  out += json.is_object() ? '}' : ']';
}

// The keys of a model file in the order in which a person reads them.
class ModelText {
 public:
  void set(const std::string& key, Json value) {
    const auto found = std::ranges::find(entries_, key, &Entry::first);
    if (found == entries_.end())
      entries_.emplace_back(key, std::move(value));
    else
      found->second = std::move(value);
  }
  void set_all(Json& object) {
    for (auto& [key, value] : object.items()) set(key, std::move(value));
  }

  std::string text() const {
    std::string out = "{";
    for (const auto& [key, value] : entries_) {
      out += fmt::format("{}\n {}: ", out.size() > 1 ? "," : "", compact(key));
      append_text(value, 1, out);
    }
    return out + "\n}\n";
  }

 private:
  using Entry = std::pair<std::string, Json>;
  std::vector<Entry> entries_;
};

}  // namespace

std::string model_text(const FittedModel& model, const FitSummary* summary, const DataFacts& data, const Provenance& provenance,
                       const Record& extra) {
  const std::vector<Group> groups = model.profile();
  Record own;
  std::vector<Record> components(groups.size());
  model.write(own, components);
  Json written = Json::array();
  for (std::size_t k = 0; k < groups.size(); ++k) {
    Json& component = components[k].node().json;
    model_json::write_group(groups[k], component);
    written.push_back(std::move(component));
  }
  ModelText file;
  file.set("schema", model_schema);
  file.set("family", model.family());
  if (summary != nullptr) file.set("method", summary->method);
  file.set("items", model.items());
  file.set("unranked", name_of(model.unranked()));
  file.set("components", std::move(written));
  file.set_all(own.node().json);
  if (model.membership() != nullptr) file.set("membership", model.membership()->record().node().json);
  if (summary != nullptr) {
    file.set("fit", model_json::write_summary(*summary));
    if (summary->posterior) file.set("posterior", model_json::write_posterior(*summary->posterior));
    file.set("data", {{"digest", data.digest}, {"source", data.source}});
  }
  if (!provenance.version.empty()) file.set("provenance", {{"version", provenance.version}, {"command", provenance.command}});
  Json last = extra.node().json;
  file.set_all(last);
  return file.text();
}

std::string model_text(const FittedModel& model) { return model_text(model, nullptr, {}, {}); }

}  // namespace caucus
