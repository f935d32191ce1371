#include "pippin/app/prompt_tokens.h"

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

std::vector<int32_t> end_tokens(const runtime::LoadedModel& model, bool chat) {
  std::vector<int32_t> ids = model.config.end_ids;
  if (chat && model.chat_template) {
    const auto id = runtime::end_of_turn(*model.chat_template, model.tokenizer);
    if (id) ids.push_back(*id);
  }
  return ids;
}

}  // namespace pippin::app
