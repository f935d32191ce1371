// The source of a sequence whose model reads more than tokens: the features of a recording, given
// before the first token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pippin::runtime {

// Features of a recording, row after row.
struct Source {
  // The elements, [shape].
  std::span<const float> values;
  // Its sizes: [bins, frames], or [samples] of the sound itself.
  std::vector<int64_t> shape;
};

// The sources that a model takes.
struct SourceForm {
  // The mel bins of a frame. 0: the source is the samples themselves, 16,000 in a second.
  int64_t bins = 0;
  // The most frames or samples of a source: longer recordings are several sources.
  int64_t frames = 0;
  // The fewest frames or samples. If it is `frames`, shorter recordings are padded by the caller as
  // the model was trained.
  int64_t least_frames = 0;
  // The states that the encoder makes of the longest source, evenly spaced in time.
  int64_t positions = 0;
  // The decoder's heads whose attention follows the recording: those of
  // Sequence::cross_attention(). 0: the model has none.
  int64_t alignment_heads = 0;
};

// The weights with which tokens attend to a source.
struct CrossAttention {
  // The number of heads.
  int64_t heads = 0;
  // The number of tokens.
  int64_t tokens = 0;
  // The encoder's states.
  int64_t positions = 0;
  // [heads, tokens, positions]; the sum over positions is 1.
  std::vector<float> weights;
};

}  // namespace pippin::runtime
