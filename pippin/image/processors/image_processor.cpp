#include "pippin/image/processors/image_processor.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/image/processors/kinds.h"

namespace pippin::image {

namespace {

// The configuration of an image processor, and that of the processor that it is a part of.
struct Configs {
  Json image, whole;
};

std::optional<Configs> find_configs(const std::filesystem::path& folder) {
  const std::filesystem::path joint = folder / "processor_config.json";
  const std::filesystem::path own = folder / "preprocessor_config.json";
  Json whole = std::filesystem::exists(joint) ? Json::load(joint, kPythonJson)
                                              : Json::parse("{}", "processor_config.json");
  // transformers 5 writes all parts of a processor to one file.
  if (whole.is_object() && whole.has("image_processor")) {
    return Configs{whole.at("image_processor"), whole};
  }
  if (!std::filesystem::exists(own)) return std::nullopt;
  const Json json = Json::load(own, kPythonJson);
  Json image = json.is_object() && json.has("image_processor") ? json.at("image_processor") : json;
  return Configs{std::move(image), std::move(whole)};
}

}  // namespace

IntArray row_of(std::initializer_list<int64_t> values) {
  return {{1, static_cast<int64_t>(values.size())}, values};
}

IntArray list_of(std::initializer_list<int64_t> values) {
  return {{static_cast<int64_t>(values.size())}, values};
}

ImageProcessor ImageProcessor::read(const std::filesystem::path& path,
                                    std::optional<Backend> backend) {
  const Json json = Json::load(path, kPythonJson);
  const bool joint = json.is_object() && json.has("image_processor");
  return joint ? parse(json.at("image_processor"), json, backend) : parse(json, backend);
}

bool ImageProcessor::is_in(const std::filesystem::path& folder) {
  return find_configs(folder).has_value();
}

ImageProcessor ImageProcessor::open(const std::filesystem::path& folder,
                                    std::optional<Backend> backend) {
  if (const std::optional<Configs> configs = find_configs(folder)) {
    return parse(configs->image, configs->whole, backend);
  }
  fail(ErrorCode::NotFound,
       "{}: there is neither a preprocessor_config.json nor a processor_config.json with an "
       "image_processor",
       folder.string());
}

ImageProcessor ImageProcessor::parse(const Json& json, std::optional<Backend> backend) {
  return parse(json, Json::parse("{}", "processor_config.json"), backend);
}

ImageProcessor ImageProcessor::parse(const Json& json, const Json& processor,
                                     std::optional<Backend> backend) {
  ProcessorConfig config(json, backend, processor);
  std::vector<std::string_view> known;
  known.reserve(std::size(kImageKinds));
  for (const ImageKindRow& row : kImageKinds) {
    known.push_back(row.type);
    if (row.type != config.type()) continue;
    auto kind = row.read(config);
    config.check_switches();
    kind->type = config.type();
    kind->backend = config.backend();
    return ImageProcessor(std::move(kind));
  }
  fail(ErrorCode::Unsupported, "{}: '{}' is not supported (supported: {})",
       json.where("image_processor_type"), config.type(), fmt::join(known, ", "));
}

const std::string& ImageProcessor::type() const {
  return kind_->type;
}
Backend ImageProcessor::backend() const {
  return kind_->backend;
}

ImageInputs ImageProcessor::process(const Picture& picture) const {
  const int channels = picture.channels;
  if (picture.width <= 0 || picture.height <= 0 ||
      (channels != 1 && channels != 3 && channels != 4) ||
      picture.pixels.size() != static_cast<size_t>(picture.width * picture.height * channels)) {
    fail(ErrorCode::InvalidArgument, "a picture of {} x {} pixels with {} channels has {} bytes",
         picture.width, picture.height, channels, picture.pixels.size());
  }
  return kind_->process(channels == 3 ? picture : rgb_picture(picture, kind_->is_over_white()));
}

}  // namespace pippin::image
