#include "caucus/service/refit.h"

#include "caucus/infer/silent_observer.h"
#include "caucus/service/families.h"
#include "caucus/service/fit.h"

namespace caucus::service {

namespace {

// Where many fits are made, each may miss the best optimum a little more often; the start from the groups makes up for it.
constexpr double effort_of_a_refit = 0.25;

}  // namespace

Refit refitter(const LoadedModel& loaded, const Run& run) {
  const std::string family(loaded.model->family());
  const FamilyInfo info = find_family(family).info();
  OptionMap options = loaded.summary.options;
  const auto set = [&](const char* name, const std::string& value) {
    if (info.has_option(name)) options[name] = value;
  };
  for (const char* file : {"draws", "draws-cmdstan", "draw-assignments", "co-clustering", "checkpoint", "init-file"})
    if (info.has_option(file)) options.erase(file);
  if (const auto init = options.find("init"); init != options.end() && init->second == "file") options.erase(init);
  set("components", std::to_string(loaded.model->num_components()));
  set("standard-errors", "off");
  set("bootstrap", "0");
  const bool from_labels = info.starts_from_labels;
  const std::uint64_t seed = loaded.summary.seed;
  return [=, &run](const Dataset& data, std::span<const std::uint32_t> labels) -> std::unique_ptr<FittedModel> {
    SilentObserver observer(run.observer);
    Run own = run;
    own.seed = seed;
    own.threads = 1;
    own.observer = &observer;
    own.effort *= effort_of_a_refit;
    if (from_labels) own.labels = labels;
    FitResult fitted = fit({.family = family, .options = options, .data = &data}, own);
    return was_cut_short(fitted.summary.stop_reason) ? nullptr : std::move(fitted.model);
  };
}

}  // namespace caucus::service
