// Requests and answers as lines of a file, in OpenAI's batch format.
//
//   {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {...}}
//   {"id": "batch_req_...", "custom_id": "a",
//    "response": {"status_code": 200, "request_id": "...", "body": {...}}, "error": null}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pippin::batch {

enum class InputKind : uint8_t {
  Requests,  // a request per line, as above; blank lines are skipped
  Texts,     // a text per line, whose embedding is wanted; its number is its custom_id
};

struct Request {
  std::string custom_id, url, body;  // the body is JSON
  int64_t line = 0;                  // of the input, from 1
};

// Throws InvalidFile. `where` names the line in messages.
Request parse_request(std::string_view text, int64_t line, InputKind kind,
                      const std::string& where);

// Returns whether the line holds no request.
bool is_blank(std::string_view line, InputKind kind);

struct Answer {
  int status = 200;
  std::string body;  // JSON
};

// Returns the message of an error in OpenAI's form, or the whole body.
std::string error_message(const Answer& answer);

// Returns 24 digits that depend on the request's custom_id and the job only.
std::string request_id(std::string_view job, std::string_view custom_id);

std::string answer_line(std::string_view job, const Request& request, const Answer& answer);
// The answer to a request without one.
std::string error_line(std::string_view job, const Request& request, std::string_view code,
                       std::string_view message);

// Returns the custom_id of a line of answers; nothing if the line is damaged.
std::optional<std::string> answered_id(std::string_view line);
// Returns whether a line of answers has status 200.
bool is_success(std::string_view line);

// Calls for each line, without its line break, and its offset. A last line without a line break is
// passed on only if `with_rest`.
template <typename Use>
void each_line(std::string_view text, bool with_rest, const Use& use) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos && !with_rest) return;
    const std::string_view line = text.substr(begin, end - begin);
    use(line, begin);
    begin += line.size() + 1;
  }
}

}  // namespace pippin::batch
