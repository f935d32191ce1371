// The op families, one file each; table.cpp combines them.
#pragma once

#include <vector>

#include "pippin/mil/ops/op.h"

namespace pippin::mil {

using OpFamily = std::vector<OpDef>();
OpFamily activation_ops, attention_ops, classify_ops, constant_ops, constexpr_ops, control_flow_ops,
    convolution_ops, elementwise_binary_ops, elementwise_unary_ops, gather_ops, join_ops,
    linear_ops, list_ops, normalization_ops, packed_constexpr_ops, pooling_ops, quantization_ops,
    random_ops, rearrange_ops, recurrent_ops, reduction_ops, resizing_ops, sampling_ops,
    scatter_ops, shape_ops, slice_ops, spatial_ops, state_ops, suppression_ops, tensor_ops;

}  // namespace pippin::mil
