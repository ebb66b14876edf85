// A model file as families read and write it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/result/fit_summary.h"
#include "caucus/result/fitted_model.h"
#include "caucus/result/record.h"

namespace caucus {

inline constexpr const char* model_schema = "caucus.model/1";

// What all model files have is checked, the rest is asked for by key.
struct ModelRecord {
  std::vector<std::string> items;
  Unranked unranked = Unranked::last;
  RecordView model;                    // the whole file
  std::vector<RecordView> components;  // at least one

  // Checked to be non-negative and to sum to one (1e-6), then normalised. A single component may leave its weight out.
  std::vector<double> weights() const;
};

struct Provenance {
  std::string version;
  std::string command;
};

// What the data were: their digest and where they came from.
struct DataFacts {
  std::string digest;
  std::string source;
};
// ranks: processes that have the same data, all of which call (digest).
DataFacts facts_of(const Dataset& data, Collective* ranks = nullptr);

// What a model file says besides the model and its fit.
struct ModelFacts {
  std::string family, method;
  bool fitted = false;           // it says how the fit went
  bool states_unranked = false;  // it says what unlisted items mean
  bool models_ties = false;      // ties are outcomes with a parameter of their own
  DataFacts data;
  Provenance provenance;
  std::vector<std::string> group_names;  // what the user calls the groups, largest first; may be short
};

// The text of a model file, taken apart.
class ModelDocument {
 public:
  // Throws DataError with file, place and what was expected.
  static ModelDocument parse(std::string_view text, const std::string& name);
  ModelDocument(ModelDocument&&) noexcept;
  ~ModelDocument();

  const std::string& family() const;
  const ModelRecord& record() const;
  ModelFacts facts() const;
  FitSummary summary() const;
  std::vector<GroupErrors> errors() const;

  struct State;
  const State& state() const { return *state_; }  // model_json.h

 private:
  explicit ModelDocument(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The text of a model file, keys in the order a person wants to read them. Without a summary (a model that was not fitted) it is
// the model alone. `extra` holds further keys of the top level.
std::string model_text(const FittedModel& model, const FitSummary* summary, const DataFacts& data, const Provenance& provenance,
                       const Record& extra = {});

// The model alone, as one that was not fitted.
std::string model_text(const FittedModel& model);

}  // namespace caucus
