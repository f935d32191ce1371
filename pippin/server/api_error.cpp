#include "pippin/server/api_error.h"

#include <new>

#include "pippin/io/json.h"

namespace pippin::server {
namespace {

// Returns llama-server's name of the error.
std::string_view llama_server_type(const ApiError& error) {
  if (error.code == "context_length_exceeded") return "exceed_context_size_error";
  switch (error.status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 503:
      return "unavailable_error";
    default:
      return error.status < 500 ? "invalid_request_error" : "server_error";
  }
}

// Returns OpenAI's or Anthropic's name; they differ in four cases.
std::string_view type_of(int status, Dialect dialect) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return dialect == Dialect::OpenAi ? "invalid_request_error" : "not_found_error";
    case 413:
      return dialect == Dialect::OpenAi ? "invalid_request_error" : "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return dialect == Dialect::OpenAi ? "server_error" : "overloaded_error";
    default:
      break;
  }
  if (status < 500) return "invalid_request_error";
  return dialect == Dialect::OpenAi ? "server_error" : "api_error";
}

}  // namespace

ApiError api_error(const Error& error) {
  switch (error.code()) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::Unsupported:
    case ErrorCode::LimitExceeded:
      return {400, error.what()};
    case ErrorCode::NotFound:
      return {404, error.what()};
    default:
      return {500, error.what()};
  }
}

ApiError api_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& known) {
    return known;
  } catch (const Error& failed) {
    return api_error(failed);
  } catch (const std::bad_alloc&) {
    return {503, "out of memory"};
  } catch (const std::exception& other) {
    return {500, other.what()};
  } catch (...) {
    return {500, "unknown error"};
  }
}

std::string error_body(const ApiError& error, Dialect dialect) {
  JsonWriter json;
  json.begin_object();
  if (dialect == Dialect::TextEmbeddings) {
    json.member("error", error.what());
    json.member("error_type", error.status < 500 ? "Validation" : "Backend");
    return json.end_object().text();
  }
  if (dialect == Dialect::Ollama) {
    // ollama's clients search for these words.
    const bool is_absent = error.code == "model_not_found";
    json.member("error", std::string(is_absent ? "model not found: " : "") + error.what());
    return json.end_object().text();
  }
  if (dialect == Dialect::Anthropic) json.member("type", "error");
  json.key("error").begin_object();
  const bool is_native = dialect == Dialect::LlamaServer;
  const std::string_view type =
      is_native ? llama_server_type(error) : type_of(error.status, dialect);
  if (dialect == Dialect::Anthropic) {
    json.member("type", type).member("message", error.what());
    return json.end_object().end_object().text();
  }
  json.member("message", error.what()).member("type", type);
  const auto nullable = [&](const char* name, const std::string& text) {
    json.key(name);
    text.empty() ? json.value(nullptr) : json.value(text);
  };
  nullable("param", error.param);
  is_native ? (void)json.member("code", error.status) : nullable("code", error.code);
  return json.end_object().end_object().text();
}

http::Response error_response(const ApiError& error, Dialect dialect) {
  http::Response response{.status = error.status, .body = error_body(error, dialect)};
  if (dialect == Dialect::TextEmbeddings && error.status == 400) response.status = 422;
  if (error.status == 503) {
    response.headers.emplace_back("retry-after", "1");
  } else if (error.status >= 500) {
    // OpenAI's clients retry after 500, which would only fail again.
    response.headers.emplace_back("x-should-retry", "false");
  }
  if (error.status == 401) response.headers.emplace_back("www-authenticate", "Bearer");
  return response;
}

}  // namespace pippin::server
