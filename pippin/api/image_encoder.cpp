#include "pippin/api/image_encoder.h"

#include <utility>

#include "pippin/app/image_encoder.h"
#include "pippin/app/prompt_tokens.h"

namespace pippin {

struct ImageEncoder::Impl {
  app::ImageEncoder encoder;
};

ImageEncoder::ImageEncoder(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

ImageEncoder ImageEncoder::load(const std::string& path, const runtime::LoadOptions& options) {
  app::ModelChoice choice;
  choice.path = path;
  choice.load = options;
  return ImageEncoder(std::make_shared<const Impl>(Impl{app::ImageEncoder::open(choice)}));
}

std::vector<std::vector<float>> ImageEncoder::embed(const std::vector<MessageImage>& images,
                                                    int64_t dimensions) const {
  return impl_->encoder.embed(app::image_files(images), dimensions);
}

std::vector<ImageLabel> ImageEncoder::classify(const MessageImage& image, int64_t most) const {
  std::vector<ImageLabel> labels;
  for (app::ImageLabel& label :
       impl_->encoder.classify(app::image_files({&image, 1}).front(), most)) {
    labels.push_back({label.index, std::move(label.name), label.probability});
  }
  return labels;
}

bool ImageEncoder::is_classifier() const {
  return impl_->encoder.classifies();
}
const std::vector<std::string>& ImageEncoder::labels() const {
  return impl_->encoder.labels();
}
const std::string& ImageEncoder::name() const {
  return impl_->encoder.name();
}

}  // namespace pippin
