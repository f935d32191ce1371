// Normalisation over the last axis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/parameters.h"

namespace pippin::nn {

struct NormOptions {
  enum class Kind {
    // weight * (x * rsqrt(mean(x^2) + epsilon)), in the spelling that coremltools writes for
    // Hugging Face's Llama: engines recognise it.
    RMS,
    // weight * (x - mean) / sqrt(variance + epsilon) + bias
    Layer,
  };
  Kind kind = Kind::RMS;
  double epsilon = 1e-6;
  bool weight = true;     // "weight"; else the normalised values as they are
  bool bias = false;      // "bias"
  bool one_plus = false;  // the file's weight is one less than what is multiplied with (Gemma)
};

class Norm {
 public:
  Norm(const Parameters& parameters, int64_t features, const NormOptions& options);
  // With a weight of its own for each head: x is (1, heads, q, features) and `weight` has a row for
  // each head.
  Norm(const Parameters& parameters, const std::vector<std::vector<double>>& weight,
       const NormOptions& options);

  array::Array operator()(const array::Array& x) const;

 private:
  std::string path_;
  NormOptions options_;
  std::optional<array::Array> weight_, bias_;
};

}  // namespace pippin::nn
