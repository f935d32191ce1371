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

Json load_whole(const std::filesystem::path& folder) {
  const std::filesystem::path joint = folder / "processor_config.json";
  return std::filesystem::exists(joint) ? Json::load(joint, kPythonJson)
                                        : Json::parse("{}", "processor_config.json");
}

std::optional<Configs> find_configs(const std::filesystem::path& folder) {
  const std::filesystem::path own = folder / "preprocessor_config.json";
  Json whole = load_whole(folder);
  // transformers 5 writes all parts of a processor to one file.
  if (whole.is_object() && whole.has("image_processor")) {
    return Configs{whole.at("image_processor"), whole};
  }
  if (!std::filesystem::exists(own)) return std::nullopt;
  const Json json = Json::load(own, kPythonJson);
  Json image = json.is_object() && json.has("image_processor") ? json.at("image_processor") : json;
  return Configs{std::move(image), std::move(whole)};
}

// The configuration of videos: its own, or else that of images.
std::optional<Configs> find_video_configs(const std::filesystem::path& folder) {
  Json whole = load_whole(folder);
  if (whole.is_object() && whole.has("video_processor")) {
    return Configs{whole.at("video_processor"), whole};
  }
  const std::filesystem::path own = folder / "video_preprocessor_config.json";
  if (!std::filesystem::exists(own)) return find_configs(folder);
  return Configs{Json::load(own, kPythonJson), std::move(whole)};
}

bool is_qwen3(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  return std::filesystem::exists(path) &&
         Json::load(path, kPythonJson).get_string_or("model_type", "").starts_with("qwen3");
}

std::shared_ptr<ImageKind> read_kind(const ImageKindRow& row, ProcessorConfig& config) {
  auto kind = row.read(config);
  config.check_switches();
  kind->type = config.type();
  kind->backend = config.backend();
  return kind;
}

void check_picture(const Picture& picture) {
  const int channels = picture.channels;
  if (picture.width <= 0 || picture.height <= 0 ||
      (channels != 1 && channels != 3 && channels != 4) ||
      picture.pixels.size() != static_cast<size_t>(picture.width * picture.height * channels)) {
    fail(ErrorCode::InvalidArgument, "a picture of {} x {} pixels with {} channels has {} bytes",
         picture.width, picture.height, channels, picture.pixels.size());
  }
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

std::optional<ImageProcessor> ImageProcessor::open_video(const std::filesystem::path& folder) {
  const std::optional<Configs> configs = find_video_configs(folder);
  if (!configs) return std::nullopt;
  ProcessorConfig config(configs->image, std::nullopt, configs->whole);
  std::string_view type = config.type();
  // One class of images, two of videos.
  if (type == "Qwen2VLImageProcessor" && is_qwen3(folder)) type = "Qwen3VLVideoProcessor";
  for (const ImageKindRow& row : kVideoKinds) {
    if (row.type == type) return ImageProcessor(read_kind(row, config));
  }
  return std::nullopt;
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
    if (row.type == config.type()) return ImageProcessor(read_kind(row, config));
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
  check_picture(picture);
  return kind_->process(picture.channels == 3 ? picture
                                              : rgb_picture(picture, kind_->is_over_white()));
}

ImageInputs ImageProcessor::process(Video video, double fps) const {
  if (video.frames.empty()) fail(ErrorCode::InvalidArgument, "a video without frames");
  for (Picture& frame : video.frames) {
    check_picture(frame);
    if (size_of(frame) != size_of(video.frames.front())) {
      fail(ErrorCode::InvalidArgument, "a video with frames of several sizes");
    }
    // transformers composites transparent frames over white.
    if (frame.channels != 3) frame = rgb_picture(frame, /*over_white=*/true);
  }
  return kind_->process_video(video, fps);
}

ImageInputs ImageKind::process_video(const Video& /*video*/, double /*fps*/) const {
  fail(ErrorCode::Unsupported, "{} has no videos", type);
}

}  // namespace pippin::image
