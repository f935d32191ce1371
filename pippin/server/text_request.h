// The settings of a text request in any dialect, without its prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/sampling_choice.h"
#include "pippin/server/adapters.h"
#include "pippin/server/api_error.h"
#include "pippin/server/form_fields.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

struct TextRequest {
  std::string model;  // empty: the first model
  app::SamplingChoice sampling;
  int64_t choices = 1;      // per prompt
  int64_t max_tokens = -1;  // negative: to the end of the context
  int64_t min_tokens = 0;   // before the text may end by itself
  std::vector<std::string> stop;
  bool keeps_stop = false;  // the text includes the stop string that ended it
  std::vector<int32_t> stop_tokens, allowed_tokens;  // no allowed ones: all are
  std::vector<std::string> banned_texts;
  std::optional<FormField> form;  // of the answer
  bool ignore_end = false;
  int64_t top_logprobs = -1;     // negative: none
  int64_t prompt_logprobs = -1;  // of the prompt's tokens; negative: none
  int64_t prompt_tokens = 0;     // only the last ones; 0: all, -1: as many as fit
  int64_t thinking_budget = -1;  // most tokens of thoughts; negative: no limit
  int64_t max_drafts = -1;       // per pass; 0: none; negative: the server's setting
  std::optional<std::vector<WantedAdapter>> adapters = {};
  std::string prediction = {};  // the expected text, to look drafts up in
  bool streams = false;
  bool with_usage = false;            // of streams: a last chunk with it
  bool with_progress = false;         // of streams: chunks with the progress in the prompt
  std::vector<std::string> unheeded;  // fields without effect, for x-ignored-fields
};

constexpr int64_t kMaxChoices = 128;
constexpr size_t kMaxStops = 256;
constexpr int64_t kMaxTopLogprobs = 20;

// Reads the fields that the text endpoints share. Throws ApiError(400).
TextRequest read_text_request(const RequestFields& body);

// A form determines the tokens and the end of the text itself: throws ApiError(400) for fields that
// do so next to it.
void refuse_with_form(const RequestFields& body, const TextRequest& request);

// Returns the most tokens of thoughts of a request, under any of its names; negative: no limit.
int64_t read_thinking_budget(const RequestFields& body);

// Converts an error of SamplingOptions::check() or SamplingChoice::over() to one of the field that
// its message begins with.
ApiError sampling_error(const Error& error);

// Reads the sampling fields of all dialects.
void read_sampling(const RequestFields& body, app::SamplingChoice& sampling,
                   std::vector<std::string>* unheeded = nullptr);

}  // namespace pippin::server
