// A fit whose number of groups may be left to the ballots: what 'caucus fit' does without -k, for every front door.
#pragma once

#include "caucus/service/fit.h"
#include "caucus/service/select.h"

namespace caucus::service {

// Is the number of groups for us to choose? Not where the caller gives it, a start file does, or the method has its own or needs
// the ballots only once. The word "auto" is taken out of the options; throws UsageError where it stands and there is nothing to
// choose.
bool settle_components(FitRequest& request);

struct ChosenFit {
  FitResult fit;
  Selection selection;  // without its model, which is in `fit`
};

// Fits as many groups as the ballots show: select() with its defaults, on data given or read.
ChosenFit choose_and_fit(const FitRequest& request, const Run& run);

}  // namespace caucus::service
