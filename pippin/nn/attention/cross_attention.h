// A decoder's view of an encoded text: keys and values of the encoder's states, computed once for
// each text and kept in states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/array/builder.h"
#include "pippin/nn/attention/attention.h"
#include "pippin/nn/layers/cache.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The states of all layers' keys and values, (layers, 1, heads, context, head_dim) each.
class CrossStates {
 public:
  CrossStates(array::Builder& builder, mil::DataType type, const std::vector<int64_t>& dims);

  // Writes keys or values of a layer, (1, heads, source, head_dim), to the slots [0, source).
  void write(int64_t layer, const array::Array& keys, const array::Array& values);
  // The keys and values written.
  std::pair<array::Array, array::Array> read(int64_t layer, const mil::Dim& source) const;

 private:
  array::State keys_, values_;
};

// The projections of the encoder's states by a layer's attention, without positions.
class CrossProjection {
 public:
  CrossProjection(const Parameters& parameters, const AttentionOptions& options);

  // (1, heads, source, head_dim) from states (1, source, features); in a style of channels (1,
  // heads, head_dim, source) from (1, features, 1, source).
  std::pair<array::Array, array::Array> operator()(const array::Array& states) const;

 private:
  AttentionOptions options_;
  Linear key_, value_;
  std::optional<Norm> key_norm_;
};

// The cache of a decoder's attention over a source: MixerInput::cache for layers that read another
// layer's keys.
class CrossCache final : public Cache {
 public:
  CrossCache(const CrossStates& states, mil::Dim source)
      : states_(states), source_(std::move(source)) {}

  // Throws Internal: a source is not extended.
  std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                               const array::Array& values,
                                               const Pass& pass) override;
  std::pair<array::Array, array::Array> seen(int64_t layer) const override {
    return states_.read(layer, source_);
  }

 private:
  const CrossStates& states_;
  mil::Dim source_;
};

// The cache of attention to earlier tokens and to a source: the keys and values of the latter come
// last.
class MergedCache final : public Cache {
 public:
  MergedCache(Cache& own, const CrossStates& states, mil::Dim source)
      : own_(own), states_(states), source_(std::move(source)) {}

  std::pair<array::Array, array::Array> update(int64_t layer, const array::Array& keys,
                                               const array::Array& values,
                                               const Pass& pass) override;

 private:
  Cache& own_;
  const CrossStates& states_;
  mil::Dim source_;
};

}  // namespace pippin::nn
