#include "pippin/server/batch_usage.h"

#include <initializer_list>
#include <optional>

namespace pippin::server {
namespace {

// The number of the first of these names that there is.
int64_t number_of(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto number = object.find_int(name)) return *number;
  }
  return 0;
}

// The number in a member of the first of these names that there is.
int64_t detail_of(const Json& object, std::initializer_list<const char*> names,
                  const char* detail) {
  for (const char* name : names) {
    if (const auto details = object.find(name)) return details->find_int(detail).value_or(0);
  }
  return 0;
}

}  // namespace

void add_usage(BatchUsage& usage, std::string_view line) {
  const auto response = Json::parse(line, "answer").find("response");
  const auto given = response ? response->at("body").find("usage") : std::nullopt;
  if (!given) return;
  usage.input_tokens += number_of(*given, {"input_tokens", "prompt_tokens"});
  usage.output_tokens += number_of(*given, {"output_tokens", "completion_tokens"});
  usage.cached_tokens +=
      detail_of(*given, {"input_tokens_details", "prompt_tokens_details"}, "cached_tokens");
  usage.reasoning_tokens +=
      detail_of(*given, {"output_tokens_details", "completion_tokens_details"}, "reasoning_tokens");
}

void write_batch_usage(JsonWriter& json, const BatchUsage& usage) {
  json.begin_object().member("input_tokens", usage.input_tokens);
  json.key("input_tokens_details").begin_object();
  json.member("cached_tokens", usage.cached_tokens).end_object();
  json.member("output_tokens", usage.output_tokens).key("output_tokens_details").begin_object();
  json.member("reasoning_tokens", usage.reasoning_tokens).end_object();
  json.member("total_tokens", usage.input_tokens + usage.output_tokens).end_object();
}

BatchUsage parse_batch_usage(const Json& json) {
  return {json.get_int("input_tokens"), json.at("input_tokens_details").get_int("cached_tokens"),
          json.get_int("output_tokens"),
          json.at("output_tokens_details").get_int("reasoning_tokens")};
}

}  // namespace pippin::server
