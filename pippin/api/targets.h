// Outputs in memory that the caller provides.
#pragma once

#include <span>
#include <vector>

#include "pippin/api/model.h"

namespace pippin::api {

// Throws InvalidArgument for names that are not outputs, for values that are not tensors of the
// declared type and shape, and for tensors that cannot be written to (elements::check_targets).
void check_targets(const std::vector<FeatureInfo>& features, Values& targets);

// Throws InvalidArgument if an output of this shape does not fit the tensor for it.
void check_shape(const FeatureInfo& feature, std::span<const int64_t> shape, const Tensor& target);

// Moves results into the targets with their names: all of them or, after an Error, none.
void store(const std::vector<FeatureInfo>& features, Values& results, Values& targets);

}  // namespace pippin::api
