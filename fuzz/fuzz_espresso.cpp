// A compiled neural network: a line of JSON with its layers, a line with the sizes, the weights.
// With "transform_params" it is a classifier of a picture, whose labels are the last 64 bytes.
#include <algorithm>
#include <memory>
#include <string>

#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/networks/espresso.h"

namespace {

using namespace pippin;

mil::FunctionDescription array_network() {
  mil::FunctionDescription description;
  description.name = "main";
  description.inputs.push_back(mil::array_feature("x", "", mil::DataType::Float32, {1, 2, 4, 4}));
  description.outputs.push_back(mil::array_feature("y", "", mil::DataType::Float32));
  return description;
}

mil::FunctionDescription picture_classifier() {
  mil::FunctionDescription description;
  description.name = "main";
  mil::Feature picture;
  picture.name = "x";
  picture.kind = mil::Feature::Kind::Image;
  picture.image.color_space = mil::ColorSpace::Bgr;
  picture.image.size = {4, 4};
  description.inputs.push_back(picture);
  mil::Feature label;
  label.name = "y";
  label.kind = mil::Feature::Kind::Int64;
  description.outputs.push_back(label);
  description.predicted_feature_name = "y";
  return description;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t first = text.find('\n');
  const size_t second = first == text.npos ? first : text.find('\n', first + 1);
  if (second == text.npos) return 0;
  const auto weights = std::make_shared<const std::string>(text.substr(second + 1));
  const bool classifier = text.substr(0, first).find("transform_params") != text.npos;
  mil::FunctionDescription description = classifier ? picture_classifier() : array_network();
  try {
    const Json net = Json::parse(text.substr(0, first), "net");
    const Json shapes = Json::parse(text.substr(first + 1, second - first - 1), "shape");
    const ByteSpan bytes = as_byte_span(*weights);
    const mil::networks::EspressoFiles files{net, shapes, bytes,
                                             bytes.last(std::min<size_t>(bytes.size(), 64))};
    mil::verify(mil::networks::translate_espresso(
        files,
        classifier ? mil::networks::NetworkKind::Classifier : mil::networks::NetworkKind::Network,
        description, weights));
  } catch (const Error&) {
  }
  return 0;
}
