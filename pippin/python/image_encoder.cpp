// Encoders and classifiers of images.
#include "pippin/api/image_encoder.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/base/error.h"
#include "pippin/python/arrays.h"
#include "pippin/python/background_work.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/message_images.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

std::unique_ptr<ImageEncoder> open_images(const std::filesystem::path& path, int threads) {
  std::optional<ImageEncoder> made;
  run_work([&](BackgroundWork& /*background*/) {
    runtime::LoadOptions options;
    options.threads = threads;
    made = ImageEncoder::load(path.string(), options);
  });
  return std::make_unique<ImageEncoder>(*std::move(made));
}

py::object embed_images(const ImageEncoder& own, const py::object& given, int64_t dimensions) {
  MessageImages images(given);
  images.take_rest();
  std::vector<std::vector<float>> made;
  run_work([&](BackgroundWork& /*background*/) { made = own.embed(images.read(), dimensions); });
  if (made.empty()) fail(ErrorCode::InvalidArgument, "no image to embed");
  const size_t width = made.front().size();
  std::vector<float> values;
  values.reserve(width * made.size());
  for (const auto& vector : made) values.insert(values.end(), vector.begin(), vector.end());
  return to_array(
      Tensor::from(values, {static_cast<int64_t>(made.size()), static_cast<int64_t>(width)}));
}

py::list classify_image(const ImageEncoder& own, const py::object& given, int64_t top) {
  MessageImages images(given);
  images.take_rest();
  std::vector<ImageLabel> labels;
  run_work([&](BackgroundWork& /*background*/) {
    const std::vector<MessageImage> files = images.read();
    if (files.size() != 1) {
      fail(ErrorCode::InvalidArgument, "{} images: one is classified at a time", files.size());
    }
    labels = own.classify(files.front(), top);
  });
  py::list result;
  for (const ImageLabel& label : labels) {
    py::dict one;
    one["index"] = label.index;
    one["label"] = label.name;
    one["probability"] = label.probability;
    result.append(std::move(one));
  }
  return result;
}

}  // namespace

void bind_images(py::module_& module) {
  py::class_<ImageEncoder>(module, "ImageEncoder", docs::kImageEncoder)
      .def(py::init(&open_images), py::arg("path"), py::kw_only(), py::arg("threads") = 0,
           "path: a checkpoint's folder as it is on the Hub, or org/name. threads: 0 is one per "
           "core.")
      .def("embed", &embed_images, py::arg("images"), py::kw_only(), py::arg("dimensions") = 0,
           "Returns a float32 array (images, n). images: an image or a list of them: paths, URLs, "
           "bytes of files, PIL images, or arrays [height, width, 3] or [height, width] of uint8. "
           "dimensions: keeps that many numbers, normalized. Raises UnsupportedError for a "
           "classifier, and InvalidFileError for an image that cannot be read.")
      .def("classify", &classify_image, py::arg("image"), py::kw_only(), py::arg("top") = 5,
           "Returns the most likely labels of an image, a list of dicts with index, label and "
           "probability. Raises UnsupportedError for a model that is not a classifier.")
      .def_property_readonly("is_classifier", &ImageEncoder::is_classifier,
                             "Whether it gives labels, not embeddings.")
      .def_property_readonly("labels", &ImageEncoder::labels, "The labels of a classifier.")
      .def_property_readonly("name", &ImageEncoder::name, "The name of the model.");
}

}  // namespace pippin::python
