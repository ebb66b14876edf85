// The extension module: what Python sees of the library, and how a fit runs beside the interpreter.
#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/infer/family.h"
#include "caucus/infer/stopping.h"
#include "caucus/io/io.h"
#include "caucus/io/table.h"
#include "caucus/result/fit_summary.h"
#include "caucus/result/fitted_model.h"

namespace caucus::python {

namespace nb = nanobind;

// Rankings as Python holds them: never changed once made, so shared by whoever looks at them.
struct Data {
  std::shared_ptr<const Dataset> set;
  ReadOptions reading;  // how they were read, where they come from a file
};

// A fitted model and the text of its file, from which Python reads everything that is not computed.
struct Model {
  std::shared_ptr<const FittedModel> model;
  FitSummary summary;
  std::string text;
  std::optional<ReadOptions> reading;  // how its data were read
  bool states_unranked = true;
};

// A column beside the rankings: its name, and numbers or texts.
using PythonColumn = std::tuple<std::string, std::optional<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>,
                                std::optional<std::vector<std::string>>>;
std::vector<Column> columns_of(std::vector<PythonColumn> columns);
Table table_of(std::vector<PythonColumn> columns, std::size_t num_rows, std::string source = "table");

nb::dict family_dict(const FamilyInfo& info);

// From the text of a model file.
Model parsed_model(std::string text, const std::string& name);

// The rankings as the model numbers its items, checked. Where its groups depend on what is known of a voter and the rankings name
// none, every row is one. `storage` is filled where the rankings have to be changed.
const Dataset& matched(const Model& model, const Dataset& data, Dataset& storage);
// Every row a voter, unless the rankings name their voters.
const Dataset& with_row_voters(const Dataset& set, Dataset& storage);
// The rankings as a fit with these options takes them, and how its model file says they were read: as 'caucus fit' has it.
const Dataset& fitted_data(const Data& data, const OptionMap& options, Dataset& storage);
ReadOptions fitted_reading(const Data& data, const OptionMap& options);

void bind_data(nb::module_& module);
void bind_voters(nb::module_& module);
void bind_models(nb::module_& module);
void bind_searches(nb::module_& module);
void bind_report(nb::module_& module);
void bind_regression(nb::module_& module);

template <class T>
using InputVector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InputMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutputVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using OutputMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
std::span<const T> span_of(const std::optional<InputVector<T>>& array) {
  return array ? std::span<const T>(array->data(), array->shape(0)) : std::span<const T>{};
}

// Arrays that own their values.
template <class T>
OutputVector<T> vector_of(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  return OutputVector<T>(kept->data(), {kept->size()}, owner);
}
template <class T>
OutputMatrix<T> matrix_of(std::vector<T> values, std::size_t rows, std::size_t columns) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  return OutputMatrix<T>(kept->data(), {rows, columns}, owner);
}

// A name as an enum; throws UsageError that lists the names there are.
template <class E>
E named(const char* what, std::string_view name) {
  if (const auto value = enum_from_name<E>(name)) return *value;
  throw UsageError(
      fmt::format("{} = {}: expected {}", what, name, detail::join_choices(enum_names<E>.data(), enum_names<E>.size())));
}

// What a fit is given besides data and options.
struct RunRequest {
  std::uint64_t seed = 1;
  int threads = 0;
  std::optional<double> time_limit;
  nb::object progress = nb::none();  // None, or called with (phase, iteration, limit, objective) some ten times a second
};

// Threads of oneTBB do not live on in a forked child, where waiting for them may never end: a child works alone. Results do not
// depend on the number of threads.
int usable_threads(int threads);

// Keeps what a fit reports until the thread that called it looks.
class Watcher : public Observer, public StopSource {
 public:
  Flow progress(const Progress& progress) override;
  bool stop_requested() const override { return stop_.load(std::memory_order_relaxed); }

  void stop() { stop_ = true; }
  // Waits a little; answers whether the work is done.
  bool wait();
  void finish();
  // The last report, once.
  bool take(Progress& progress, std::string& phase);

 private:
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false, fresh_ = false;
  Progress last_;
  std::string phase_;
};

// Runs work(Run) on a thread of its own without the interpreter's lock. The calling thread looks now and then for signals and shows
// progress. A signal's exception (KeyboardInterrupt) or one of the progress function asks the work to end with what it has; it is
// returned, for the caller to raise once the result is kept. Exceptions of the work itself are thrown.
template <class Work>
nb::object run_watched(const RunRequest& request, Work&& work) {
  Watcher watcher;
  Run run;
  run.seed = request.seed;
  run.threads = usable_threads(request.threads);
  run.observer = &watcher;
  if (request.time_limit) run.time_limit = *request.time_limit;
  std::exception_ptr failure;
  nb::object raised = nb::none();
  {
    const nb::gil_scoped_release released;
    std::thread worker([&] {
      try {
        work(std::as_const(run));
      } catch (...) {
        failure = std::current_exception();
      }
      watcher.finish();
    });
    while (!watcher.wait()) {
      const nb::gil_scoped_acquire held;
      const auto keep = [&](nb::object error) {
        if (raised.is_none()) raised = std::move(error);
        watcher.stop();
      };
      try {
        if (PyErr_CheckSignals() != 0) nb::raise_python_error();
        Progress progress;
        std::string phase;
        if (!request.progress.is_none() && watcher.take(progress, phase))
          request.progress(phase, progress.iteration, progress.limit, progress.objective);
      } catch (nb::python_error& error) {
        keep(nb::borrow(error.value()));
      }
    }
    worker.join();
  }
  if (failure) std::rethrow_exception(failure);
  return raised;
}

}  // namespace caucus::python
