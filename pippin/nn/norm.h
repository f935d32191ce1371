// Normalisation over the last axis.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/array/array.h"
#include "pippin/nn/parameters.h"

namespace pippin::nn {

// weight * (x * rsqrt(mean(x^2) + epsilon)), in the spelling that coremltools writes for Hugging
// Face's Llama: engines recognise it.
class RMSNorm {
 public:
  RMSNorm(const Parameters& parameters, int64_t features, double epsilon);

  array::Array operator()(const array::Array& x) const;

 private:
  std::string path_;
  array::Array weight_;
  double epsilon_;
};

// gamma * (x - mean) / sqrt(variance + epsilon) + beta.
class LayerNorm {
 public:
  LayerNorm(const Parameters& parameters, int64_t features, double epsilon, bool weight = true,
            bool bias = true);

  array::Array operator()(const array::Array& x) const;

 private:
  std::string path_;
  std::optional<array::Array> weight_, bias_;
  double epsilon_;
};

}  // namespace pippin::nn
