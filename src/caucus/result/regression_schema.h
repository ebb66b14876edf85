// A regression is no model of rankings that `score` could load: its files have a schema of their own.
#pragma once

namespace caucus {

inline constexpr const char* regression_schema = "caucus.regression/1";

}  // namespace caucus
