// Errors in the forms that clients expect: those of OpenAI, Anthropic, llama-server,
// text-embeddings-inference and ollama.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "pippin/base/exception.h"
#include "pippin/http/message.h"

namespace pippin::server {

enum class Dialect : uint8_t { OpenAi, Anthropic, LlamaServer, TextEmbeddings, Ollama };

struct ApiError : std::runtime_error {
  ApiError(int http_status, const std::string& message, std::string field = {},
           std::string error_code = {})
      : std::runtime_error(message),
        status(http_status),
        param(std::move(field)),
        code(std::move(error_code)) {}

  int status;
  std::string param;  // the request's field that caused the error; empty: none
  std::string code;   // "model_not_found"; empty: none
};

// Converts an error of the library: 400 for invalid values of the caller, 404 for NotFound, else
// 500.
ApiError api_error(const Error& error);
// Does the same for any exception.
ApiError api_error(const std::exception_ptr& error);

// OpenAI: {"error": {"message": ..., "type": "invalid_request_error", "param": ..., "code": ...}}
// Anthropic: {"type": "error", "error": {"type": "invalid_request_error", "message": ...}}
// llama-server: OpenAI's, with the status as `code`
// text-embeddings-inference: {"error": ..., "error_type": "Validation"}
// ollama: {"error": ...}
std::string error_body(const ApiError& error, Dialect dialect);
// Adds retry-after to 503, and x-should-retry (for OpenAI's clients) to other errors that a retry
// cannot mend.
http::Response error_response(const ApiError& error, Dialect dialect);

}  // namespace pippin::server
