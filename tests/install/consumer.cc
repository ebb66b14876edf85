// A program outside the project: reads a file, fits a model, through the installed package alone.
#include <caucus/io/io.h>
#include <caucus/service/families.h>

#include <cmath>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const caucus::Dataset data = caucus::read_dataset(argv[1]);
  const caucus::FitOutcome fitted = caucus::find_family("pl").fit(data, {{"components", "1"}}, caucus::Run{});
  std::printf("%zu items, log-likelihood %.6f\n", data.num_items(), fitted.summary.loglik);
  return std::isfinite(fitted.summary.loglik) && data.num_items() == 8 ? 0 : 1;
}
