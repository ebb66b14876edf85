// Counter-based random streams: Philox4x32-10 (Salmon, Moraes, Dror & Shaw 2011).
//
// A stream is addressed by (seed, purpose, index). Two streams with different addresses never
// overlap, so parallel work draws the same numbers whatever the number of threads: give every
// restart, chain, ballot or block its own index instead of sharing a generator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace caucus {

// One Philox4x32-10 block. Exposed for its known-answer test.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// What a stream is for. Streams of different purposes are independent; never renumber.
enum class Purpose : std::uint16_t {
  test = 0,
  sample = 1,      // drawing data from a model
  initialise = 2,  // starting points
  kmeans = 3,
  svd = 4,
  chain = 5,  // one Markov chain
  bootstrap = 6,
  fold = 7,  // cross-validation splits
  permute = 8,
  generate = 9,  // synthetic truth for experiments
  augment = 10,  // data augmentation inside a sampler
};

// A UniformRandomBitGenerator of 64-bit words with the distributions the families need.
// Copyable; its whole state is (key, counter, position), so a checkpoint can hold it.
class RandomStream {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  explicit RandomStream(std::uint64_t seed, Purpose purpose = Purpose::test, std::uint64_t index = 0);

  result_type operator()() {
    if (position_ == 2) refill();
    return buffer_[position_++];
  }

  // Uniform on [0, 1) and on (0, 1), 53 bits.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  double uniform_open() { return (static_cast<double>((*this)() >> 12) + 0.5) * 0x1p-52; }
  // Uniform on {0, .., bound - 1} without bias (Lemire 2019). bound > 0.
  std::uint64_t below(std::uint64_t bound);
  double normal();
  double exponential();
  double gamma(double shape);      // rate 1; any shape > 0
  double log_gamma(double shape);  // log of a gamma(shape) draw: does not underflow for tiny shapes
  double beta(double a, double b);
  void dirichlet(std::span<const double> concentration, std::span<double> out);
  // Index with probability proportional to weights[i] >= 0; their sum must be positive.
  std::size_t categorical(std::span<const double> weights);
  // Index with probability proportional to exp(log_weights[i]); -inf allowed, not all.
  std::size_t categorical_log(std::span<const double> log_weights);

  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

  // Number of 64-bit words drawn so far, and a jump to such a place: checkpoint and resume.
  std::uint64_t drawn() const { return block_ == 0 ? 0 : (block_ - 1) * 2 + position_; }
  void seek(std::uint64_t drawn);

 private:
  void refill();

  std::array<std::uint32_t, 2> key_;
  std::uint16_t purpose_;
  std::uint64_t index_;
  std::uint64_t block_ = 0;  // blocks computed so far; the buffer holds block_ - 1
  std::array<std::uint64_t, 2> buffer_{};
  unsigned position_ = 2;
};

}  // namespace caucus
