// Requests and answers of HTTP/1.1 (RFC 9112), as passed to and from the server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pippin::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Returns the first value of a field, ignoring the case of its name; empty if missing.
std::string_view find_field(const Fields& fields, std::string_view name);

enum class PeerPlace : uint8_t { Elsewhere, Loopback, UnixSocket };

struct Request {
  uint64_t number = 0;  // counted by the server, from 1
  std::string method;
  std::string path;  // decoded, without query, empty segments and trailing slash
  Fields query;      // decoded, in order
  Fields headers;
  std::string body;
  std::string peer;  // "127.0.0.1:41234", "unix"
  PeerPlace place = PeerPlace::Elsewhere;
  bool is_encrypted = false;

  std::string_view header(std::string_view name) const { return find_field(headers, name); }
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Fields headers;
};

// Splits "/v1/models/org%2Fname?full=1" into the decoded path and query. Returns false if the
// target is invalid, has a zero byte or has escapes that are not UTF-8.
bool split_target(std::string_view target, Request& request);

// Returns the complete, well-formed fields of a head, which may be incomplete or invalid elsewhere.
Fields fields_in(std::string_view head);

// Returns "Not Found" for 404, and so on.
std::string_view reason_phrase(int status);

}  // namespace pippin::http
