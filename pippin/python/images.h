// Converts pictures (PIL images and arrays of pixels) to the images that models take.
#pragma once

#include <pybind11/pybind11.h>

#include "pippin/api/model.h"

namespace pippin::python {

// Whether the object is a PIL image.
bool is_picture(pybind11::handle object);

// Modes L, LA and 1 become gray; F becomes gray if the model takes float16 pixels; all others
// become RGB, as PIL converts them, without transparency. Throws InvalidArgument for modes of more
// than 8 bits.
Image to_image(pybind11::handle picture, const FeatureInfo& feature);

// Converts arrays in the layouts of imaging libraries, [height, width], [height, width, 1, 3 or 4]
// and [1 or 3, height, width], to the layout that `feature` takes; returns others unchanged.
Value to_pixels(Tensor tensor, const FeatureInfo& feature);

// Converts a model's output, [1, 1 or 3, height, width], to a PIL image.
pybind11::object to_picture(const Tensor& tensor, const FeatureInfo& feature);

}  // namespace pippin::python
