// Writers of answers, whole or as event streams, in the forms of OpenAI's two endpoints,
// Anthropic's endpoint, and llama-server's own endpoints.
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

struct AnswerOptions {
  std::string id;     // without its prefix ("chatcmpl-")
  std::string model;  // the name in the answer
  int64_t created = 0;
  size_t choices = 1;  // of all prompts together
  bool streams = false, with_usage = false;
  bool with_logprobs = false;
  size_t prompt_choices = 1;                   // of each prompt
  std::optional<size_t> prompt_logprobs = {};  // the most likely tokens reported for each
  bool echoes_logprobs = false;                // of completions: the lists begin with the prompt's
  size_t top_logprobs = 0;
  std::vector<std::string> echoes;  // of completions: the text that each choice begins with
  int64_t prompt_tokens = 0;        // of all prompts together
  std::chrono::milliseconds silence{5000};
};

// Options of llama-server's own endpoints.
struct NativeOptions {
  std::string model;
  struct Prompt {
    std::string text;
    int64_t tokens = 0;
  };
  std::vector<Prompt> prompts;
  size_t prompt_choices = 1;  // of each prompt
  bool streams = false, with_probabilities = false, with_tokens = false;
  std::optional<std::vector<std::string>> fields;  // paths to keep in a whole answer; none: all
  TextRequest request;                             // its settings are part of the answer
  runtime::SamplingOptions sampling;
  std::chrono::milliseconds silence{5000};
};

std::unique_ptr<AnswerWriter> make_native_writer(std::shared_ptr<http::Reply> reply,
                                                 NativeOptions options);
std::unique_ptr<AnswerWriter> make_chat_writer(std::shared_ptr<http::Reply> reply,
                                               AnswerOptions options);
std::unique_ptr<AnswerWriter> make_completion_writer(std::shared_ptr<http::Reply> reply,
                                                     AnswerOptions options);
std::unique_ptr<AnswerWriter> make_message_writer(std::shared_ptr<http::Reply> reply,
                                                  AnswerOptions options);

}  // namespace pippin::server
