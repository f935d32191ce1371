// Pictures: PIL's, and arrays of pixels, as the images that models take.
#pragma once

#include <pybind11/pybind11.h>

#include "pippin/api/model.h"

namespace pippin::python {

// Whether the object is PIL's kind of picture.
bool is_picture(pybind11::handle object);

// L, LA, 1: gray. F: gray, where the model takes float16 pixels. RGB and all that PIL turns into
// it; transparency is left out. Throws InvalidArgument for modes of more than 8 bits.
Image to_image(pybind11::handle picture, const FeatureInfo& feature);

// Arrays as libraries of pictures have them, [height, width], [height, width, 1, 3 or 4] and
// [1 or 3, height, width], as what `feature` takes; others as they are.
Value to_pixels(Tensor tensor, const FeatureInfo& feature);

// A picture of PIL of what the model gives, [1, 1 or 3, height, width].
pybind11::object to_picture(const Tensor& tensor, const FeatureInfo& feature);

}  // namespace pippin::python
