#include "caucus/service/families.h"

#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/infer/dp_mallows/family.h"
#include "caucus/infer/kernel_mallows/family.h"
#include "caucus/infer/m4/family.h"
#include "caucus/infer/mallows_mixture/family.h"
#include "caucus/infer/pl_mixture/family.h"

namespace caucus {

const std::vector<std::unique_ptr<Family>>& families() {
  static const std::vector<std::unique_ptr<Family>> list = [] {
    std::vector<std::unique_ptr<Family>> made;
    made.push_back(make_pl_mixture_family());
    made.push_back(make_mallows_family());
    made.push_back(make_generalized_mallows_family());
    made.push_back(make_m4_family());
    made.push_back(make_dp_mallows_family());
    made.push_back(make_kde_family());
    made.push_back(make_ebms_family());
    return made;
  }();
  return list;
}

const Family& find_family(std::string_view name) {
  std::string known;
  for (const auto& family : families()) {
    const std::string candidate = family->info().name;
    if (candidate == name) return *family;
    known += (known.empty() ? "" : ", ") + candidate;
  }
  throw UsageError(fmt::format("there is no family '{}'; there are: {}", name, known));
}

}  // namespace caucus
