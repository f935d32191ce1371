// What a model declares of its inputs, outputs and states, and values that keep to it.
//
// Inside the library; callers see FeatureInfo and errors.
#pragma once

#include <vector>

#include "pippin/api/model.h"
#include "pippin/engine/host_tensor.h"
#include "pippin/mil/model.h"

namespace pippin::api {

FeatureInfo feature_info(const mil::Feature& feature);
std::vector<FeatureInfo> feature_infos(const std::vector<mil::Feature>& features);
// "x (float32 [1, 4]), ids (int32 [1, 1..8], optional)"; "none"
std::string list_features(const std::vector<FeatureInfo>& features);

// Throws Unsupported for what callers cannot hold (bf16, types below a byte).
DataType to_public(mil::DataType type);
mil::DataType to_mil(DataType type);

// Whether a shape is one of those that are declared.
bool shape_fits(const FeatureInfo& feature, const std::vector<int64_t>& shape);
// () and (1) stand for each other, as in Core ML: the one of them that is declared.
std::vector<int64_t> declared_rank(const FeatureInfo& feature, const std::vector<int64_t>& shape);
// Throws InvalidArgument where kind, element type or shape are not as declared; the message does
// not name the input. Values may not be either, which input_value() finds.
void check_input(const FeatureInfo& feature, const Value& value);
// The value as the program takes it. Throws InvalidArgument where it is not as declared; the
// message does not name the input.
engine::HostTensor input_value(const FeatureInfo& feature, const Value& value);
// What an optional input has where it is absent. Throws LimitExceeded where the declared shape has
// more elements.
Tensor default_input(const FeatureInfo& feature, int64_t max_elements);

// What the program gave, in the declared type.
Value output_value(const FeatureInfo& feature, const engine::HostTensor& value);

}  // namespace pippin::api
