// The gradient of the objective in every block of variables, and its information, against the definition.
#include <gtest/gtest.h>

#include "caucus/infer/pl_mixture/eigen_index.h"
#include "caucus/infer/pl_mixture/information.h"
#include "caucus/infer/pl_mixture/oracle.h"
#include "caucus/infer/pl_mixture/structured_fit.h"
#include "caucus/infer/pl_mixture/testing.h"

namespace caucus::pl_mixture {
namespace {

using testing::Kind;

// Five or so voters with one to three rankings each, weights 1 to 2.
Dataset with_voters(Kind kind, std::uint64_t seed, bool several) {
  Dataset data = testing::draw(testing::random_parameters(2, 5, 3), 10, kind, seed);
  RankingSetBuilder builder;
  RandomStream random(seed, Purpose::test, 1);
  std::vector<std::uint32_t> of_row;
  std::vector<double> weights;
  std::size_t left = 0;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    if (left == 0) weights.push_back(1.0 + static_cast<double>(random.below(2))), left = several ? 1 + random.below(3) : 1;
    const auto ends = data.rankings.has_ties()
                          ? data.rankings.group_ends().subspan(data.rankings.offsets()[i], data.rankings.length(i))
                          : std::span<const std::uint8_t>{};
    builder.append(data.rankings[i].items(), weights.back(), ends);
    of_row.push_back(static_cast<std::uint32_t>(weights.size() - 1));
    --left;
  }
  data.rankings = builder.build();
  set_voters(data, std::move(of_row), {}, std::move(weights));
  return data;
}

RowMatrix random_columns(std::size_t rows, std::size_t columns, std::uint64_t seed, bool intercept) {
  RowMatrix x(index(rows), index(columns));
  RandomStream random(seed, Purpose::test, 2);
  for (double& value : x.reshaped()) value = random.normal();
  if (intercept) x.col(0).setOnes();
  return x;
}

// The columns as the logit has them: standardised with the voters' weights.
RowMatrix standardised(RowMatrix x, const std::vector<double>& weights) {
  const Eigen::Map<const Eigen::VectorXd> w(weights.data(), index(weights.size()));
  for (Eigen::Index j = 1; j < x.cols(); ++j) {
    x.col(j).array() -= w.dot(x.col(j)) / w.sum();
    x.col(j) /= std::sqrt(w.dot(x.col(j).cwiseAbs2()) / w.sum());
  }
  return x;
}

struct Case {
  Kind kind;
  std::size_t num;
  bool several, membership;
  Dampening dampening = Dampening::off;
  int items = 0;  // 1: utilities follow from two columns; 2: and have free parts
};

std::string name_of_case(const Case& c) {
  return "kind " + std::to_string(static_cast<int>(c.kind)) + ", " + std::to_string(c.num) + " groups, several " +
         std::to_string(c.several) + ", membership " + std::to_string(c.membership) + ", dampening " +
         std::string(name_of(c.dampening)) + ", items " + std::to_string(c.items);
}

// One case with its objective, and the same objective by the definition, penalties included.
class Problem {
 public:
  explicit Problem(const Case& c) : data_(with_voters(c.kind, 4, c.several)), objective_(data_, c.num, strength, 1) {
    structure_.options.dampening = c.dampening;
    structure_.options.free_utilities = c.items == 2;
    structure_.options.free_ridge = ridge;
    structure_.num_stages = c.dampening == Dampening::off ? 0 : 3;
    structure_.x = random_columns(5, c.items > 0 ? 2 : 0, 6, false);
    structure_.scale.assign(c.items > 0 ? 2 : 0, 1.0);
    if (!c.membership) return;
    const RowMatrix x = random_columns(data_.voters.size(), 3, 7, true);
    x_ = standardised(x, data_.voters.weights);
    auto logit = std::make_shared<MembershipLogit>(x, data_.voters.weights, c.num);
    logit->set_ridge(ridge);
    objective_.use_membership(logit);
  }
  Problem(const Problem&) = delete;

