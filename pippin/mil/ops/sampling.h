// Where resizing ops sample an axis.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/mil/ops/rules.h"

namespace pippin::mil {

enum class Sampling { StrictAlignCorners, AlignCorners, Default, OffsetCorners, UnalignCorners };

// The mode of that name.
std::optional<Sampling> find_sampling(std::string_view name);
// The operation's sampling_mode.
Sampling sampling_mode(const OpContext& context);

// Where element i of `count` samples lies on an axis of `size` elements (any real number from 1):
// between 0 and size - 1.
double grid_point(Sampling sampling, int64_t i, double size, int64_t count);

}  // namespace pippin::mil
