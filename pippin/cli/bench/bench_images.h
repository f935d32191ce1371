// pippin bench with --image: an image on its way into a vision-language model, and the first token
// after a prompt with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/app/open/open_model.h"
#include "pippin/cli/bench/measured_run.h"

namespace pippin::cli {

struct ImageBench {
  std::string name;
  app::ModelChoice choice;          // resolved
  std::vector<std::string> images;  // paths
  int repetitions = 5;
};

struct ImageReport {
  MeasuredRun run;
  int64_t images = 0, rows = 0, tokens = 0;
  // Seconds of each repetition: reading the pictures and computing pixel values; the tower; all of
  // that and the prompt, up to the logits of the first token.
  std::vector<double> processor, tower, first_token;
};

// The prompt is the images and a short text. Throws the errors of opening the model, and
// Unsupported for one that takes text only.
ImageReport bench_images(const ImageBench& bench);

std::string image_lines(const ImageReport& report);
std::string image_json(const ImageReport& report);

}  // namespace pippin::cli
