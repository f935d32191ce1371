#include "pippin/app/prompt_tokens.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/image_prompt.h"
#include "pippin/base/error.h"
#include "pippin/runtime/end_of_turn.h"

namespace pippin::app {
namespace {

// Appends a part of a content, which the error names.
void append_part(const chat::Value& part, const chat::ImageMarks& marks, size_t& count,
                 chat::ContentText& content, const std::string& place) {
  const auto text_at = [&](const char* key) {
    const chat::Value* const found = part.is_dict() ? part.dict().find(key) : nullptr;
    if (found == nullptr || !found->is_string()) {
      fail(ErrorCode::InvalidArgument, "{}: a part of a content has the text \"{}\"", place, key);
    }
    return found->string();
  };
  const std::string type = text_at("type");
  if (type == "text") {
    content.add_text(text_at("text"));
  } else if (type == "image" || type == "video") {
    content.add_image(marks.mark(count++, type == "video"));
  } else {
    fail(ErrorCode::InvalidArgument,
         "{}: parts of type '{}' are not supported (supported: text, image, video)", place, type);
  }
}

// The messages, with texts that have marks of images in place of lists of parts.
chat::Value marked_messages(const chat::Dict& context, const chat::ImageMarks& marks,
                            size_t& count) {
  const chat::Value* const messages = context.find("messages");
  if (messages == nullptr || !messages->is_list()) {
    fail(ErrorCode::InvalidArgument, "the conversation has no list of messages");
  }
  std::vector<chat::Value> result;
  result.reserve(messages->list().items.size());
  for (const chat::Value& message : messages->list().items) {
    result.push_back(message);
    const chat::Value* const parts = message.is_dict() ? message.dict().find("content") : nullptr;
    if (parts == nullptr || !parts->is_list()) continue;
    chat::ContentText content;
    size_t number = 0;
    for (const chat::Value& part : parts->list().items) {
      append_part(part, marks, count, content,
                  fmt::format("messages[{}].content[{}]", result.size() - 1, number++));
    }
    chat::Dict changed = message.dict();
    changed.set("content", content.take());
    result.back() = std::move(changed);
  }
  return result;
}

}  // namespace

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
  std::vector<runtime::ImageFile> images;
  std::vector<chat::Value> list;
  list.reserve(messages.size());
  for (const Message& message : messages) {
    std::vector<chat::Value> parts;
    parts.reserve(message.images.size() + 1);
    for (const MessageImage& image : message.images) {
      parts.emplace_back(chat::Dict{{"type", image.is_video ? "video" : "image"}});
    }
    parts.emplace_back(chat::Dict{{"type", "text"}, {"text", message.content}});
    for (runtime::ImageFile& image : image_files(message.images)) {
      images.push_back(std::move(image));
    }
    list.emplace_back(chat::Dict{{"role", message.role}, {"content", std::move(parts)}});
  }
  if (images.empty()) return {chat_tokens(model, messages), {}};
  Conversation conversation;
  conversation.context.set("messages", std::move(list));
  return conversation_prompt(model, chat_template(model), conversation, images);
}

runtime::VisionPrompt conversation_prompt(const runtime::LoadedModel& model,
                                          const ChatTemplate& chat,
                                          const Conversation& conversation,
                                          std::span<const runtime::ImageFile> images) {
  const chat::ImageMarks marks;
  size_t count = 0;
  const chat::Value messages = marked_messages(conversation.context, marks, count);
  if (count != images.size()) {
    fail(ErrorCode::InvalidArgument, "the messages have {} parts for images, {} images are given",
         count, images.size());
  }
  const auto render = [&](const chat::Value& some) {
    chat::Dict context = conversation.context;
    context.set("messages", some);
    return chat.render(context, conversation.end, conversation.options);
  };
  // The template writes the special tokens itself.
  if (images.empty()) return {model.tokenizer.encode(render(messages), false), {}};
  const runtime::ImageInput& input = model.image_input(images.front().name);
  input.check_kinds(images);
  std::vector<size_t> order;
  const std::string text = render_with_images(input, marks, messages, order, render);
  std::vector<runtime::ImageFile> files;
  files.reserve(order.size());
  for (const size_t number : order) files.push_back(images[number]);
  return input.read(model.tokenizer, text, /*add_special_tokens=*/false, files);
}

runtime::VisionPrompt text_prompt(const runtime::LoadedModel& model, std::string_view text,
                                  bool add_special_tokens,
                                  std::span<const runtime::ImageFile> images) {
  if (images.empty()) return {model.tokenizer.encode(text, add_special_tokens), {}};
  const runtime::ImageInput& input = model.image_input(images.front().name);
  const auto videos = static_cast<size_t>(std::count_if(
      images.begin(), images.end(), [](const auto& image) { return image.is_video; }));
  return input.read(model.tokenizer, input.rule().framed(text, images.size() - videos, videos),
                    add_special_tokens && !input.rule().writes_special_tokens(), images);
}

std::vector<runtime::ImageFile> image_files(std::span<const MessageImage> images) {
  std::vector<runtime::ImageFile> files;
  files.reserve(images.size());
  for (const MessageImage& image : images) {
    std::vector<ByteSpan> frames;
    frames.reserve(image.frames.size());
    for (const std::string& frame : image.frames) frames.push_back(as_byte_span(frame));
    files.push_back(
        {as_byte_span(image.bytes), image.name, image.is_video, std::move(frames), image.fps});
  }
  return files;
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
