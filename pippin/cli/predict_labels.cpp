#include "pippin/cli/predict_labels.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/image_encoder.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/app/text_encoder.h"
#include "pippin/base/error.h"
#include "pippin/cli/options/image_files.h"
#include "pippin/cli/options/options.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

// `value` names the labels' numbers in JSON.
void print_labels(const std::vector<app::ImageLabel>& labels, const char* value, bool as_json,
                  JsonWriter& json) {
  if (!as_json) {
    for (const app::ImageLabel& label : labels) {
      print_out(fmt::format("{:.6f}\t{}\t{}\n", label.probability, label.index, label.name));
    }
    return;
  }
  json.key("labels").begin_array();
  for (const app::ImageLabel& label : labels) {
    json.begin_object().member("index", label.index).member("label", label.name);
    json.member(value, label.probability).end_object();
  }
  json.end_array();
}

void print_depth(const app::ImageMap& map, bool as_json, JsonWriter& json) {
  const auto [least, most] = std::minmax_element(map.values.begin(), map.values.end());
  const double sum = std::accumulate(map.values.begin(), map.values.end(), 0.0);
  const double mean = sum / static_cast<double>(map.values.size());
  if (!as_json) {
    print_out(fmt::format("{:.6f} to {:.6f}\tmean {:.6f}\n", *least, *most, mean));
    return;
  }
  json.key("depth").begin_object().member("least", double{*least});
  json.member("most", double{*most}).member("mean", mean).end_object();
}

void write_map(const LabelsCommand& command, const app::ImageMap& map) {
  std::vector<OutputFile> files = command.outputs;
  FeatureInfo feature;
  feature.name = map.name;
  feature.shape = map.shape;
  resolve_outputs(files, {feature});
  PredictReport report;
  report.model = command.choice.path;
  report.outputs.emplace(map.name, Tensor::from(map.values, map.shape));
  report.output_features = {std::move(feature)};
  write_outputs(files, report);
}

void print_map(const LabelsCommand& command, const app::ImageEncoder& encoder,
               const runtime::ImageFile& image, JsonWriter& json) {
  const app::ImageMap map = encoder.map(image);
  if (!command.outputs.empty()) write_map(command, map);
  if (command.json) {
    json.member("height", map.shape.at(map.shape.size() - 2)).member("width", map.shape.back());
  }
  if (encoder.maps_labels()) {
    print_labels(encoder.shares(map, command.top), "share", command.json, json);
  } else {
    print_depth(map, command.json, json);
  }
}

}  // namespace

void predict_labels(const LabelsCommand& command) {
  const auto files = read_image_files(command.images);
  const app::ImageEncoder encoder = app::ImageEncoder::open(command.choice);
  if (!command.outputs.empty() && !encoder.maps()) {
    fail(ErrorCode::Unsupported, "--output: {} gives no maps of images, whose labels are printed",
         encoder.name());
  }
  std::vector<std::vector<float>> vectors;
  if (!command.labels.empty()) {
    vectors = app::TextEncoder::open(command.choice).embed(command.labels).vectors;
  }
  JsonWriter json;
  json.begin_object().member("model", encoder.name()).key("images").begin_array();
  for (const runtime::ImageFile& image : app::image_files(files)) {
    if (!command.json && files.size() > 1) print_out(fmt::format("{}\n", image.name));
    if (command.json) json.begin_object().member("path", image.name);
    if (encoder.maps() && command.labels.empty()) {
      print_map(command, encoder, image, json);
    } else {
      print_labels(vectors.empty() ? encoder.classify(image, command.top)
                                   : encoder.choose(image, command.labels, vectors, command.top),
                   "probability", command.json, json);
    }
    if (command.json) json.end_object();
  }
  if (command.json) print_out(json.end_array().end_object().text() + "\n");
}

}  // namespace pippin::cli
