#include "pippin/app/image_prompt.h"

#include <optional>
#include <string_view>

#include "pippin/base/error.h"

namespace pippin::app {
namespace {

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

}  // namespace

std::string render_with_images(const runtime::ImageInput& input, const chat::ImageMarks& marks,
                               const chat::Value& messages, std::vector<size_t>& order,
                               const RenderMessages& render) {
  const std::string& video = input.rule().video_placeholder();
  const auto writes_all = [&](const std::string& text) {
    return count_of(text, input.placeholder()) + (video.empty() ? 0 : count_of(text, video)) ==
           order.size();
  };
  std::optional<Error> refusal;
  const auto rendered = [&](const chat::Value& some) -> std::optional<std::string> {
    try {
      std::string text = render(some);
      if (writes_all(text)) return text;
    } catch (const Error& error) {
      if (!refusal) refusal = error;
    }
    return std::nullopt;
  };
  if (auto text = rendered(marks.with_parts(messages, order))) return *std::move(text);
  if (!video.empty()) {
    if (auto text = rendered(marks.with_parts(messages, order, video))) return *std::move(text);
  }
  std::string text = render(marks.with_placeholders(messages, input.placeholder(), video, order));
  if (writes_all(text)) return text;
  if (refusal) throw Error(*refusal);
  fail(ErrorCode::InvalidArgument,
       "the model's chat template does not write each of the {} images once", order.size());
}

}  // namespace pippin::app
