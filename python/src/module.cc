#include <fmt/format.h>
#include <unistd.h>

#include "caucus/base/error.h"
#include "caucus/base/version.h"
#include "caucus/service/families.h"
#include "core.h"

namespace caucus::python {

int usable_threads(int threads) {
  static std::atomic<pid_t> first_user{0};
  pid_t none = 0;
  const pid_t self = getpid();
  first_user.compare_exchange_strong(none, self);
  return first_user == self ? threads : 1;
}

Flow Watcher::progress(const Progress& progress) {
  if (stop_requested()) return Flow::stop;
  // Reports come far more often than anyone looks: a report that would have to wait is let go.
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
    last_ = progress;
    if (phase_ != progress.phase) phase_ = progress.phase;
    fresh_ = true;
  }
  return Flow::proceed;
}

bool Watcher::wait() {
  std::unique_lock lock(mutex_);
  return done_changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return done_; });
}

void Watcher::finish() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  done_changed_.notify_all();
}

bool Watcher::take(Progress& progress, std::string& phase) {
  const std::lock_guard lock(mutex_);
  if (!fresh_) return false;
  fresh_ = false;
  progress = last_;
  phase = phase_;
  return true;
}

namespace {

// The exceptions are classes of caucus._errors; the words are the library's.
void raise_as(const char* name, const char* words) {
  const nb::object type = nb::module_::import_("caucus._errors").attr(name);
  PyErr_SetString(type.ptr(), words);
}

void translate(const std::exception_ptr& failure, void*) {
  try {
    std::rethrow_exception(failure);
  } catch (const UsageError& error) {
    raise_as("UsageError", error.what());
  } catch (const DataError& error) {
    raise_as("DataError", error.what());
  } catch (const NoInputError& error) {
    raise_as("NoInputError", error.what());
  } catch (const UnfinishedError& error) {
    raise_as("UnfinishedError", error.what());
  } catch (const IoError& error) {
    raise_as("IoError", error.what());
  }
}

nb::dict option_dict(const OptionInfo& option) {
  nb::dict one;
  one["name"] = option.name;
  one["default"] = option.default_value;
  one["min"] = nb::cast(option.min);
  one["max"] = nb::cast(option.max);
  one["choices"] = nb::cast(option.choices);
  one["help"] = option.help;
  return one;
}

nb::list family_list() {
  nb::list all;
  for (const auto& family : families()) all.append(family_dict(family->info()));
  return all;
}

}  // namespace

nb::dict family_dict(const FamilyInfo& info) {
  nb::list methods, options;
  for (const MethodInfo& method : info.methods) {
    nb::dict one;
    one["name"] = method.name;
    one["summary"] = method.summary;
    one["accepts"] = nb::cast(method.accepts.names());
    methods.append(one);
  }
  for (const OptionInfo& option : info.options) options.append(option_dict(option));
  nb::dict one;
  one["name"] = info.name;
  one["title"] = info.title;
  one["summary"] = info.summary;
  one["words"] = info.words;
  one["methods"] = methods;
  one["options"] = options;
  return one;
}

}  // namespace caucus::python

NB_MODULE(_core, module) {
  using namespace caucus::python;
  namespace nb = nanobind;
  module.doc() = "The compiled part of caucus. Use the package, not this module.";
  nb::register_exception_translator(translate);
  module.def(
      "version", [] { return std::string(caucus::version()); }, "Which caucus this is.");
  module.def("families", &family_list, nb::sig("def families() -> list[dict[str, typing.Any]]"),
             "The families of models with their methods and options, as the tables in C++ have them.");
  bind_data(module);
  bind_voters(module);
  bind_models(module);
  bind_searches(module);
  bind_report(module);
  bind_regression(module);
}
