// Normalization over the features: the last axis, or that of the style (nn/weights/style.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct NormOptions {
  enum class Kind {
    // weight * (x * rsqrt(mean(x^2) + epsilon)), in the form that coremltools writes for Hugging
    // Face's Llama: engines recognize it.
    RMS,
    // weight * (x - mean) / sqrt(variance + epsilon) + bias
    Layer,
  };
  Kind kind = Kind::RMS;
  double epsilon = 1e-6;
  bool weight = true;                 // "weight"; without it, the normalized values as they are
  bool bias = false;                  // "bias"
  double scale = 1.0;                 // of the weight
  bool one_plus = false;              // the stored weight is one less than the factor (Gemma)
  bool one_plus_in_adapters = false;  // in those that replace it, if that differs
};

// The same without weights.
NormOptions without_weight(NormOptions options);

// A norm that a module may have; an empty name: it has none.
struct NamedNorm {
  std::string name;
  NormOptions norm;
};

class Norm {
 public:
  // Of the values between modules, or of heads: (1, heads, q, features), (1, heads, features, q) in
  // a style of channels.
  enum class Of { Stream, Heads };

  Norm(const Parameters& parameters, int64_t features, const NormOptions& options,
       Of of = Of::Stream);
  // With a separate weight for each head, a row of `weight`.
  Norm(const Parameters& parameters, const std::vector<std::vector<double>>& weight,
       const NormOptions& options);
  // The same with rows that are in their final form (Parameters::stored): (heads * features).
  Norm(const Parameters& parameters, const array::Array& weight, int64_t heads,
       const NormOptions& options);

  array::Array operator()(const array::Array& x) const;
  // The same between two convolutions: in channels, whatever the style.
  array::Array between(const array::Array& x) const;

 private:
  array::Array stored_weight(const array::Array& weight, int64_t heads, int64_t features) const;
  // The dims of the weights by which RMS norms multiply.
  std::vector<int64_t> weight_dims(int64_t heads, int64_t features) const;
  array::Array normalized(const array::Array& x) const;  // RMS, without weights
  void choose(const Parameters& parameters);             // the changes by adapters
  array::Array with_chosen(const array::Array& y, const array::Array& x) const;

  std::string path_;
  NormOptions options_;
  Style style_;
  int64_t axis_;
  std::optional<array::Array> weight_, bias_;
  std::optional<RunVectors> chosen_weight_, chosen_bias_;
};

}  // namespace pippin::nn
