// EM with the M-steps of the paper and its rivals.
#pragma once

#include "caucus/infer/pl_mixture/m_steps.h"
#include "caucus/infer/pl_mixture/solver.h"

namespace caucus::pl_mixture {

// em-lsr and emm: EM with the given M-step, two steps and an extrapolation at a time (SQUAREM, Varadhan & Roland 2008), never
// lowering the objective; stops when Aitken's estimate of what is left falls below the tolerance. em-cml and em-gmm: plain EM with
// their M-steps, whose objectives are others, until the parameters rest. em-slsr: stochastic, the best iterate is kept.
Solution run_method(const Objective& objective, Method method, Chain chain, Parameters start, const SolveOptions& options,
                    const Run& run);

}  // namespace caucus::pl_mixture
