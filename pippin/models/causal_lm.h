// Shared by all causal language models of the `stateful` family: the interface around their layers.
#pragma once

#include <cstdint>

#include "pippin/mil/model.h"
#include "pippin/models/adapters.h"
#include "pippin/models/registry.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

nn::Precision precision(const BuildOptions& options);

// Records the functions that the options request and describes them (families/stateful.h), with 1
// <= q <= end <= context. Throws InvalidArgument for invalid lengths and names of functions.
mil::Model record_causal_lm(const nn::DecoderOptions& decoder, int64_t context,
                            const nn::Parameters& parameters, const BuildOptions& options,
                            const AdapterOpener& adapters);

// Largest number of positions of such a function: the columns of its mask.
int64_t context_of(const mil::FunctionDescription& function);

}  // namespace pippin::models
