// Model files: {"schema": "caucus.model/1", ...}. docs/model-file.md describes them; result/model_record.h writes them.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "caucus/infer/family.h"

namespace caucus {

struct LoadedModel {
  std::unique_ptr<FittedModel> model;
  FitSummary summary;                    // how the fit went, as far as the file says
  nlohmann::json json;                   // the whole file, unknown keys too
  bool states_unranked = false;          // the file says what unlisted items mean
  std::vector<std::string> group_names;  // what the user calls the groups, largest first; may be short
};

// Reads and checks a model file. Throws NoInputError or DataError with file, place and what was expected.
LoadedModel load_model(const std::string& path);
LoadedModel parse_model(std::string_view text, const std::string& name);

// The user's name for group k, or "Group 1", ...
std::string group_name(std::span<const std::string> names, std::size_t k);

}  // namespace caucus
