// Fits a regression by one of its methods. Options, input and model file: options.h, input.h, fitted.h.
#pragma once

#include "caucus/infer/pl_regression/fitted.h"
#include "caucus/infer/pl_regression/input.h"
#include "caucus/infer/run.h"

namespace caucus::pl_regression {

// Throws UsageError, DataError; being stopped is a result.
Result fit(const Input& input, const Options& options, const Run& run);

}  // namespace caucus::pl_regression
