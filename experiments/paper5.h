// Meila & Chen (2010), Dirichlet process mixtures of generalized Mallows models: what its experiments share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "caucus/infer/dp_mallows/fit.h"
#include "caucus/result/fitted_model.h"
#include "harness.h"

namespace caucus::experiments::paper5 {

// One ranking of length t about a center, stage by stage.
std::vector<dp_mallows::Item> draw_ranking(const std::vector<dp_mallows::Item>& center, const std::vector<double>& theta,
                                           std::size_t t, RandomStream& rng);
void add_point(dp_mallows::Points& points, const std::vector<dp_mallows::Item>& ranking);
Dataset to_dataset(const dp_mallows::Points& points);
// r_j = 1, no central ranking.
dp_mallows::PriorParameters flat_prior(double alpha, double nu);
double mean_log_prob(const FittedModel& model, const Dataset& test);
double rounded(double value, int digits = 5);  // significant digits: results stay small

inline int trials(const Settings& settings, int of_the_paper) {
  return settings.trials > 0 ? settings.trials : settings.quick ? 1 : of_the_paper;
}

// The values of all lines with this prefix, by key.
std::vector<const Json*> lines_of(const Results& results, const std::string& prefix);

// Several charts below one another or side by side.
std::string placed(double x, double y, const std::string& chart);

// paper5_synthetic.cc
void run_figure6(const Settings& settings, Results& results);
Report report_figure6(const Settings& settings, const Results& results);
void run_figure7(const Settings& settings, Results& results);
Report report_figure7(const Settings& settings, const Results& results);
void run_split_merge(const Settings& settings, Results& results);
Report report_split_merge(const Settings& settings, const Results& results);
// paper5_density.cc
void run_figure8(const Settings& settings, Results& results);
Report report_figure8(const Settings& settings, const Results& results);
void run_figure9(const Settings& settings, Results& results);
Report report_figure9(const Settings& settings, const Results& results);
void run_apa(const Settings& settings, Results& results);
Report report_apa(const Settings& settings, const Results& results);
// paper5_scale.cc
void run_college(const Settings& settings, Results& results);
Report report_college(const Settings& settings, const Results& results);
void run_scaling(const Settings& settings, Results& results);
Report report_scaling(const Settings& settings, const Results& results);

}  // namespace caucus::experiments::paper5
