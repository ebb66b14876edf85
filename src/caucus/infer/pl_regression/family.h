// What the outside needs to know of regressions. They explain an outcome by covariates, so they are no Family that rankings alone
// could be fitted to; everything else about them has the same shape.
#pragma once

#include <vector>

#include "caucus/infer/family.h"

namespace caucus::pl_regression {

// Plackett-Luce regression and its rival.
std::vector<FamilyInfo> families();

}  // namespace caucus::pl_regression
