// Which keys the queries of an encoder see, as what is added to their scores.
//
// Keys that only fill up a row get a low number instead of -inf: a query that sees nothing else,
// which only one that fills up a row does, still has finite scores, and what it becomes counts
// nowhere. What lies outside of a window or after a causal query gets -inf, which engines skip.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "pippin/array/array.h"
#include "pippin/nn/attention/relative_bias.h"

namespace pippin::nn {

class EncoderMasks {
 public:
  // `mask` as in EncoderInput.
  EncoderMasks(const array::Array& mask, mil::DataType type, bool causal);

  // (batch, 1 or heads, length or 1, length). `window`: keys on each side of a query that it sees;
  // of a causal one the keys before it and itself. `bias`: null, or one that outlives this.
  const array::Array& at(std::optional<int64_t> window, const RelativeBias* bias);
  const array::Array& positions() const { return positions_; }  // int32 (length)

 private:
  array::Array make(std::optional<int64_t> window, const RelativeBias* bias) const;

  bool causal_;
  array::Array positions_, padding_;
  std::map<std::pair<int64_t, const RelativeBias*>, array::Array> made_;
};

}  // namespace pippin::nn
