// What models declare, as dicts.
#pragma once

#include <pybind11/pybind11.h>

#include "pippin/api/model.h"

namespace pippin::python {

// {"name": "main", "inputs": [...], "outputs": [...], "states": [...], "predicted_feature_name":
// "", "predicted_probabilities_name": ""}. A feature is a dict with name, description, kind, type,
// shape, ranges (pairs; -1 is no bound), enumerated_shapes, optional, default_value and
// color_space.
pybind11::dict declared(const FunctionInfo& function);

}  // namespace pippin::python
