// The fit of a model file once more, on other data.
#pragma once

#include "caucus/evaluate/goodness.h"
#include "caucus/service/model_file.h"

namespace caucus::service {

// Fits with the family and the options of the model file to whatever ballots it is given, one thread each: no errors, no files
// written, the starts of the search and a start from the groups handed over. Being stopped gives no model. `loaded` and `run` must
// outlive it. The run's observer is asked whether to stop (StopSource) and told nothing.
Refit refitter(const LoadedModel& loaded, const Run& run);

}  // namespace caucus::service
