#include "pippin/batch/request.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/io/digest.h"
#include "pippin/io/json.h"

namespace pippin::batch {
namespace {

// Begins every answer with a response, after its custom_id.
constexpr std::string_view kResponse = R"("response":{"status_code":)";

JsonWriter begin_line(std::string_view job, const Request& request) {
  JsonWriter json;
  json.begin_object().member("id", "batch_req_" + request_id(job, request.custom_id));
  json.member("custom_id", request.custom_id);
  return json;
}

Request text_request(std::string_view text, int64_t line) {
  JsonWriter json;
  json.begin_object().member("input", text).member("encoding_format", "base64").end_object();
  return {fmt::format("{}", line), "/v1/embeddings", json.text(), line};
}

}  // namespace

Request parse_request(std::string_view text, int64_t line, InputKind kind,
                      const std::string& where) {
  if (kind == InputKind::Texts) return text_request(text, line);
  const Json json = Json::parse(text, where);
  if (!json.is_object()) json.invalid("expected an object with custom_id, method, url and body");
  Request request{json.get_string("custom_id"), json.get_string("url"), {}, line};
  if (request.custom_id.empty()) json.at("custom_id").invalid("is empty");
  if (const std::string method = json.get_string_or("method", "POST"); method != "POST") {
    json.at("method").invalid(fmt::format("\"{}\" is not POST", method));
  }
  const Json body = json.at("body");
  if (!body.is_object()) body.invalid("expected an object");
  request.body = body.dump();
  return request;
}

bool is_blank(std::string_view line, InputKind kind) {
  return kind == InputKind::Requests && line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string error_message(const Answer& answer) {
  try {
    return Json::parse(answer.body, "answer").at("error").get_string("message");
  } catch (const Error&) {
    return answer.body;
  }
}

std::string request_id(std::string_view job, std::string_view custom_id) {
  constexpr size_t kDigits = 24;
  Digest digest = Digest::sha256();
  digest.update(as_byte_span(fmt::format("{}\n{}", job, custom_id)));
  return digest.finish().substr(0, kDigits);
}

std::string answer_line(std::string_view job, const Request& request, const Answer& answer) {
  std::string body = answer.body;
  std::replace(body.begin(), body.end(), '\n', ' ');  // texts have none
  JsonWriter json = begin_line(job, request);
  json.key("response").begin_object().member("status_code", answer.status);
  json.member("request_id", request_id(job, request.custom_id)).key("body").raw(body);
  json.end_object().member("error", nullptr).end_object();
  return json.text() + "\n";
}

std::string error_line(std::string_view job, const Request& request, std::string_view code,
                       std::string_view message) {
  JsonWriter json = begin_line(job, request);
  json.member("response", nullptr).key("error").begin_object().member("code", code);
  json.member("message", message).end_object().end_object();
  return json.text() + "\n";
}

std::optional<std::string> answered_id(std::string_view line) {
  try {
    return Json::parse(line, "answer").find_string("custom_id");
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_success(std::string_view line) {
  const size_t place = line.find(kResponse);
  return place != std::string_view::npos &&
         line.substr(place + kResponse.size()).starts_with("200,");
}

}  // namespace pippin::batch
