// pippin predict with --image: the labels or maps of images by a model's folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/app/open/open_model.h"
#include "pippin/cli/output_files.h"

namespace pippin::cli {

struct LabelsCommand {
  app::ModelChoice choice;
  std::vector<std::string> images;  // paths
  std::vector<std::string> labels;  // for a pair of towers; none: those of a classifier
  std::vector<OutputFile> outputs;  // of a map, for one image
  int64_t top = 5;
  bool json = false;
};

// Prints the most likely labels of each image: probability, index, name; of a map of labels the
// share of the image in place of the probability, of a map of depths their range. Throws as
// app::ImageEncoder and app::TextEncoder.
void predict_labels(const LabelsCommand& command);

}  // namespace pippin::cli
