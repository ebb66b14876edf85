// A fitted model with its type erased: what score, assign, sample and the model file need of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/result/group.h"
#include "caucus/result/marginals.h"
#include "caucus/result/membership.h"
#include "caucus/result/record.h"

namespace caucus {

// A number worth showing that belongs to the model as a whole: "Kernel width (theta)", "0.8", "the larger, ...".
struct ModelFact {
  std::string name, value, words;
};

struct SampleRequest {
  std::size_t count = 0;
  std::uint64_t seed = 1;
  int threads = 0;
  std::size_t length = 0;  // list only the first `length` items of each ranking; 0: all
  // The number of the first draw, a multiple of `block`: a long sample drawn in pieces is the same as one drawn at once.
  std::uint64_t first = 0;
  static constexpr std::size_t block = 8192;
};

struct Sample {
  Dataset data;             // one row per draw, in draw order
  std::vector<int> labels;  // the component each row came from, 0-based
};

class FittedModel {
 public:
  virtual ~FittedModel() = default;

  virtual std::string_view family() const = 0;
  virtual std::size_t num_components() const = 0;

  const std::vector<std::string>& items() const { return items_; }
  Unranked unranked() const { return unranked_; }

  // Throws DataError, naming the reason, if the model gives no probability to rankings of this kind.
  virtual void check(const Dataset& data) const = 0;

  // joint[(i - first) * K + k] = log weight_k + log P_k(ranking i), for i in [first, first + count).
  // `data` has been matched to items() and checked. Thread-safe.
  virtual void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const = 0;

  // out[(i - first) * K + k] = log P_k(ranking i), without the weight of the group. By default from log_joint; 0 for groups of no
  // weight.
  virtual void log_components(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const;

  // log P(ranking i). By default the log-sum over log_joint.
  virtual void log_prob(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const;

  virtual Sample sample(const SampleRequest& request) const = 0;

  // The groups, largest first, with what is known of their errors. Everything outside the family reads these.
  std::vector<Group> profile() const;
  // First places, mean places and pairs of every group and of all ballots: by formula where there is one, else by simulation.
  Marginals marginals(const MarginalsRequest& request = {}) const { return compute_marginals(*this, request); }
  // One group's distribution as far as the family can give it. By default nothing: all is simulated.
  virtual GroupLaw law(std::size_t group) const;
  // A ballot is not drawn from one group but blends several: all ballots together are no weighted mean of the groups.
  virtual bool blends_groups() const { return false; }
  // A tied ballot is an outcome of its own for this model; else it is the event that one of the consistent rankings occurred.
  virtual bool ties_are_outcomes() const { return false; }
  virtual std::vector<ModelFact> facts() const { return {}; }

  // What a fit or a model file knows of the groups' errors: one entry per group, or none.
  void set_errors(std::vector<GroupErrors> errors) { errors_ = std::move(errors); }

  // How the weights of the groups depend on what is known of a voter; none: they do not. groups() then has mean weights.
  const Membership* membership() const { return membership_.get(); }
  void set_membership(std::shared_ptr<const Membership> membership) { membership_ = std::move(membership); }

  // What the model file holds besides the groups' parameters and errors, which profile() tells: keys beside "components" ("ties",
  // ...) and within them. `components` has one record per group.
  virtual void write(Record& model, std::span<Record> components) const;

 protected:
  FittedModel(std::vector<std::string> items, Unranked unranked) : items_(std::move(items)), unranked_(unranked) {}

  // The parameters of the groups; profile() adds the errors, and the orders that follow from utilities.
  virtual std::vector<Group> groups() const = 0;

 private:
  std::shared_ptr<const Membership> membership_;
  std::vector<GroupErrors> errors_;
  std::vector<std::string> items_;
  Unranked unranked_;
};

// Where voters cast several rankings, or a membership model looks at them, all rankings of a voter are one observation:
// log P(voter) = log sum_k weight_k prod_r P_k(r). log_likelihood and membership_entropy are over voters then, and memberships of a
// ranking are the mean of its voters'.
bool counts_voters(const FittedModel& model, const Dataset& data);
// log weight_k + sum over the voter's rankings of log P_k, K numbers per voter, in parallel.
std::vector<double> voter_joint(const FittedModel& model, const Dataset& data, int threads);
std::vector<double> voter_log_probs(const FittedModel& model, const Dataset& data, int threads);
std::vector<double> voter_memberships(const FittedModel& model, const Dataset& data, int threads);

// log P of every distinct ranking, in parallel.
std::vector<double> log_probs(const FittedModel& model, const Dataset& data, int threads);
// The same, or nothing where stop() came true before all were scored: a kernel estimate compares every ballot with every other.
std::optional<std::vector<double>> log_probs_unless(const std::function<bool()>& stop, const FittedModel& model,
                                                    const Dataset& data, int threads);
// log P of all ballots: the sum of log_probs, weighted by counts.
double log_likelihood(const FittedModel& model, const Dataset& data, int threads);
// Posterior memberships of every distinct ranking, K numbers each, in parallel.
std::vector<double> memberships(const FittedModel& model, const Dataset& data, int threads);
// -sum_i w_i sum_k p_ik log p_ik over the memberships p, K numbers for each weight.
double membership_entropy(std::span<const double> memberships, std::span<const double> weights, std::size_t num_components);
double membership_entropy(const FittedModel& model, const Dataset& data, int threads);

}  // namespace caucus
