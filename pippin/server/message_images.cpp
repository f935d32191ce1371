#include "pippin/server/message_images.h"

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
  images_.push_back(std::move(image));
  return marks_.mark(images_.size() - 1);
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
