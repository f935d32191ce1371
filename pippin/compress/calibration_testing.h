// Inputs and weights for tests of calibration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/compress/input_statistics.h"
#include "pippin/mil/data_type.h"

namespace pippin::compress {

// Inputs with a few dominant directions, as in language models.
inline std::vector<float> correlated_inputs(int64_t count, int64_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  const int64_t directions = size / 4 + 1;
  std::vector<float> basis(static_cast<size_t>(directions * size));
  for (float& value : basis) value = normal(generator);
  std::vector<float> inputs(static_cast<size_t>(count * size));
  for (int64_t t = 0; t < count; ++t) {
    float* x = inputs.data() + t * size;
    for (int64_t i = 0; i < size; ++i) x[i] = 0.1f * normal(generator);
    for (int64_t d = 0; d < directions; ++d) {
      const float amount = normal(generator) / static_cast<float>(1 + d);
      for (int64_t i = 0; i < size; ++i) x[i] += amount * basis[static_cast<size_t>(d * size + i)];
    }
  }
  return inputs;
}

inline InputMoments moments_of(const std::vector<float>& inputs, int64_t size, int threads = 2) {
  ThreadPool pool(threads);
  InputMoments moments(size);
  add_inputs(moments, inputs.data(), static_cast<int64_t>(inputs.size()) / size, pool);
  return moments;
}

inline std::vector<std::byte> packed_values(const std::vector<float>& values, mil::DataType type) {
  std::vector<std::byte> bytes;
  for (const float value : values) {
    const uint16_t half = to_float16(value).bits;
    const auto from = type == mil::DataType::Float16 ? std::as_bytes(std::span(&half, 1))
                                                     : std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), from.begin(), from.end());
  }
  return bytes;
}

}  // namespace pippin::compress
