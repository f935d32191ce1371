// What the endpoints that generate text ask for, whatever their dialect: how, but not of what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/sampling_choice.h"
#include "pippin/io/json.h"
#include "pippin/server/api_error.h"
#include "pippin/server/form_fields.h"

namespace pippin::server {

struct TextRequest {
  std::string model;  // empty: the first one
  app::SamplingChoice sampling;
  int64_t choices = 1;      // per prompt
  int64_t max_tokens = -1;  // negative: to the end of the context
  std::vector<std::string> stop;
  std::optional<FormField> form;  // of the answer
  bool ignore_end = false;
  int64_t top_logprobs = -1;    // negative: none
  int64_t max_drafts = -1;      // of a pass; 0: none; negative: as the server was told
  std::string prediction = {};  // what the client expects, to look drafts up in
  bool streams = false;
  bool with_usage = false;     // of streams: a last chunk with it
  bool with_progress = false;  // of streams: chunks that tell how much of the prompt is read
};

constexpr int64_t kMaxChoices = 128;
constexpr size_t kMaxStops = 256;
constexpr int64_t kMaxTopLogprobs = 20;

// Fields that OpenAI's two endpoints have in common, and what other servers added to them: top_k,
// min_p and the like, under their names. Throws ApiError(400).
TextRequest read_text_request(const Json& body);

// What SamplingOptions::check() and SamplingChoice::over() refuse, as an error of the field that
// their message begins with.
ApiError sampling_error(const Error& error);

// Sampling fields of all dialects.
void read_sampling(const Json& body, app::SamplingChoice& sampling);

}  // namespace pippin::server
