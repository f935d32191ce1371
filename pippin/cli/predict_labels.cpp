#include "pippin/cli/predict_labels.h"

#include <fmt/format.h>

#include "pippin/app/image_encoder.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/app/text_encoder.h"
#include "pippin/cli/options/image_files.h"
#include "pippin/cli/options/options.h"
#include "pippin/io/json.h"

namespace pippin::cli {

void predict_labels(const LabelsCommand& command) {
  const auto files = read_image_files(command.images);
  const app::ImageEncoder encoder = app::ImageEncoder::open(command.choice);
  std::vector<std::vector<float>> vectors;
  if (!command.labels.empty()) {
    vectors = app::TextEncoder::open(command.choice).embed(command.labels).vectors;
  }
  JsonWriter json;
  json.begin_object().member("model", encoder.name()).key("images").begin_array();
  for (const runtime::ImageFile& image : app::image_files(files)) {
    const std::vector<app::ImageLabel> labels =
        vectors.empty() ? encoder.classify(image, command.top)
                        : encoder.choose(image, command.labels, vectors, command.top);
    if (!command.json) {
      if (files.size() > 1) print_out(fmt::format("{}\n", image.name));
      for (const app::ImageLabel& label : labels) {
        print_out(fmt::format("{:.6f}\t{}\t{}\n", label.probability, label.index, label.name));
      }
      continue;
    }
    json.begin_object().member("path", image.name).key("labels").begin_array();
    for (const app::ImageLabel& label : labels) {
      json.begin_object().member("index", label.index).member("label", label.name);
      json.member("probability", label.probability).end_object();
    }
    json.end_array().end_object();
  }
  if (command.json) print_out(json.end_array().end_object().text() + "\n");
}

}  // namespace pippin::cli
