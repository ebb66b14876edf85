// Model files: {"schema": "caucus.model/1", ...}. docs/model-file.md describes them; result/model_record.h writes them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "caucus/infer/family.h"
#include "caucus/io/io.h"
#include "caucus/service/select.h"

namespace caucus {

struct LoadedModel {
  std::unique_ptr<FittedModel> model;
  FitSummary summary;  // how the fit went, as far as the file says
  ModelFacts facts;
  std::optional<ReadOptions> reading;       // how its data were read
  std::optional<SelectionFacts> selection;  // how the number of groups was chosen
};

// Reads and checks a model file. Throws NoInputError or DataError with file, place and what was expected.
LoadedModel load_model(const std::string& path);
LoadedModel parse_model(std::string_view text, const std::string& name);

// The user's name for group k, or "Group 1", ...
std::string group_name(std::span<const std::string> names, std::size_t k);

}  // namespace caucus
