// The package of a model of images alone, from a picture to a label, as Core ML declares
// classifiers, or to a map:
//
//   main   image (RGB, height x width)   classLabel string, classLabel_probs: from labels to fp64
//   main   image (RGB, height x width)   logits fp32 (1, labels, rows, columns), or
//                                        predicted_depth fp32 (1, rows, columns)
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

// `shape` is that of one image. Throws as VisionModel::build(); InvalidArgument for a model that
// gives neither labels nor maps, and for images of other than 3 channels.
mil::Model build_image_package(const VisionModel& model, const image::VisionShape& shape,
                               const PixelScale& scale);

}  // namespace pippin::models
