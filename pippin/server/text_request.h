// What the endpoints that generate text ask for, whatever their dialect: how, but not of what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/sampling_choice.h"
#include "pippin/server/api_error.h"
#include "pippin/server/form_fields.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

struct TextRequest {
  std::string model;  // empty: the first one
  app::SamplingChoice sampling;
  int64_t choices = 1;      // per prompt
  int64_t max_tokens = -1;  // negative: to the end of the context
  int64_t min_tokens = 0;   // before the text may end by itself
  std::vector<std::string> stop;
  bool keeps_stop = false;                           // the text has the string that it ended at
  std::vector<int32_t> stop_tokens, allowed_tokens;  // of the latter none: all
  std::vector<std::string> banned_texts;
  std::optional<FormField> form;  // of the answer
  bool ignore_end = false;
  int64_t top_logprobs = -1;     // negative: none
  int64_t prompt_logprobs = -1;  // of the prompt's tokens; negative: none
  int64_t prompt_tokens = 0;     // the last ones only; 0: all, -1: as many as fit
  int64_t thinking_budget = -1;  // tokens of thoughts; negative: any number
  int64_t max_drafts = -1;       // of a pass; 0: none; negative: as the server was told
  std::string prediction = {};   // the expected text, to look drafts up in
  bool streams = false;
  bool with_usage = false;            // of streams: a last chunk with it
  bool with_progress = false;         // of streams: chunks that tell how much of the prompt is read
  std::vector<std::string> unheeded;  // fields without effect, for x-ignored-fields
};

constexpr int64_t kMaxChoices = 128;
constexpr size_t kMaxStops = 256;
constexpr int64_t kMaxTopLogprobs = 20;

// Fields that the endpoints of texts have in common. Throws ApiError(400).
TextRequest read_text_request(const RequestFields& body);

// A form says itself which tokens come, and where the text ends: throws ApiError(400) for fields
// that say so next to it.
void refuse_with_form(const RequestFields& body, const TextRequest& request);

// The most tokens of thoughts of a request, under all of its names; negative: any number.
int64_t read_thinking_budget(const RequestFields& body);

// What SamplingOptions::check() and SamplingChoice::over() refuse, as an error of the field that
// their message begins with.
ApiError sampling_error(const Error& error);

// Sampling fields of all dialects.
void read_sampling(const RequestFields& body, app::SamplingChoice& sampling,
                   std::vector<std::string>* unheeded = nullptr);

}  // namespace pippin::server
