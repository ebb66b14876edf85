// A family of models behind one face: fit, load, describe. Each family's family.cc makes one; the one
// list of them is service/families.cc.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/data/dataset.h"
#include "caucus/infer/run.h"
#include "caucus/result/fit_summary.h"
#include "caucus/result/fitted_model.h"

namespace caucus {

class RankingStream;

// The kinds of rankings a family or one of its methods takes.
struct Accepts {
  bool complete = true;
  bool top_t = false;
  bool subset = false;  // pairwise comparisons among them
  bool ties = false;

  std::vector<std::string> names() const;  // {"complete", "top-t", ...}
};

// Throws DataError that names what is refused, by whom, and a remedy.
void require_accepted(const Accepts& accepts, const Dataset& data, std::string_view who);

struct MethodInfo {
  std::string name;
  std::string summary;
  Accepts accepts;
};

struct FamilyInfo {
  std::string name;
  std::string summary;
  std::vector<MethodInfo> methods;  // the first is the default
  std::vector<OptionInfo> options;
  bool starts_from_labels = false;  // uses Run::labels
};

struct FitOutcome {
  std::unique_ptr<FittedModel> model;
  FitSummary summary;
};

class Family {
 public:
  virtual ~Family() = default;
  virtual FamilyInfo info() const = 0;
  // `options` may hold "components" and "method" like any other option.
  virtual FitOutcome fit(const Dataset& data, const OptionMap& options, const Run& run) const = 0;
  // Does a fit with these options need no more than counts, so that the rankings may go by in pieces? Then fit_stream() gives the
  // same parameters as fit(), and its memory does not grow with the number of rankings.
  virtual bool takes_stream(const OptionMap& options) const;
  virtual FitOutcome fit_stream(RankingStream& rankings, const OptionMap& options, const Run& run) const;
  // From a model file that holds at least schema, family, items and components. Throws DataError.
  virtual std::unique_ptr<FittedModel> load(const nlohmann::json& model) const = 0;
};

// Reads keys of a model file with errors that name the key: "components[1].weight: expected a number".
namespace model_json {
std::vector<std::string> items(const nlohmann::json& model);
Unranked unranked(const nlohmann::json& model);  // "last" where absent
const nlohmann::json& components(const nlohmann::json& model);
double number(const nlohmann::json& object, const char* key, std::string_view where);
std::vector<double> numbers(const nlohmann::json& object, const char* key, std::size_t size, std::string_view where);
// A consensus: a permutation of 0..n-1.
std::vector<ItemId> permutation(const nlohmann::json& object, const char* key, std::size_t size, std::string_view where);
// Weights of all components, checked to be non-negative and to sum to one (1e-6), then normalised.
// A single component may leave its weight out.
std::vector<double> weights(const nlohmann::json& components);
}  // namespace model_json

}  // namespace caucus
