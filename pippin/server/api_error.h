// Errors as clients read them: the error objects of OpenAI, Anthropic, llama-server,
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
  std::string param;  // the field of the request that is at fault; empty: none
  std::string code;   // "model_not_found"; empty: none
};

// What the library could not do, as an answer: 400 where the caller's values are at fault, 500
// otherwise.
ApiError api_error(const Error& error);
// The same of any exception.
ApiError api_error(const std::exception_ptr& error);

// OpenAI: {"error": {"message": ..., "type": "invalid_request_error", "param": ..., "code": ...}}
// Anthropic: {"type": "error", "error": {"type": "invalid_request_error", "message": ...}}
// llama-server: OpenAI's, with the status as `code`
// text-embeddings-inference: {"error": ..., "error_type": "Validation"}
// ollama: {"error": ...}
std::string error_body(const ApiError& error, Dialect dialect);
// With retry-after for 503, and where asking again cannot help OpenAI's word for that.
http::Response error_response(const ApiError& error, Dialect dialect);

}  // namespace pippin::server
