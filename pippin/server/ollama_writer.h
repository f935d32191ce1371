// Answers of ollama's /api/chat and /api/generate: an object, or lines of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/http/server.h"
#include "pippin/server/text_job.h"

namespace pippin::server {

struct OllamaOptions {
  std::string model;     // as the client called it
  bool is_chat = false;  // else of /api/generate
  bool streams = true, with_logprobs = false;
  // Of /api/generate: tokens of the prompt. The answer has them with its own, so that another
  // request may go on from there.
  std::optional<std::vector<int32_t>> context = std::nullopt;
  std::chrono::steady_clock::time_point start{};  // of the request
  double load_seconds = 0;
  std::chrono::milliseconds silence{5000};
};

std::unique_ptr<AnswerWriter> make_ollama_writer(std::shared_ptr<http::Reply> reply,
                                                 OllamaOptions options);

// An answer without text: that the model is there ("load"), or is not any more ("unload").
std::string ollama_empty_answer(const OllamaOptions& options, std::string_view reason);

}  // namespace pippin::server
