// A family of models behind one face: fit, load, describe. Each family's family.cc makes one; the one
// list of them is service/families.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/data/dataset.h"
#include "caucus/infer/run.h"
#include "caucus/result/criterion.h"
#include "caucus/result/fit_summary.h"
#include "caucus/result/fitted_model.h"
#include "caucus/result/model_record.h"

namespace caucus {

class RankingStream;

// The kinds of rankings a family or one of its methods takes.
struct Accepts {
  bool complete = true;
  bool top_t = false;
  bool subset = false;  // pairwise comparisons among them
  bool ties = false;
  bool voters = false;  // several rankings by one voter

  std::vector<std::string> names() const;  // {"complete", "top-t", ...}
};

// Throws DataError that names what is refused, by whom, and a remedy.
void require_accepted(const Accepts& accepts, const Dataset& data, std::string_view who);

struct MethodInfo {
  std::string name;
  std::string summary;
  Accepts accepts;
  bool shared = false;  // several processes share its work
};

// What a tied ballot means to a family: the event that one of the consistent rankings occurred, or an outcome of its own. These are
// different sample spaces, and likelihoods of tied data must not be held against each other across them.
enum class TieMeaning { event, outcome };

// Everything that the outside needs to know of a family: nothing else names one.
struct FamilyInfo {
  std::string name;                 // as on the command line and in model files
  std::string title;                // "Plackett-Luce mixture"
  std::string summary;              // half a line, for lists
  std::string words;                // how the model thinks of a voter, for readers who know no statistics
  std::vector<MethodInfo> methods;  // the first is the default
  std::vector<OptionInfo> options;
  TieMeaning ties = TieMeaning::event;
  Criterion quick_criterion = Criterion::ebic;  // by which compare chooses the number of groups on every training part
  bool fits_ballot_weights = false;             // every ballot has weights of its own, which no information criterion counts
  bool starts_from_labels = false;              // uses Run::labels
  bool compared_by_default = false;             // among the contenders where a user names none

  bool has_option(std::string_view option) const;
};

struct FitOutcome {
  std::unique_ptr<FittedModel> model;
  FitSummary summary;
};

class Family {
 public:
  virtual ~Family() = default;
  virtual FamilyInfo info() const = 0;
  // `options` may hold "components" and "method" like any other option. Whatever of the summary is the same in all families is
  // filled in here, once: time, seed, threads, log-likelihood, entropy, what the criteria count.
  FitOutcome fit(const Dataset& data, const OptionMap& options, const Run& run) const;
  // Does a fit with these options need no more than counts, so that the rankings may go by in pieces? Then fit_stream() gives the
  // same parameters as fit(), and its memory does not grow with the number of rankings.
  virtual bool takes_stream(const OptionMap& options) const;
  FitOutcome fit_stream(RankingStream& rankings, const OptionMap& options, const Run& run) const;
  // From a model file that holds at least schema, family, items and components. Throws DataError.
  virtual std::unique_ptr<FittedModel> load(const ModelRecord& file) const = 0;

 private:
  // Throws UsageError for a method that several processes do not share.
  void require_shared(const OptionMap& options) const;

 protected:
  // The algorithm. It need not fill in what fit() does; a log-likelihood or an entropy that fell off on the way is kept.
  virtual FitOutcome do_fit(const Dataset& data, const OptionMap& options, const Run& run) const = 0;
  // As do_fit, with log-likelihood and entropy: the rankings are gone afterwards.
  virtual FitOutcome do_fit_stream(RankingStream& rankings, const OptionMap& options, const Run& run) const;
};

}  // namespace caucus
