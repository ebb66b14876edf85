// Has a Markov chain mixed? Effective sample size and R-hat of scalar draws.
#pragma once

#include <span>
#include <vector>

namespace caucus {

// N / (1 + 2 sum of autocorrelations), the sum cut by Geyer's (1992) initial monotone sequence: pairs gamma(2m) + gamma(2m+1) while
// they are positive, never above the pair before. At most N log10 N (antithetic chains); N for a constant chain. O(N L), L the cut.
double effective_sample_size(std::span<const double> draws);
// The sum over chains.
double effective_sample_size(const std::vector<std::vector<double>>& chains);

// Split R-hat (Gelman et al. 2013, section 11.4): each chain cut in two halves. 1 for constant chains that agree, +inf for constant
// chains that do not. Needs at least 4 draws per chain; chains are cut to the shortest.
double split_rhat(const std::vector<std::vector<double>>& chains);

}  // namespace caucus
