// The typed results as JSON and back: the one place that knows the keys of a model file which all families share. A private header
// of the model file's writer and reader.
#pragma once

#include <nlohmann/json.hpp>

#include "caucus/result/fit_summary.h"
#include "caucus/result/group.h"
#include "caucus/result/model_record.h"

namespace caucus {

struct ModelDocument::State {
  nlohmann::json json;
  std::string family;
  std::unique_ptr<ModelRecord> record;
};

namespace model_json {

// A sum of weights: a whole number where it is one.
nlohmann::json count(double value);

// A group as its component, and the errors back. Numbers that do not exist are null.
void write_group(const Group& group, nlohmann::json& component);
// `index` is the component's place in the file. Throws DataError.
GroupErrors read_errors(const nlohmann::json& component, std::size_t index, std::size_t num_items);

// The "fit" object, and the "posterior" object beside it where there is one. Keys that a file does not have leave the defaults;
// wrong ones are a DataError.
nlohmann::json write_summary(const FitSummary& summary);
nlohmann::json write_posterior(const Posterior& posterior);
FitSummary read_summary(const nlohmann::json& model);

}  // namespace model_json

}  // namespace caucus
