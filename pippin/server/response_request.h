// The fields of a request of OpenAI's Responses API.
#pragma once

#include <optional>
#include <string>

#include "pippin/server/model_list.h"
#include "pippin/server/request_fields.h"
#include "pippin/server/text_request.h"
#include "pippin/server/tool_fields.h"

namespace pippin::server {

struct ResponseRequest {
  TextRequest text;
  ToolRequest tools;
  std::string instructions;
  std::optional<std::string> previous_id;
  bool is_stored = true, hides_thoughts = false;
  bool in_background = false;
  bool seals_thoughts = false;  // reasoning items have encrypted_content
};

// Reads all fields but `input`. Throws ApiError(400).
ResponseRequest read_response_request(const RequestFields& body);

// Returns the members of a response object that repeat the request as the server understood it:
// {"instructions": ..., "tools": ...} without the braces.
std::string echoed_request(const RequestFields& body, const ResponseRequest& request,
                           const ServedModel& model);

}  // namespace pippin::server
