// Reads a file of rankings, fits three groups and tells how large each is.
#include <caucus/caucus.h>

#include <cstdio>

int main(int argc, char** argv) try {
  const caucus::Dataset data = caucus::read_dataset(argc > 1 ? argv[1] : "examples/town.soi");
  const caucus::FitOutcome fit = caucus::find_family("pl").fit(data, {{"components", "3"}}, caucus::Run{});
  std::printf("%.0f rankings, log-likelihood %.2f\n", fit.summary.num_rankings, fit.summary.loglik);

  const std::size_t groups = fit.model->num_components();
  const std::vector<double> membership = caucus::memberships(*fit.model, data, 0);
  for (std::size_t k = 0; k < groups; ++k) {
    double size = 0.0;
    for (std::size_t i = 0; i < data.rankings.size(); ++i) size += data.rankings.weight(i) * membership[i * groups + k];
    std::printf("group %zu: %.0f of them\n", k + 1, size);
  }
} catch (const caucus::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
