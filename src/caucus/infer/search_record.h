// What a search over starts says of itself.
#pragma once

#include "caucus/result/fit_summary.h"

namespace caucus {

// How sure the search is of its best optimum.
struct SearchRecord {
  int tried = 0;     // starts begun
  int finished = 0;  // starts that ran to their end
  int agreeing = 0;  // independent finds of the best optimum: starts that ended there, and searches whose moves led there
  int optima = 0;    // different ones that were found so

  // The chance that a better optimum exists: the rule of succession on independent finds (README.md).
  double missed() const { return missed_after(agreeing); }
  static double missed_after(int agreeing) { return 1.0 / (2.0 + static_cast<double>(agreeing)); }
};

// As a fit's summary keeps it.
inline Starts starts_of(const SearchRecord& record) {
  return {record.tried, record.finished, record.agreeing, {}, record.missed()};
}

}  // namespace caucus
