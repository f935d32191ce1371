// The declarations of a model's inputs, outputs and states: pippin.FeatureInfo, texts and dicts.
#pragma once

#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/api/model.h"

namespace pippin::python {

// {"x": FeatureInfo}, in the model's order.
pybind11::dict features_by_name(const std::vector<FeatureInfo>& features);
// {"x": "float32 [1, 4]"}
pybind11::dict descriptions_by_name(const std::vector<FeatureInfo>& features);
// {"name": "main", "inputs": [...], "outputs": [...], "states": [...], "predicted_feature_name":
// "", "predicted_probabilities_name": ""}. A feature is a dict with name, description, kind, type,
// shape, ranges (pairs; -1: unbounded), enumerated_shapes, optional, default_value and color_space.
pybind11::dict declared(const FunctionInfo& function);

}  // namespace pippin::python
