#include "caucus/report/html.h"

namespace caucus {

// The page in two halves; the data stand between them. Made by web/tools/bundle.mjs.
namespace report_page {
extern const unsigned char head[];
extern const unsigned long head_size;
extern const unsigned char tail[];
extern const unsigned long tail_size;
}  // namespace report_page

std::string embeddable_json(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size() + text.size() / 64);
  for (const char c : text) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

std::string report_html(const nlohmann::json& data) {
  const std::string json = embeddable_json(data);
  std::string page;
  page.reserve(report_page::head_size + json.size() + report_page::tail_size);
  page.append(reinterpret_cast<const char*>(report_page::head), report_page::head_size);
  page += json;
  page.append(reinterpret_cast<const char*>(report_page::tail), report_page::tail_size);
  return page;
}

}  // namespace caucus
