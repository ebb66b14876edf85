#include "caucus/infer/mallows_mixture/stage_words.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/random.h"

namespace caucus::mallows_mixture {
namespace {

TEST(StageWords, WordsHoldEveryStageAndMultiplyAsStagesDo) {
  for (const std::size_t n : {1u, 2u, 3u, 5u, 10u, 23u, 40u})
    for (const std::size_t most : {0u, 30u, 512u}) {
      const StageWords words(n, most);
      RandomStream rng(n + most, Purpose::test, 0);
      std::vector<double> per_stage(n * n), products(words.num_values());
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t v = 0; v < n; ++v) per_stage[j * n + v] = v == 0 ? 1.0 : 0.5 + rng.uniform();
      words.multiply(per_stage, products);
      for (std::size_t stages = 0; stages <= n; ++stages) {
        std::vector<std::uint32_t> code(n, 77);  // what lies beyond the stages is not looked at
        double product = 1.0;
        for (std::size_t j = 0; j < stages; ++j) {
          code[j] = static_cast<std::uint32_t>(rng.below(n - j));
          product *= per_stage[j * n + code[j]];
        }
        std::vector<std::uint16_t> word(words.size() + 1, 999);
        words.write(code, stages, word.data());
        EXPECT_EQ(word[words.of_stages(stages)], 999) << "more words than of_stages says";
        double by_words = 1.0;
        for (std::size_t w = 0; w < words.of_stages(stages); ++w) {
          const StageWords::Word& one = words.words()[w];
          ASSERT_LT(word[w], one.values);
          by_words *= products[one.offset + word[w]];
          for (std::size_t s = 0; s < StageWords::stages_each; ++s) {
            const std::size_t j = one.first + s;
            EXPECT_EQ(words.digits()[one.digits + word[w] * StageWords::stages_each + s],
                      s < one.stages && j < stages ? static_cast<double>(code[j]) : 0.0);
          }
        }
        EXPECT_NEAR(by_words, product, 1e-13 * product);
      }
    }
}

}  // namespace
}  // namespace caucus::mallows_mixture
