// Prompts of requests: the tokens that a model gets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/runtime/embedded_rows.h"
#include "pippin/server/api_error.h"
#include "pippin/server/message_images.h"
#include "pippin/server/model_list.h"
#include "pippin/server/request_fields.h"
#include "pippin/server/text_job.h"
#include "pippin/server/tool_fields.h"

namespace pippin::server {

// A conversation rendered by the model's template.
struct RenderedChat {
  std::string text;
  std::vector<int32_t> ids;                                             // negative: rows of images
  std::vector<std::shared_ptr<const runtime::EmbeddedRows>> rows = {};  // of all images
  bool is_thinking = false;           // the answer begins within thoughts
  std::vector<std::string> unheeded;  // fields that the template does not support
};

// `body` may have chat_template_kwargs, documents, add_generation_prompt, continue_final_message,
// add_special_tokens and the fields that control thinking: reasoning_effort, reasoning, think,
// enable_thinking and thinking. Throws ApiError(400) for `param`, the field of the messages; if the
// template refuses them, with its own words; and for images that the model or its template cannot
// take, that cannot be read, or, unless `fetches`, that are at a URL.
RenderedChat render_chat(const ServedModel& model, const ChatInput& input,
                         const RequestFields& body, const ToolRequest& tools, bool continues_last,
                         std::string_view param = "messages");

// Moves text, ids and rows into the prompt of a job.
void take_prompt(RenderedChat& prompt, TextJobOptions& job);

// Reads one or several prompts of /v1/completions: texts or tokens, with a suffix for models that
// fill in. `echoes` gets the texts. Throws ApiError(400).
std::vector<std::vector<int32_t>> read_prompts(const ServedModel& model, const RequestFields& body,
                                               std::vector<std::string>& echoes);

// Reads one or several texts, each a string or a list of tokens, from the field `param`. Throws
// ApiError(400).
std::vector<std::vector<int32_t>> read_texts(const ServedModel& model, const RequestFields& body,
                                             std::string_view param);

// The same before tokenization: either all are texts, or all are lists of tokens.
struct TextInputs {
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> ids;
};
TextInputs read_inputs(const RequestFields& body, std::string_view param);

// Keeps the last `count` tokens; -1: as many as fit with room for `max_tokens` more; 0: all.
void truncate_prompt(const ServedModel& model, std::vector<int32_t>& ids, int64_t count,
                     int64_t max_tokens);

// The same for a chat. Throws ApiError(400) if it has images.
void truncate_prompt(const ServedModel& model, RenderedChat& prompt, int64_t count,
                     int64_t max_tokens);

// Throws ApiError(400) with both numbers if the prompt does not fit in the context, or in the
// memory for caches. Anthropic's clients shorten the conversation when they see Anthropic's
// wording.
void check_prompt(const ServedModel& model, std::span<const int32_t> ids, std::string_view param,
                  Dialect dialect = Dialect::OpenAi);

// Reads a list of ids, each in the vocabulary. Throws ApiError(400) that names `param`.
std::vector<int32_t> read_ids(const ServedModel& model, const Json& list, std::string_view param);

}  // namespace pippin::server
