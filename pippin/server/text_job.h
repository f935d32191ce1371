// A text request in progress: the scheduler runs its choices, and their output goes to an
// AnswerWriter in the form of the endpoint.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pippin/http/server.h"
#include "pippin/model_output/answer_part.h"
#include "pippin/runtime/embedded_rows.h"
#include "pippin/scheduling/scheduler.h"
#include "pippin/server/api_error.h"
#include "pippin/server/form_queue.h"
#include "pippin/server/line_limits.h"
#include "pippin/server/model_list.h"
#include "pippin/server/text_request.h"
#include "pippin/server/tool_fields.h"

namespace pippin::server {

enum class Finish { Stop, Length, ToolCalls };

struct Usage {
  int64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0, reasoning_tokens = 0;
  int64_t drafted_tokens = 0, accepted_tokens = 0;
  double queue_seconds = 0, prompt_seconds = 0, first_token_seconds = 0, total_seconds = 0;
  int64_t choices = 0;  // number that have ended
};

// A token of a prompt.
struct PromptToken {
  int32_t id = 0;
  std::string text;
  // Nothing for the first token; the likely tokens at its position are in it, their texts in
  // top_texts.
  std::optional<scheduling::PromptLogprobs> logprobs = std::nullopt;
  std::vector<std::string> top_texts = {};
};
using PromptTokens = std::vector<PromptToken>;

// The part of a choice that one token adds.
struct Piece {
  model_output::AnswerParts parts;  // may be empty
  // Only if they were requested, with the bytes of each token.
  const runtime::Logprobs* logprobs = nullptr;
  std::string token = {};
  std::vector<std::string> top_tokens = {};
  int32_t id = -1;  // of the token; negative: the rest of a text
};

// Writes one answer. Called by one thread at a time.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  // The request was accepted.
  virtual void begin() = 0;
  virtual void on_progress(int64_t /*done*/, int64_t /*total*/) {}  // tokens of the prompt
  // Called for a prompt whose logprobs were requested, before the first of its choices ends.
  virtual void on_prompt_tokens(size_t /*prompt*/, PromptTokens /*tokens*/) {}
  virtual void on_piece(size_t choice, const Piece& piece) = 0;
  virtual void on_choice_end(size_t choice, Finish finish, const std::string& stop) = 0;
  virtual void end(const Usage& usage) = 0;
  virtual void fail(const ApiError& error) = 0;
};

struct TextJobOptions {
  std::vector<std::vector<int32_t>> prompts;  // each with request.choices answers
  std::vector<std::shared_ptr<const runtime::EmbeddedRows>> rows = {};  // of images in them
  bool is_chat = false;  // end-of-turn tokens end an answer
  bool splits_reasoning = false;
  bool hides_thoughts = false;
  bool is_thinking = false;                  // from the first token on
  std::string prompt_end;                    // of a chat: the text before the answers
  std::string_view prompt_field = "prompt";  // of the request, for errors
  ToolRequest tools;                         // of a chat
  std::optional<LineLimitOptions> lines;
  bool tells_tokens = false;  // also those that add nothing to the text
  bool in_background = false;
  TextRequest request;
  Dialect dialect = Dialect::OpenAi;  // of errors before the answer begins
};

// Called when the job has ended.
using OnJobEnd = std::function<void(const Usage& usage, const ApiError* error)>;

// Checks the request, hands it to the model's scheduler (through `forms` if its form must be
// compiled), and returns; `writer` gets the rest. If the client disconnects, the work ends. Throws
// ApiError.
void start_text_job(std::shared_ptr<ServedModel> model, TextJobOptions options, FormQueue& forms,
                    std::shared_ptr<http::Reply> reply, std::unique_ptr<AnswerWriter> writer,
                    OnJobEnd on_end);

}  // namespace pippin::server
