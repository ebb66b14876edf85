#include "caucus/infer/mallows_mixture/stage_words.h"

namespace caucus::mallows_mixture {

StageWords::StageWords(std::size_t num_items, std::size_t most) : num_items_(num_items), of_stages_(num_items + 1, 0) {
  // Words of one stage share a table: value v is the number v.
  for (std::size_t v = 0; v < num_items; ++v) digits_.insert(digits_.end(), {static_cast<double>(v), 0.0, 0.0, 0.0});
  for (std::size_t j = 0; j + 1 < num_items;) {  // the last stage has no choice
    Word word{j, 0, 1, num_values_, 0};
    do word.values *= num_items - j++, ++word.stages;
    while (j + 1 < num_items && word.stages < stages_each && word.values * (num_items - j) <= most);
    if (word.stages > 1) {
      word.digits = digits_.size();
      for (std::size_t value = 0; value < word.values; ++value) {
        std::size_t left = value;
        for (std::size_t s = 0; s < stages_each; ++s) {
          const std::size_t values = s < word.stages ? num_items - word.first - s : 1;
          digits_.push_back(static_cast<double>(left % values));
          left /= values;
        }
      }
    }
    num_values_ += word.values;
    words_.push_back(word);
  }
  std::size_t count = 0;
  for (std::size_t stages = 1; stages <= num_items; ++stages) {
    if (count < words_.size() && words_[count].first < stages) ++count;
    of_stages_[stages] = count;
  }
}

void StageWords::write(std::span<const std::uint32_t> code, std::size_t stages, std::uint16_t* out) const {
  for (std::size_t w = 0; w < of_stages_[stages]; ++w) {
    const Word& word = words_[w];
    std::size_t value = 0;
    for (std::size_t s = word.stages; s-- > 0;) {
      const std::size_t j = word.first + s;
      value = value * (num_items_ - j) + (j < stages ? code[j] : 0);
    }
    out[w] = static_cast<std::uint16_t>(value);
  }
}

void StageWords::multiply(std::span<const double> per_stage, std::span<double> out) const {
  for (const Word& word : words_) {
    double* const to = out.data() + word.offset;
    to[0] = 1.0;
    std::size_t filled = 1;
    for (std::size_t j = word.first; j < word.first + word.stages; ++j) {
      // Every value so far with every value of this stage; downwards, so that the factors are still there.
      for (std::size_t v = num_items_ - j; v-- > 0;)
        for (std::size_t i = 0; i < filled; ++i) to[v * filled + i] = to[i] * per_stage[j * num_items_ + v];
      filled *= num_items_ - j;
    }
  }
}

}  // namespace caucus::mallows_mixture
