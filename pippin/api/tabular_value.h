// Conversions between callers' values and those of tabular models.
//
// Internal to the library.
#pragma once

#include "pippin/api/model.h"
#include "pippin/tabular/value.h"

namespace pippin::api {

// The value of an input, which may also be given in a form that the model's stages convert: a whole
// number for a double, dictionary keys as texts. Throws InvalidArgument if it does not match the
// declaration; the message does not name the input.
tabular::Value to_tabular(const FeatureInfo& feature, const Value& value);

// The value of an output in its declared type.
Value from_tabular(const FeatureInfo& feature, tabular::Value value);

}  // namespace pippin::api
