// The tokens fed to a model for a text or a conversation, and those that end its answer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pippin/app/conversation.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/vision/image_input.h"

namespace pippin::app {

// The model's template. If it could not be loaded, throws that error; InvalidArgument if there is
// none.
const ChatTemplate& chat_template(const runtime::LoadedModel& model);

// The ids of a conversation, ready for an answer, from the template. Also throws the template's own
// errors. Images of messages do not count.
std::vector<int32_t> chat_tokens(const runtime::LoadedModel& model,
                                 std::span<const Message> messages);

// The same for messages with images. Also throws Unsupported for a model that takes text only, and
// the errors of ImageInput::read().
runtime::VisionPrompt chat_prompt(const runtime::LoadedModel& model,
                                  std::span<const Message> messages);

// The same for a conversation rendered by `chat`. In contents that are lists of parts, {"type":
// "text", "text": ...}, {"type": "image"} and {"type": "video"}, each of the latter is the next of
// `images`. Also throws InvalidArgument for another number of images and for parts of other types.
runtime::VisionPrompt conversation_prompt(const runtime::LoadedModel& model,
                                          const ChatTemplate& chat,
                                          const Conversation& conversation,
                                          std::span<const runtime::ImageFile> images);

// The same for a text, in which each of the model's placeholders stands for the next image. Images
// come before a text without placeholders.
runtime::VisionPrompt text_prompt(const runtime::LoadedModel& model, std::string_view text,
                                  bool add_special_tokens,
                                  std::span<const runtime::ImageFile> images);

// Views of the images.
std::vector<runtime::ImageFile> image_files(std::span<const MessageImage> images);

// The tokens that end a text, and with `chat` those that end an answer in the model's template.
std::vector<int32_t> end_tokens(const runtime::LoadedModel& model, bool chat);

}  // namespace pippin::app
