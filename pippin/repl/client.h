// A chat's side of OpenAI's API: what models there are, and answers as they come.
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
  int64_t context = 0, vocab_size = 0;  // 0: the server does not say
  bool has_chat_template = true;
  bool tells_progress = false;
};

// A piece of an answer: exactly one of these.
struct AnswerPart {
  std::string content, reasoning;
  std::optional<ToolCall> call = {};  // a call begins, or more of the arguments of the last one
  int64_t done = 0, total = 0;        // of the prompt's tokens, while it is read
};

// How an answer ended. What the server does not say is 0.
struct AnswerEnd {
  std::string finish;  // "stop", "length", "tool_calls"; empty: it was stopped
  int64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  double prompt_seconds = 0, tokens_per_second = 0;
};

class Client {
 public:
  explicit Client(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  // All of these throw Network, and what the server refuses as an Error with its words.
  std::vector<ModelInfo> models();
  // The model's defaults and template (docs/serve.md); null where the server has no such endpoint.
  Json properties(const std::string& model);
  // The answer to the last turn, or the rest of it. Ends soon after `stop` is set.
  AnswerEnd answer(const ModelInfo& model, const Dialogue& dialogue, bool continues,
                   const std::function<void(const AnswerPart& part)>& on_part,
                   const std::atomic<bool>& stop);

 private:
  std::unique_ptr<Transport> transport_;
};

}  // namespace pippin::repl
