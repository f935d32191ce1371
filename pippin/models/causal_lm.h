// What every causal language model of the `stateful` family shares: the interface around its
// layers.
#pragma once

#include <cstdint>

#include "pippin/mil/model.h"
#include "pippin/models/registry.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

nn::Precision precision(const BuildOptions& options);

// Records the functions that the options ask for and describes them (families/stateful.h), with
// 1 <= q <= end <= context. Throws InvalidArgument for lengths and names of functions that cannot
// be.
mil::Model record_causal_lm(const nn::DecoderOptions& decoder, int64_t context,
                            const nn::Parameters& parameters, const BuildOptions& options);

// Most positions that such a function can hold: the columns of its mask.
int64_t context_of(const mil::FunctionDescription& function);

}  // namespace pippin::models
