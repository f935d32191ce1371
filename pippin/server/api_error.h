// What a client is told when a request has no answer: OpenAI's and Anthropic's error objects.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "pippin/base/exception.h"
#include "pippin/http/message.h"

namespace pippin::server {

enum class Dialect { OpenAi, Anthropic };

struct ApiError : std::runtime_error {
  ApiError(int http_status, const std::string& message, std::string field = {},
           std::string error_code = {})
      : std::runtime_error(message),
        status(http_status),
        param(std::move(field)),
        code(std::move(error_code)) {}

  int status;
  std::string param;  // the field of the request that is at fault; empty: none
  std::string code;   // "model_not_found"; empty: none
};

// What the library could not do, as an answer: 400 where the caller's values are at fault, 500
// otherwise.
ApiError api_error(const Error& error);
// The same of any exception.
ApiError api_error(const std::exception_ptr& error);

// {"error": {"message": ..., "type": "invalid_request_error", "param": ..., "code": ...}} or
// {"type": "error", "error": {"type": "invalid_request_error", "message": ...}}
std::string error_body(const ApiError& error, Dialect dialect);
// With retry-after for 503, and where asking again cannot help OpenAI's word for that.
http::Response error_response(const ApiError& error, Dialect dialect);

}  // namespace pippin::server