  const Objective& objective() const { return objective_; }
  const Structure& structure() const { return structure_; }

  template <class T>
  T operator()(const std::vector<T>& variables) const {
    using std::exp, std::log;
    const std::size_t num = objective_.num_components(), n = 5, q = structure_.scale.size();
    const bool free = structure_.options.free_utilities;
    testing::OracleModel<T> model;
    T penalty = 0.0;
    auto at = variables.begin();
    for (std::size_t k = 0; k < num; ++k) {
      model.utilities.emplace_back(n, T(0.0));
      for (std::size_t j = 0; j < q; ++j, ++at)
        for (std::size_t i = 0; i < n; ++i) model.utilities[k][i] += structure_.x(index(i), index(j)) * *at;
      if (q == 0 || free)
        for (std::size_t i = 0; i < n; ++i, ++at) {
          model.utilities[k][i] += *at;
          if (q > 0) penalty -= 0.5 * ridge * *at * *at;
        }
      for (const T& u : model.utilities[k]) penalty += strength * (u - 2.0 * log(1.0 + exp(u)));
    }
    if (x_.size() > 0) {
      const std::span<const T> gamma(&*at, (num - 1) * 3);
      model.log_weights = testing::oracle_logit<T>(gamma, x_, num);
      for (std::size_t j = 0; j < gamma.size(); ++j)
        if (j % 3 != 0) penalty -= 0.5 * ridge * gamma[j] * gamma[j];
      at += static_cast<std::ptrdiff_t>(gamma.size());
    } else {
      std::vector<T> logits(num, T(0.0));
      if (num > 1)
        for (T& one : logits) one = *at++;
      model.log_weights.assign(data_.voters.size(), testing::oracle_log_softmax(std::move(logits)));
    }
    model.tie_orders = objective_.tie_orders();
    for (std::size_t o = 0; o < model.tie_orders.size(); ++o) model.log_delta.push_back(*at++);
    std::vector<T> exponents;
    for (; at != variables.end(); ++at) {
      exponents.push_back(exp(*at));
      penalty -= 0.5 * 0.1 * *at * *at;
    }
    for (std::size_t k = 0; k < num && !exponents.empty(); ++k)
      model.exponents.emplace_back(
          exponents.begin() + (exponents.size() > structure_.num_stages ? static_cast<std::ptrdiff_t>(3 * k) : 0),
          exponents.begin() + (exponents.size() > structure_.num_stages ? static_cast<std::ptrdiff_t>(3 * k + 3) : 3));
    return testing::oracle_loglik(model, data_) + penalty;
  }

  static constexpr double strength = 0.05, ridge = 0.3;

