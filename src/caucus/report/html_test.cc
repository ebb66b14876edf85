#include "caucus/report/html.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace caucus {
namespace {

constexpr const char* opening = "<script type=\"application/json\" id=\"caucus-report-data\">";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string data_in(const std::string& page) {
  const std::size_t begin = page.find(opening) + std::string(opening).size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

nlohmann::json sample() {
  const std::vector<std::string> names = {"<script>alert(1)</script>", "</script>",   "<!--", "]]>", "&amp;", "a\"b\\c",
                                          "\xe6\x97\xa5\xe6\x9c\xac",  "\xe2\x80\xa8"};
  return {{"schema", "caucus.report/1"}, {"title", "</title><script>alert(2)</script>"}, {"items", names}};
}

TEST(ReportHtml, NamesCannotEndTheElementTheyStandIn) {
  const std::string page = report_html(sample());
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(count(page, "</script>"), 2U) << "one closes the data, one the script";
  EXPECT_EQ(data_in(page).find('<'), std::string::npos);
}

TEST(ReportHtml, DataComeBackAsTheyWere) { EXPECT_EQ(nlohmann::json::parse(data_in(report_html(sample()))), sample()); }

TEST(ReportHtml, BrokenTextIsReplacedNotThrown) {
  const nlohmann::json data = {{"title", std::string("caf\xe9")}};
  EXPECT_EQ(nlohmann::json::parse(data_in(report_html(data)))["title"], "caf\xef\xbf\xbd");
}

TEST(ReportHtml, ThePolicyLetsNothingInAndNothingOut) {
  const std::string page = report_html(sample());
  const std::string start = "http-equiv=\"Content-Security-Policy\" content=\"";
  const std::size_t begin = page.find(start);
  ASSERT_NE(begin, std::string::npos);
  const std::string policy = page.substr(begin + start.size(), page.find('"', begin + start.size()) - begin - start.size());
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("script-src 'sha256-"), std::string::npos);
  EXPECT_NE(policy.find("style-src 'sha256-"), std::string::npos);
  for (const char* bad : {"unsafe", "*", "http:", "https:", "self"}) EXPECT_EQ(policy.find(bad), std::string::npos) << policy;
  EXPECT_LT(begin, page.find("<style")) << "a policy in force before anything it is about";
  // Nothing in the page is fetched from anywhere.
  for (const char* bad : {" src=", "@import", "url(", "<link"}) EXPECT_EQ(page.find(bad), std::string::npos) << bad;
}

TEST(ReportHtml, ThePageItselfIsSmall) { EXPECT_LT(report_html(nlohmann::json::object()).size(), 400U * 1024U); }

}  // namespace
}  // namespace caucus
