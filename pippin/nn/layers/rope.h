// Rotary position embeddings (Su et al., RoFormer), with the frequency scalings of long contexts.
//
// cos and sin of every position up to the context are computed in double when the model is built
// and stored as tables; a pass reads rows [past, end). Angles computed in fp16 at run time would be
// off by half a radian at position 2048. Only dynamic NTK scaling, whose frequencies depend on the
// length, computes them in the program, in fp32.
//
// For a model that rotates neighbouring pairs (GPT-J's form) instead of the two halves of a head,
// the rows of the query and key projections are reordered (deinterleaved()), which gives the same
// scores.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/dim.h"

namespace pippin::nn {

struct RopeScaling {
  enum class Kind {
    Default,
    Linear,        // every frequency / factor
    Llama3,        // long wavelengths / factor, short ones unchanged, a blend between
    Yarn,          // Peng et al.: as Llama3, with the blend by number of turns
    Dynamic,       // NTK: theta grows with the length once that exceeds original_context
    LongRope,      // a divisor for each frequency; other divisors once the length exceeds
                   // original_context
    Proportional,  // the first `turned` frequencies, of all dimensions; the others are not rotated
  };
  Kind kind = Kind::Default;
  double factor = 1.0;
  double low_frequency_factor = 1.0;                // Llama3
  double high_frequency_factor = 4.0;               // Llama3
  int64_t original_context = 8192;                  // all but Default and Linear
  double fast_turns = 32.0, slow_turns = 1.0;       // Yarn: beta_fast, beta_slow
  bool whole_dims = true;                           // Yarn: truncate
  double attention_factor = 1.0;                    // Yarn, LongRope: of cos and sin
  std::optional<double> long_attention_factor;      // LongRope: with long_factors, if different
  std::vector<double> short_factors, long_factors;  // LongRope, dims / 2 each
  int64_t turned = 0;                               // Proportional
};

struct RopeOptions {
  int64_t dims = 0;  // of each head, the first ones
  double theta = 10000.0;
  bool reversed = false;  // pairs are rotated in the opposite direction
  RopeScaling scaling;
  // For models whose positions have three coordinates, frame, row and column ("mrope"): the numbers
  // of frequencies that follow each, dims / 2 in total; zeros for other models. The frequencies of
  // a coordinate are adjacent, or the coordinates alternate (`interleaved`), where 3 * sections[i]
  // limits those of rows and columns and frames have the others.
  std::array<int64_t, 3> sections{};
  bool interleaved = false;

  bool has_sections() const { return sections[0] > 0; }
};

// Angle per position of each pair of dimensions: dims / 2 numbers, for sequences of `length`.
std::vector<double> rope_frequencies(const RopeOptions& options, int64_t length = 1);

// The coordinate of each frequency, dims / 2 numbers from 0 to 2, of a rope with sections.
std::vector<int> rope_coordinates(const RopeOptions& options);

// The order of a head's dimensions in which the first dims / 2 pairs are its two halves: 0, 2, 4,
// ..., 1, 3, 5, ..., then the dimensions without rotation.
std::vector<int64_t> deinterleaved(int64_t head_dim, int64_t dims);

// cos and sin of the positions of one pass, (1, 1, q, dims), or (1, 1, dims, q) for channels, each
// half twice (rotate_half).
struct Rotation {
  array::Array cos, sin;
};

// x (1, heads, q, head_dim) with pairs (i, i + dims/2) rotated: x * cos + rotate_half(x) * sin.
// Axis 2 for (1, heads, head_dim, q).
array::Array rotate(const array::Array& x, const Rotation& rotation, int64_t axis = -1);

class Rope {
 public:
  Rope(int64_t context, const RopeOptions& options, mil::DataType type);

  // Recorded once per pass and shared by all layers.
  Rotation rows(const mil::Dim& past, const mil::Dim& end) const;
  // For given positions, int32 (q), below the context, in a sequence of `length`, int32 (1): for
  // programs that have both as inputs.
  Rotation at(const array::Array& positions, const array::Array& length) const;
  // The same for positions with three coordinates, int32 (3, q). A rope without sections follows
  // the first one.
  Rotation at_coordinates(const array::Array& positions, const array::Array& length) const;

 private:
  struct Tables {
    array::Array cos, sin;  // (1, 1, context, dims)
  };
  Tables tables(int64_t length, const char* prefix) const;
  Rotation computed(const mil::Dim& past, const mil::Dim& end) const;
  Rotation turned(const array::Array& positions, const array::Array& frequencies) const;

  int64_t context_;
  RopeOptions options_;
  mil::DataType type_;
  std::optional<Tables> tables_, long_tables_;
  std::optional<array::Array> frequencies_;  // Dynamic: (lengths, dims / 2), fp32
};

}  // namespace pippin::nn