 private:
  Dataset data_;
  Objective objective_;
  Structure structure_;
  RowMatrix x_;
};

std::vector<double> random_point(std::size_t size) {
  RandomStream random(6, Purpose::test, 3);
  std::vector<double> at(size);
  for (double& value : at) value = 0.6 * random.normal();
  return at;
}

// Utilities, coefficients and free parts of items, weights or coefficients of voters, ties, exponents, all at once, to 1e-9.
TEST(Structured, ObjectiveAndGradientAreThoseOfTheDefinition) {
  for (const Kind kind : {Kind::complete, Kind::top, Kind::subset, Kind::pairs, Kind::ties})
    for (const bool several : {false, true})
      for (const bool membership : {false, true})
        for (const Dampening dampening : {Dampening::off, Dampening::on, Dampening::by_group})
          for (const int items : {0, 1, 2}) {
            if (dampening != Dampening::off && (kind == Kind::ties || kind == Kind::pairs)) continue;
            const Case c{kind, items == 1 ? 3U : 2U, several, membership, dampening, items};
            const Problem problem(c);
            const StructuredObjective structured(problem.objective(), problem.structure());
            const std::vector<double> at = random_point(structured.size());
            std::vector<double> gradient;
            EXPECT_NEAR(structured.evaluate(at, &gradient), problem(at), 1e-9) << name_of_case(c);
            const std::vector<double> exact = testing::oracle_gradient(problem, at);
            for (std::size_t j = 0; j < at.size(); ++j)
              ASSERT_NEAR(gradient[j], exact[j], 1e-9) << name_of_case(c) << ", variable " << j << " of " << at.size();
          }
}

// The same of the plain mixture, whose passes are others.
TEST(Objective, GradientIsThatOfTheDefinition) {
  for (const Kind kind : {Kind::complete, Kind::top, Kind::subset, Kind::pairs, Kind::ties})
    for (const std::size_t num : {2U, 3U})
      for (const bool several : {false, true})
        for (const bool membership : {false, true}) {
          const Case c{kind, num, several, membership};
          const Problem problem(c);
          const Objective& objective = problem.objective();
          const StructuredObjective as_variables(objective, problem.structure());
          const std::vector<double> at = random_point(as_variables.size());
          const Parameters parameters = as_variables.unpack(at);
          const Evaluation e = objective.evaluate(parameters);
          EXPECT_NEAR(e.objective(), problem(at), 1e-9) << name_of_case(c);
          std::vector<double> gradient;
          for (std::size_t j = 0; j < e.wins.size(); ++j) gradient.push_back(e.wins[j] - e.expected[j]);
          for (const double slope : objective.weight_gradient(e, parameters)) gradient.push_back(slope);
          for (std::size_t o = 0; o < objective.tie_counts().size(); ++o)
            gradient.push_back(objective.tie_counts()[o] - e.tie_expected[o]);
          const std::vector<double> exact = testing::oracle_gradient(problem, at);
          ASSERT_EQ(gradient.size(), exact.size());
          for (std::size_t j = 0; j < exact.size(); ++j) ASSERT_NEAR(gradient[j], exact[j], 1e-9) << name_of_case(c) << ", " << j;
        }
}

// The fifth derivatives over 3e13, and the rounding of gradients over 1e-3, are all that is left.
TEST(Structured, InformationIsTheCurvature) {
  for (const bool membership : {false, true})
    for (const Kind kind : {Kind::top, Kind::subset, Kind::ties}) {
      const Case c{kind, 2, true, membership, kind == Kind::ties ? Dampening::off : Dampening::by_group, 2};
      const Problem problem(c);
      const StructuredObjective structured(problem.objective(), problem.structure());
      const std::vector<double> at = random_point(structured.size());
      const Eigen::MatrixXd information = structured_information(structured, at);
      for (std::size_t j = 0; j < at.size(); ++j) {
        const std::vector<double> exact = testing::oracle_hessian_column(problem, at, j);
        for (std::size_t i = 0; i < at.size(); ++i)
          ASSERT_NEAR(information(index(i), index(j)), -exact[i], 1e-6) << name_of_case(c) << ", " << i << ", " << j;
      }
    }
}

TEST(Objective, InformationIsTheCurvature) {
  for (const bool membership : {false, true})
    for (const bool several : {false, true})
      for (const Kind kind : {Kind::complete, Kind::top, Kind::subset, Kind::ties}) {
        const Case c{kind, 2, several, membership};
        const Problem problem(c);
        const StructuredObjective as_variables(problem.objective(), problem.structure());
        const std::vector<double> at = random_point(as_variables.size());
        const Eigen::MatrixXd information = observed_information(problem.objective(), as_variables.unpack(at));
        for (std::size_t j = 0; j < at.size(); ++j) {
          const std::vector<double> exact = testing::oracle_hessian_column(problem, at, j);
          for (std::size_t i = 0; i < at.size(); ++i)
            ASSERT_NEAR(information(index(i), index(j)), -exact[i], 1e-6) << name_of_case(c) << ", " << i << ", " << j;
        }
      }
}

}  // namespace
}  // namespace caucus::pl_mixture
