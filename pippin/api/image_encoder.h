// Embeddings and labels of images.
//
//   const auto encoder = pippin::ImageEncoder::load("openai/clip-vit-base-patch32");
//   const auto vectors = encoder.embed({{file_bytes, "cat.jpg"}});
//
// An ImageEncoder is cheap to copy and may be used by many threads. Errors are thrown as
// pippin::Error (base/exception.h); cancellation works as in api/llm.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/exception.h"
#include "pippin/base/export.h"
#include "pippin/chat/message.h"
#include "pippin/runtime/load_options.h"

namespace pippin {

// A label of an image.
struct ImageLabel {
  int64_t index = 0;       // in ImageEncoder::labels()
  std::string name;        // the label
  double probability = 0;  // from 0 to 1
};

// A loaded model that embeds or classifies images, with its image processor.
class PIPPIN_API ImageEncoder {
 public:
  // Loads a checkpoint's folder as on the Hub, or org/name. Throws NotFound, Unsupported,
  // InvalidFile, Network.
  static ImageEncoder load(const std::string& path, const runtime::LoadOptions& options = {});

  // Returns a vector for each image: of length 1 if a TextEncoder of the folder gives texts vectors
  // in the same space, else as the model gives it. `dimensions` truncates vectors and normalizes
  // them; 0: all. Throws Unsupported for a classifier; InvalidArgument for too many dimensions;
  // InvalidFile, LimitExceeded and Unsupported, with the image's name, for an image that cannot be
  // read.
  std::vector<std::vector<float>> embed(const std::vector<MessageImage>& images,
                                        int64_t dimensions = 0) const;
  // Returns the `most` labels with the highest probabilities, the highest first. Throws Unsupported
  // for a model that is not a classifier; otherwise as embed().
  std::vector<ImageLabel> classify(const MessageImage& image, int64_t most = 5) const;

  // Whether it gives labels, not embeddings.
  bool is_classifier() const;
  // The labels of a classifier.
  const std::vector<std::string>& labels() const;
  // The name of the model.
  const std::string& name() const;

 private:
  struct Impl;
  explicit ImageEncoder(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pippin
