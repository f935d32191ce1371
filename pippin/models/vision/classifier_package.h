// The package of an image classifier, from a picture to a label, as Core ML declares classifiers:
//
//   main   image (RGB, height x width)   classLabel string, classLabel_probs: from labels to fp64
#pragma once

#include <vector>

#include "pippin/image/vision_pass.h"
#include "pippin/mil/model.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::models {

// Pixel values of a channel: factor * x + addend for x from 0 to 255.
struct PixelScale {
  std::vector<double> factors, addends;  // of each channel
};

// `shape` is that of one image. Throws as VisionModel::build(); InvalidArgument for a model that is
// not a classifier, and for images of other than 3 channels.
mil::Model build_classifier_package(const VisionModel& model, const image::VisionShape& shape,
                                    const PixelScale& scale);

}  // namespace pippin::models
