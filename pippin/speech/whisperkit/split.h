// Splits a decoder's program: what depends on the encoder's states alone, the keys and values of
// cross-attention, is the same for all tokens of a window.
#pragma once

#include <string>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::speech {

// `once` and `each` are the same model, read twice. The default function of `once` then computes
// values from the input alone, that of `each` the outputs from the other inputs and these values,
// whose names are returned. Returns none, and changes nothing, if nothing is computed from the
// input alone, or if other operations need it as well.
std::vector<std::string> split_at_input(mil::Model& once, mil::Model& each, const char* input);

}  // namespace pippin::speech
