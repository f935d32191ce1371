#include <algorithm>
#include <cmath>
#include <cstring>

#include "pippin/array/ops.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/nn/weights/stored_weights.h"

namespace pippin::nn {
namespace {

// SplitMix64 (Steele, Lea, Flood, 2014): a number for a position.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Approximately normal: the sum of the four 16-bit parts of a word has a standard deviation of 2^16
// / sqrt 3.
float bell(uint64_t word) {
  int64_t sum = 0;
  for (int part = 0; part < 4; ++part) sum += static_cast<int64_t>((word >> (16 * part)) & 0xffff);
  constexpr float kDeviation = 37837.2f, kMean = 131070.0f;
  return (static_cast<float>(sum) - kMean) / kDeviation;
}

class RandomSource : public mil::TensorSource {
 public:
  struct Numbers {
    float mean, deviation;
    bool of_bf16;
  };
  RandomSource(uint64_t seed, uint64_t count, bool half, Numbers numbers)
      : seed_(seed), count_(count), half_(half), numbers_(numbers) {}

  uint64_t size() const override { return count_ * element(); }

  void read(uint64_t offset, MutableByteSpan out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const uint64_t index = (offset + done) / element();
      const size_t inside = (offset + done) % element();
      float value = numbers_.mean + numbers_.deviation * bell(mix(seed_ + index));
      if (numbers_.of_bf16) value = to_float(to_bfloat16(value));
      std::byte bytes[4];
      if (half_) {
        const float16 half = to_float16(value);
        std::memcpy(bytes, &half, sizeof(half));
      } else {
        std::memcpy(bytes, &value, sizeof(value));
      }
      const size_t taken = std::min(element() - inside, out.size() - done);
      std::memcpy(out.data() + done, bytes + inside, taken);
      done += taken;
    }
  }

 private:
  size_t element() const { return half_ ? 2 : 4; }

  uint64_t seed_, count_;
  bool half_;
  Numbers numbers_;
};

class RandomWeights : public StoredWeights {
 public:
  explicit RandomWeights(bool of_bf16) : of_bf16_(of_bf16) {}

  bool contains(std::string_view) const override { return true; }

  array::Array get(std::string_view path, const std::vector<int64_t>& dims,
                   mil::DataType type) const override {
    uint64_t seed = 0xcbf29ce484222325u, count = 1;
    for (const char c : path) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    for (const int64_t size : dims) count *= static_cast<uint64_t>(size);
    // Matrices keep the magnitude of their input; the weights of norms are near one.
    const bool vector = dims.size() == 1, bias = path.ends_with(".bias");
    float mean = vector && !bias ? 1.0f : 0.0f;
    // The decay rates of a recurrence are negative (nn/recurrent/recurrence.h).
    if (path.ends_with(".A")) mean = -1.0f;
    const float deviation = vector ? 0.02f : 1.0f / std::sqrt(static_cast<float>(dims.back()));
    const RandomSource::Numbers numbers = {mean, deviation, of_bf16_};
    return array::weight(
        path, type, dims,
        std::make_shared<RandomSource>(mix(seed), count, type == mil::DataType::Float16, numbers));
  }

 private:
  bool of_bf16_;
};

}  // namespace

std::shared_ptr<const StoredWeights> random_weights(bool of_bf16) {
  return std::make_shared<RandomWeights>(of_bf16);
}

}  // namespace pippin::nn
