// The op families, one file each; table.cpp combines them.
#pragma once

#include <vector>

#include "pippin/mil/ops/op.h"

namespace pippin::mil {

std::vector<OpDef> activation_ops();
std::vector<OpDef> attention_ops();
std::vector<OpDef> classify_ops();
std::vector<OpDef> constant_ops();
std::vector<OpDef> constexpr_ops();
std::vector<OpDef> control_flow_ops();
std::vector<OpDef> convolution_ops();
std::vector<OpDef> elementwise_binary_ops();
std::vector<OpDef> elementwise_unary_ops();
std::vector<OpDef> gather_ops();
std::vector<OpDef> join_ops();
std::vector<OpDef> linear_ops();
std::vector<OpDef> list_ops();
std::vector<OpDef> normalization_ops();
std::vector<OpDef> packed_constexpr_ops();
std::vector<OpDef> pooling_ops();
std::vector<OpDef> quantization_ops();
std::vector<OpDef> random_ops();
std::vector<OpDef> rearrange_ops();
std::vector<OpDef> recurrent_ops();
std::vector<OpDef> reduction_ops();
std::vector<OpDef> resizing_ops();
std::vector<OpDef> sampling_ops();
std::vector<OpDef> scatter_ops();
std::vector<OpDef> shape_ops();
std::vector<OpDef> slice_ops();
std::vector<OpDef> spatial_ops();
std::vector<OpDef> state_ops();
std::vector<OpDef> suppression_ops();
std::vector<OpDef> tensor_ops();

}  // namespace pippin::mil
