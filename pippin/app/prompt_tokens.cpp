#include "pippin/app/prompt_tokens.h"

#include <string>
#include <utility>

#include "pippin/app/image_prompt.h"
#include "pippin/base/error.h"
#include "pippin/runtime/end_of_turn.h"

namespace pippin::app {

const ChatTemplate& chat_template(const runtime::LoadedModel& model) {
  if (model.template_error) throw Error(*model.template_error);
  if (!model.chat_template) {
    fail(ErrorCode::InvalidArgument, "the model has no chat template");
  }
  return *model.chat_template;
}

std::vector<int32_t> chat_tokens(const runtime::LoadedModel& model,
                                 std::span<const Message> messages) {
  // The template writes the special tokens itself.
  return model.tokenizer.encode(chat_template(model).render(messages, true), false);
}

runtime::VisionPrompt chat_prompt(const runtime::LoadedModel& model,
                                  std::span<const Message> messages) {
  const chat::ImageMarks marks;
  std::vector<runtime::ImageFile> images;
  std::vector<chat::Value> list;
  list.reserve(messages.size());
  for (const Message& message : messages) {
    chat::ContentText content;
    for (const MessageImage& image : message.images) {
      content.add_image(marks.mark(images.size()));
      images.push_back({as_byte_span(image.bytes), image.name});
    }
    content.add_text(message.content);
    list.emplace_back(chat::Dict{{"role", message.role}, {"content", content.take()}});
  }
  if (images.empty()) return {chat_tokens(model, messages), {}};
  const runtime::ImageInput& input = model.image_input(images.front().name);
  std::vector<size_t> order;
  const std::string text =
      render_with_images(input, marks, std::move(list), order, [&](const chat::Value& some) {
        return chat_template(model).render(chat::Dict{{"messages", some}}, PromptEnd::Generation);
      });
  std::vector<runtime::ImageFile> ordered;
  ordered.reserve(order.size());
  for (const size_t number : order) ordered.push_back(images[number]);
  return input.read(model.tokenizer, text, /*add_special_tokens=*/false, ordered);
}

std::vector<int32_t> end_tokens(const runtime::LoadedModel& model, bool chat) {
  std::vector<int32_t> ids = model.config.end_ids;
  if (chat && model.chat_template) {
    const auto id = runtime::end_of_turn(*model.chat_template, model.tokenizer);
    if (id) ids.push_back(*id);
  }
  return ids;
}

}  // namespace pippin::app
