// Client for OpenAI's API: lists models and streams answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/repl/dialogue.h"
#include "pippin/repl/transport.h"

namespace pippin::repl {

struct ModelInfo {
  std::string name;
  int64_t context = 0, vocab_size = 0;  // 0: not stated by the server
  bool has_chat_template = true;
  bool tells_progress = false;
  bool takes_images = false;
};

// A part of an answer: exactly one of these is set.
struct AnswerPart {
  std::string content, reasoning;
  std::optional<ToolCall> call = {};  // the start of a call, or more arguments of the last one
  int64_t done = 0, total = 0;        // of the prompt's tokens, while the prompt is read
};

// The end of an answer. Values that the server does not state are 0.
struct AnswerEnd {
  std::string finish;  // "stop", "length", "tool_calls"; empty: stopped by the user
  int64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  double prompt_seconds = 0, tokens_per_second = 0;
};

class Client {
 public:
  explicit Client(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  // These functions throw Network, and for errors of the server an Error with its message.
  std::vector<ModelInfo> models();
  // Returns the model's defaults and template (docs/serve.md); null if the server has no such
  // endpoint.
  Json properties(const std::string& model);
  // Streams the answer to the last turn, or its continuation. Ends soon after `stop` is set.
  AnswerEnd answer(const ModelInfo& model, const Dialogue& dialogue, bool continues,
                   const std::function<void(const AnswerPart& part)>& on_part,
                   const std::atomic<bool>& stop);

 private:
  std::unique_ptr<Transport> transport_;
};

}  // namespace pippin::repl
