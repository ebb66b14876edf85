// The codes of a few stages as one number. The stages of n items have n, n - 1, ... values; of ten items the first two together
// have 90, the next three 336, the next four 120: a product over nine stages becomes one over three words, each looked up in a
// table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace caucus::mallows_mixture {

class StageWords {
 public:
  static constexpr std::size_t stages_each = 4;

  struct Word {
    std::size_t first = 0, stages = 1, values = 1;  // stages [first, first + stages)
    std::size_t offset = 0;                         // of its values among those of all words
    std::size_t digits = 0;                         // of its rows in digits()
  };

  // most: values of a word of several stages; more are not worth a table where there are few rankings.
  StageWords(std::size_t num_items, std::size_t most);

  std::size_t size() const { return words_.size(); }
  std::size_t num_values() const { return num_values_; }
  const std::vector<Word>& words() const { return words_; }
  // How many words a ranking with so many stages has; what it does not reach counts as zero.
  std::size_t of_stages(std::size_t stages) const { return of_stages_[stages]; }
  // The values of a word's stages, as numbers to add up: stages_each for every value of every word.
  const std::vector<double>& digits() const { return digits_; }

  void write(std::span<const std::uint32_t> code, std::size_t stages, std::uint16_t* out) const;
  // per_stage[j * n + v], a factor of value v at stage j: their products for every value of every word.
  void multiply(std::span<const double> per_stage, std::span<double> out) const;

 private:
  std::size_t num_items_, num_values_ = 0;
  std::vector<Word> words_;
  std::vector<std::size_t> of_stages_;
  std::vector<double> digits_;
};

}  // namespace caucus::mallows_mixture
