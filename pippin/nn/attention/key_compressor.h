// DeepSeek-V4's compression of keys: blocks of tokens become one key each, a mean of projections of
// the block's tokens, weighted for each feature by a softmax over them. With an overlap, the tokens
// of the previous block take part too, with other projections.
//
//   rate 4, overlap:   tokens  . . . . | 0 1 2 3 | 4 5 6 7 |      . have weight 0
//                      key 0   ^^^^^^^^^^^^^^^^^^^
//                      key 1             ^^^^^^^^^^^^^^^^^^^
//
// A key is computed for each token as if its block ended there, but only those of the blocks' last
// tokens are seen. Thus passes of any length have the same result, and only the tokens that a block
// still needs are carried along.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct KeyCompressorOptions {
  int64_t features = 0;
  int64_t size = 0;  // of a key
  int64_t rate = 0;  // tokens of a block
  bool overlap = false;
  NormOptions norm;
  std::vector<double> frequencies;  // of the keys' rope, at the block's first position
  std::string state;                // name of the carried state

  CarriedState carried() const;
  // The number of tokens that a key is computed from.
  int64_t taps() const { return overlap ? 2 * rate : rate; }
};

class KeyCompressor {
 public:
  KeyCompressor(const Parameters& parameters, const KeyCompressorOptions& options);

  // (1, 1, q, size): the last elements are rotated, and come first as halves (turned_last()).
  array::Array operator()(const array::Array& x, const MixerInput& input) const;

 private:
  array::Array windows(const array::Array& x, const MixerInput& input) const;
  array::Array pooled(const array::Array& windows, const MixerInput& input) const;

  std::string path_;
  KeyCompressorOptions options_;
  Linear keys_, gates_;
  array::Array place_bias_;
  Norm norm_;
  Rotation back_;  // by a block's length minus one
};

// x (1, heads, q, size), whose last elements are rotated pairs: turned_last() rotates them and
// moves them to the front as halves; turned_back() does the reverse.
array::Array turned_last(const array::Array& x, const Rotation& rotation);
array::Array turned_back(const array::Array& x, const Rotation& rotation);

// The mask of the keys of complete blocks: those positions of [0, end) that end a block and are in
// the mask.
array::Array closed_blocks(const array::Array& mask, const mil::Dim& end, int64_t rate);

}  // namespace pippin::nn
