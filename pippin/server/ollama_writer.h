// Writers of answers to ollama's /api/chat and /api/generate: one object, or a stream of lines.
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
  std::string model;     // the name that the client used
  bool is_chat = false;  // else /api/generate
  bool streams = true, with_logprobs = false;
  // Of /api/generate: the tokens of the prompt. The answer returns them with its own, so that
  // another request can continue from there.
  std::optional<std::vector<int32_t>> context = std::nullopt;
  std::chrono::steady_clock::time_point start{};  // of the request
  double load_seconds = 0;
  std::chrono::milliseconds silence{5000};
};

std::unique_ptr<AnswerWriter> make_ollama_writer(std::shared_ptr<http::Reply> reply,
                                                 OllamaOptions options);

// Returns an answer without text: the model was loaded ("load") or unloaded ("unload").
std::string ollama_empty_answer(const OllamaOptions& options, std::string_view reason);

}  // namespace pippin::server
