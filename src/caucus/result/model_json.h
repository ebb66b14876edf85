// The typed results as JSON and back: the one place that knows the keys of a model file which all families share. A private header
// of the model file's writer and reader (service/model_file.cc).
#pragma once

#include <nlohmann/json.hpp>

#include "caucus/result/fit_summary.h"
#include "caucus/result/group.h"

namespace caucus::model_json {

// A group's errors as keys of its component, and back. Numbers that do not exist are null.
void write_errors(const Group& group, nlohmann::json& component);
GroupErrors read_errors(const nlohmann::json& component);

// The "fit" object, and the "posterior" object beside it where there is one. Keys that a file does not have leave the defaults.
nlohmann::json write_summary(const FitSummary& summary);
nlohmann::json write_posterior(const Posterior& posterior);
FitSummary read_summary(const nlohmann::json& model);

}  // namespace caucus::model_json
