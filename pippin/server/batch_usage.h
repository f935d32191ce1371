// The tokens of a batch.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/io/json.h"

namespace pippin::server {

struct BatchUsage {
  int64_t input_tokens = 0, cached_tokens = 0, output_tokens = 0, reasoning_tokens = 0;
};

// Adds the usage of a line of answers, in the form of any endpoint; one without usage adds nothing.
// Throws InvalidFile for a damaged line.
void add_usage(BatchUsage& usage, std::string_view line);

// Writes OpenAI's object.
void write_batch_usage(JsonWriter& json, const BatchUsage& usage);
// Throws InvalidFile.
BatchUsage parse_batch_usage(const Json& json);

}  // namespace pippin::server
