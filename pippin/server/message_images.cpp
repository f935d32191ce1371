#include "pippin/server/message_images.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/hub/public_file.h"
#include "pippin/server/message_fields.h"

namespace pippin::server {
namespace {

// Anthropic's limit.
constexpr size_t kMaxImages = 100;

}  // namespace

std::string MessageImages::add(Image image) {
  if (images_.size() == kMaxImages) {
    refuse_at(image.place, fmt::format("the request has more than {} images", kMaxImages));
  }
  const bool is_video = image.is_video;
  images_.push_back(std::move(image));
  return marks_.mark(images_.size() - 1, is_video);
}

std::string MessageImages::add_base64(std::string_view text, const std::string& place,
                                      const std::string& type) {
  auto bytes = decode_base64(text);
  if (!bytes) refuse_at(place, "not valid base64");
  if (bytes->empty()) refuse_at(place, "the image is empty");
  return add({place, type, std::move(*bytes)});
}

std::string MessageImages::add_url(const std::string& url, const std::string& place,
                                   const std::string& type) {
  if (url.starts_with("data:")) {
    const auto base64 = base64_of_data_url(url);
    if (!base64) refuse_at(place, "expected a data URL in base64: data:image/png;base64,...");
    return add_base64(*base64, place, type);
  }
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    refuse_at(place, fmt::format("{} is not a data, http or https URL", shown(url)));
  }
  return add({place, type, {}, url});
}

std::string MessageImages::add_openai(const Json& part, const std::string& place) {
  const std::string where = place + ".image_url";
  const Json image = member(part, "image_url", place);
  const Json url = image.is_object() ? member(image, "url", where) : image;
  return add_url(text_of(url, where), place, "image_url");
}

std::string MessageImages::add_video(const Json& part, const std::string& place) {
  const std::string where = place + ".video_url";
  const Json video = member(part, "video_url", place);
  const std::string url = text_of(video.is_object() ? member(video, "url", where) : video, where);
  auto text = base64_of_data_url(url);
  if (!text) {
    refuse_at(place,
              "expected a data URL in base64: data:image/gif;base64,... of an animated GIF, PNG or "
              "WebP, or data:video/jpeg;base64,... of frames with commas between them");
  }
  Image image{place, "video_url", {}};
  image.is_video = true;
  for (bool more = true; more;) {
    const size_t end = std::min(text->find(','), text->size());
    more = end < text->size();
    auto bytes = decode_base64(text->substr(0, end));
    if (!bytes) refuse_at(place, "not valid base64");
    if (bytes->empty()) refuse_at(place, "a frame is empty");
    image.frames.push_back(std::move(*bytes));
    if (more) text->remove_prefix(end + 1);
  }
  if (image.frames.size() == 1) {
    image.bytes = std::move(image.frames.front());
    image.frames.clear();
  }
  return add(std::move(image));
}

std::string MessageImages::add_anthropic(const Json& block, const std::string& place) {
  const std::string where = place + ".source";
  const Json source = member(block, "source", place);
  const std::string type = type_at(source, where);
  if (type == "base64") {
    return add_base64(text_of(member(source, "data", where), where + ".data"), place, "image");
  }
  if (type == "url") {
    return add_url(text_of(member(source, "url", where), where + ".url"), place, "image");
  }
  refuse_at(where + ".type",
            fmt::format("{} is not supported (supported: base64, url)", shown(type)));
}

std::vector<std::string> MessageImages::bytes_of(const std::vector<size_t>& order,
                                                 bool allows_urls) const {
  std::vector<std::string> bytes;
  bytes.reserve(order.size());
  for (const size_t index : order) {
    const Image& image = images_[index];
    if (image.url.empty()) {
      bytes.push_back(image.bytes);
      continue;
    }
    if (!allows_urls) {
      refuse_at(image.place,
                "images at URLs are not fetched (pippin serve --allow-remote-images); send a data "
                "URL");
    }
    try {
      bytes.push_back(hub::read_public_file(image.url));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::Cancelled) throw;
      refuse_at(image.place, fmt::format("{}: {}", shown(image.url), error.what()));
    }
  }
  return bytes;
}

}  // namespace pippin::server
