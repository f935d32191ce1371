// The forms of answers, whole and as streams of events: of OpenAI's two endpoints, Anthropic's, and
// llama-server's own.
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
  std::string id;     // "chatcmpl-...": without its prefix
  std::string model;  // as the answer names it
  int64_t created = 0;
  size_t choices = 1;  // of all prompts
  bool streams = false, with_usage = false;
  bool with_logprobs = false;
  size_t prompt_choices = 1;                   // of each prompt
  std::optional<size_t> prompt_logprobs = {};  // the likeliest tokens told with each
  bool echoes_logprobs = false;                // of completions: the lists begin with the prompt's
  size_t top_logprobs = 0;
  std::vector<std::string> echoes;  // of completions: what each choice begins with
  int64_t prompt_tokens = 0;        // of all prompts
  std::chrono::milliseconds silence{5000};
};

// Of llama-server's own endpoints.
struct NativeOptions {
  std::string model;
  struct Prompt {
    std::string text;
    int64_t tokens = 0;
  };
  std::vector<Prompt> prompts;
  size_t prompt_choices = 1;  // of each
  bool streams = false, with_probabilities = false, with_tokens = false;
  std::optional<std::vector<std::string>> fields;  // paths in a whole answer to keep; none: all
  TextRequest request;                             // whose settings are told
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
