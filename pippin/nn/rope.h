// Rotary position embeddings (Su et al., RoFormer), with the frequency scalings of long contexts.
//
// cos and sin of every position up to the context are computed in double when the model is built
// and stored as tables; a pass takes rows [past, end). Angles computed in fp16 at run time would be
// off by half a radian at position 2048.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/dim.h"

namespace pippin::nn {

struct RopeScaling {
  enum class Kind {
    Default,
    Linear,  // every frequency / factor
    Llama3,  // long wavelengths / factor, short ones unchanged, a blend between
  };
  Kind kind = Kind::Default;
  double factor = 1.0;
  double low_frequency_factor = 1.0;   // Llama3
  double high_frequency_factor = 4.0;  // Llama3
  int64_t original_context = 8192;     // Llama3
};

// Angle per position of each pair of dimensions: dims / 2 numbers.
std::vector<double> rope_frequencies(int64_t dims, double theta, const RopeScaling& scaling);

// cos and sin of the positions of one pass, (1, 1, q, dims), each half twice (rotate_half).
struct Rotation {
  array::Array cos, sin;
};

class Rope {
 public:
  // `dims` of each head are rotated, the first ones.
  Rope(int64_t context, int64_t dims, double theta, const RopeScaling& scaling, mil::DataType type);

  // Recorded once per pass and shared by all layers.
  Rotation rows(const mil::Dim& past, const mil::Dim& end) const;
  // x (1, heads, q, head_dim) with pairs (i, i + dims/2) turned: x * cos + rotate_half(x) * sin.
  array::Array apply(const array::Array& x, const Rotation& rotation) const;

 private:
  int64_t dims_;
  array::Array cos_, sin_;  // (1, 1, context, dims)
};

}  // namespace pippin::nn
