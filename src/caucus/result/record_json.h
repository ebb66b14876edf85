// What a Record is made of. A private header of the model file's writer and reader.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "caucus/result/record.h"

namespace caucus {

struct Record::Node {
  nlohmann::json json = nlohmann::json::object();
};

// The text of a model file, parsed: JSON whose numbers are all finite and at most 1e100, nested at most 64 deep. Throws DataError
// with file and place; `made_by` is the command that writes such files.
nlohmann::json parse_model_json(std::string_view text, const std::string& name, std::string_view made_by);

// A view of an object of a file; `where` is its place in the file, for messages.
RecordView view_of(const nlohmann::json& json, std::string where = {});

}  // namespace caucus
