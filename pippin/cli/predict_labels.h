// pippin predict with --image: the labels of images by a classifier's folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/app/open/open_model.h"

namespace pippin::cli {

struct LabelsCommand {
  app::ModelChoice choice;
  std::vector<std::string> images;  // paths
  std::vector<std::string> labels;  // for a pair of towers; none: those of a classifier
  int64_t top = 5;
  bool json = false;
};

// Prints the most likely labels of each image: probability, index, name. Throws as
// app::ImageEncoder and app::TextEncoder.
void predict_labels(const LabelsCommand& command);

}  // namespace pippin::cli
