// A report's data -> one HTML file that stands alone: no network, nothing but its own script may run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace caucus {

// `data` is an object of schema caucus.report/1. The page is the one that web/ bundles at build time.
std::string report_html(const nlohmann::json& data);

// JSON as it may stand inside <script type="application/json">: no '<', so no text in it can end the element, and invalid UTF-8
// replaced.
std::string embeddable_json(const nlohmann::json& data);

}  // namespace caucus
