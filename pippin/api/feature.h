// A model's declarations of inputs, outputs and states, and values checked against them.
//
// Internal to the library; callers see FeatureInfo and errors.
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

// Throws Unsupported for types that callers cannot hold (bf16, sub-byte types).
DataType to_public(mil::DataType type);
mil::DataType to_mil(DataType type);

// Whether a shape is among those declared.
bool shape_fits(const FeatureInfo& feature, const std::vector<int64_t>& shape);
// () and (1) are equivalent, as in Core ML: returns the declared one.
std::vector<int64_t> declared_rank(const FeatureInfo& feature, const std::vector<int64_t>& shape);
// Throws InvalidArgument if kind, element type or shape are not as declared; the message does not
// name the input. Does not check the values, which input_value() does.
void check_input(const FeatureInfo& feature, const Value& value);
// The value in the program's form. Throws InvalidArgument if it is not as declared; the message
// does not name the input.
engine::HostTensor input_value(const FeatureInfo& feature, const Value& value);
// The value of an absent optional input, with `batch` items if it has leading axes. Throws
// LimitExceeded if the declared shape has more elements.
Tensor default_input(const FeatureInfo& feature, int64_t max_elements, int64_t batch = 1);
// The batch of the given inputs with leading axes; 1 if there are none.
int64_t batch_of(const std::vector<FeatureInfo>& inputs, const Values& given);

// The program's output, converted to the declared type.
Value output_value(const FeatureInfo& feature, const engine::HostTensor& value);

}  // namespace pippin::api
