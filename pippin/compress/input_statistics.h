// Statistics of a weight's inputs while the model reads a text: they determine which errors matter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"

namespace pippin::compress {

// The sums of x[i] * x[j] over `samples` inputs x of a dot.
struct InputMoments {
  explicit InputMoments(int64_t input_size)
      : size(input_size), products(static_cast<size_t>(input_size * input_size)) {}

  int64_t size;
  int64_t samples = 0;
  std::vector<float> products;  // size x size, row-major; only j >= i is filled
};

// Adds `count` inputs of moments.size floats each, one after another.
void add_inputs(InputMoments& moments, const float* inputs, int64_t count, ThreadPool& pool);

// Weights are requested one after another, in program order.
class InputStatistics {
 public:
  virtual ~InputStatistics() = default;
  // Null for a weight with unknown inputs. `weight` is the constant's name.
  virtual std::shared_ptr<const InputMoments> moments(const std::string& weight) = 0;
};

}  // namespace pippin::compress
