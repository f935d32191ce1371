// Inputs and outputs of one of the packages of a model, checked against the shapes that the others
// have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pippin/runtime/package/fixed_part.h"

namespace pippin::runtime {

// Stands for any size of an axis.
inline constexpr int64_t kAnySize = -1;

// The declared shape of an input. Throws InvalidFile, naming the package, if it lacks the input, or
// if its type or an axis is another one than expected.
std::vector<int64_t> input_shape(const FixedPart& part, const char* name, bool is_float,
                                 const std::vector<int64_t>& expected);
// The same for an output of floats, of a part that is ready.
std::vector<int64_t> output_shape(const FixedPart& part, const char* name,
                                  const std::vector<int64_t>& expected);
bool has_output(const FixedPart& part, const char* name);
// Throws Unsupported for inputs other than these, and for states.
void check_known_inputs(const FixedPart& part, std::span<const char* const> known);

// Gives an input of floats to the next runs: in place where the device can, else as a copy.
// `values` must exist until then.
void give_input(FixedPart& part, size_t port, std::span<const float> values);

}  // namespace pippin::runtime
