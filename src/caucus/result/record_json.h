// What a Record is made of. A private header of the model file's writer and reader.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "caucus/result/record.h"

namespace caucus {

struct Record::Node {
  nlohmann::json json = nlohmann::json::object();
};

// A view of an object of a file; `where` is its place in the file, for messages.
RecordView view_of(const nlohmann::json& json, std::string where = {});

}  // namespace caucus
