// Image outputs as pictures.
#pragma once

#include "pippin/api/model.h"
#include "pippin/image/picture.h"

namespace pippin::api {

// Converts an image output, [1, C, H, W] with channels in the declared order. Throws InvalidFile
// for other shapes.
Picture to_picture(const FeatureInfo& feature, const Tensor& tensor);

}  // namespace pippin::api
