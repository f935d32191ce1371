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
  const auto writes_all = [&](const std::string& text) {
    return count_of(text, input.placeholder()) == order.size();
  };
  std::optional<Error> refusal;
  try {
    std::string text = render(marks.with_parts(messages, order));
    if (writes_all(text)) return text;
  } catch (const Error& error) {
    refusal = error;
  }
  std::string text = render(marks.with_placeholders(messages, input.placeholder(), order));
  if (writes_all(text)) return text;
  if (refusal) throw Error(*refusal);
  fail(ErrorCode::InvalidArgument,
       "the model's chat template does not write each of the {} images once", order.size());
}

}  // namespace pippin::app
