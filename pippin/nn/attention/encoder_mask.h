// The keys that the queries of an encoder see, as a mask that is added to the scores.
//
// Padding keys get a low number instead of -inf: a query that sees only padding, which itself is
// padding, still has finite scores, and its result is never used. Keys outside a window or after a
// causal query get -inf, which engines skip.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "pippin/array/array.h"
#include "pippin/nn/attention/alibi.h"
#include "pippin/nn/attention/relative_bias.h"

namespace pippin::nn {

class EncoderMasks {
 public:
  // As EncoderOptions has them; biases by ALiBi are not rounded.
  struct Options {
    bool causal = false;
    std::optional<AlibiOptions> alibi;
  };
  // `mask` as in EncoderInput.
  EncoderMasks(const array::Array& mask, mil::DataType type, const Options& options);

  // (batch, 1 or heads, length or 1, length). The windows are those of MixerNeeds: keys before and
  // after a query; if causal, keys up to itself. `bias`: null, or outlives this.
  const array::Array& at(std::optional<int64_t> window, std::optional<int64_t> window_after,
                         const RelativeBias* bias);
  const array::Array& positions() const { return positions_; }  // int32 (length)

 private:
  array::Array make(std::optional<int64_t> window, std::optional<int64_t> window_after,
                    const RelativeBias* bias) const;

  bool causal_;
  array::Array positions_, padding_;
  std::map<std::tuple<int64_t, int64_t, const RelativeBias*>, array::Array> made_;
};

}  // namespace pippin::nn
