// What every causal language model of the `stateful` family shares: the interface around its
// layers.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/mil/package.h"
#include "pippin/models/registry.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/parameters.h"

namespace pippin::models {

nn::Precision precision(const BuildOptions& options);

// Records the functions that the options ask for and describes them: inputIds int32 (1, q) and
// causalMask (1, 1, q, end) with 1 <= q <= end <= context; states keyCache and valueCache; output
// logits. Throws InvalidArgument for lengths and names of functions that cannot be.
mil::Model record_causal_lm(const nn::DecoderOptions& decoder, int64_t context,
                            const nn::Parameters& parameters, const BuildOptions& options);

// The metadata key that lists the adapters of a package, with commas between their names.
inline constexpr std::string_view kAdaptersKey = "pippin.adapters";
// The user-defined metadata of models whose positions depend on the sequence's length once that
// passes a number of tokens: "longrope 4096" (other frequencies from then on), "dynamic 2048"
// (other ones for every length). A prompt that passes it has to be fed accordingly.
inline constexpr std::string_view kLengthDependentKey = "pippin.length_dependent";

// The user-defined metadata of models that carry states of a fixed size from one run to the next
// (a convolution's last columns): their names, with commas between them. Such a sequence cannot go
// back to fewer tokens, and no token may be fed twice.
inline constexpr std::string_view kCarriedStatesKey = "pippin.carried_states";

}  // namespace pippin::models
