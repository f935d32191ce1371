#include "pippin/chat/image_marks.h"

#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>

#include <fmt/format.h>

namespace pippin::chat {
namespace {

constexpr std::string_view kMarkEnd = "\x03", kVideo = "v";

// The parts of a content: texts, and the numbers of images and videos.
struct ContentPart {
  std::string_view text;
  std::optional<size_t> image;
  bool video = false;
};

std::vector<ContentPart> parts_of(std::string_view content, std::string_view begin) {
  std::vector<ContentPart> parts;
  while (!content.empty()) {
    const size_t mark = content.find(begin);
    if (mark > 0) parts.push_back({content.substr(0, mark), std::nullopt, false});
    if (mark == std::string_view::npos) break;
    content.remove_prefix(mark + begin.size());
    const bool video = content.starts_with(kVideo);
    if (video) content.remove_prefix(kVideo.size());
    size_t number = 0;
    std::from_chars(content.data(), content.data() + content.size(), number);
    parts.push_back({{}, number, video});
    content.remove_prefix(content.find(kMarkEnd) + kMarkEnd.size());
  }
  return parts;
}

// Calls `change` with the parts of each content that has marks.
Value with_changed(const Value& messages, std::string_view begin, std::vector<size_t>& order,
                   const std::function<Value(const std::vector<ContentPart>&)>& change) {
  order.clear();
  std::vector<Value> result;
  result.reserve(messages.list().items.size());
  for (const Value& message : messages.list().items) {
    result.push_back(message);
    const Value* const content = message.is_dict() ? message.dict().find("content") : nullptr;
    if (content == nullptr || !content->is_string()) continue;
    if (content->string().find(begin) == std::string::npos) continue;
    const auto parts = parts_of(content->string(), begin);
    for (const ContentPart& part : parts) {
      if (part.image) order.push_back(*part.image);
    }
    Dict changed = message.dict();
    changed.set("content", change(parts));
    result.back() = std::move(changed);
  }
  return result;
}

}  // namespace

ImageMarks::ImageMarks() {
  std::random_device random;
  const auto half = [&] { return (uint64_t{random()} << 32) | random(); };
  begin_ = fmt::format("\x02{:016x}{:016x}:", half(), half());
}

std::string ImageMarks::mark(size_t number, bool video) const {
  return fmt::format("{}{}{}{}", begin_, video ? kVideo : "", number, kMarkEnd);
}

Value ImageMarks::with_parts(const Value& messages, std::vector<size_t>& order,
                             std::string_view video) const {
  return with_changed(messages, begin_, order, [&](const std::vector<ContentPart>& parts) {
    std::vector<Value> list;
    list.reserve(parts.size());
    for (const ContentPart& part : parts) {
      if (part.video && !video.empty()) {
        list.emplace_back(Dict{{"type", "text"}, {"text", std::string(video)}});
      } else if (part.image) {
        list.emplace_back(Dict{{"type", part.video ? "video" : "image"}});
      } else {
        list.emplace_back(Dict{{"type", "text"}, {"text", std::string(part.text)}});
      }
    }
    return Value(std::move(list));
  });
}

Value ImageMarks::with_placeholders(const Value& messages, std::string_view image,
                                    std::string_view video, std::vector<size_t>& order) const {
  return with_changed(messages, begin_, order, [&](const std::vector<ContentPart>& parts) {
    std::string text;
    for (const ContentPart& part : parts) {
      if (!part.image) {
        text += part.text;
      } else {
        text += part.video ? video : image;
      }
    }
    return Value(std::move(text));
  });
}

void ContentText::add_text(std::string_view text) {
  if (!text_.empty() && !was_image_) text_ += '\n';
  text_ += text;
  was_image_ = false;
}

void ContentText::add_image(std::string_view mark) {
  text_ += mark;
  was_image_ = true;
}

}  // namespace pippin::chat
