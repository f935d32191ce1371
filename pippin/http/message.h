// What the server of this folder hands on and takes back: requests and answers of HTTP/1.1 (RFC
// 9112).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pippin::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

// The first value of a field whose name is the same but for the case of its letters; else empty.
std::string_view find_field(const Fields& fields, std::string_view name);

enum class PeerPlace : uint8_t { Elsewhere, Loopback, UnixSocket };

struct Request {
  uint64_t number = 0;  // counted by the server, from 1
  std::string method;
  std::string path;  // decoded, without the query, empty segments and a slash at the end
  Fields query;      // decoded, in their order
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

// "/v1/models/org%2Fname?full=1": what of it is the path, decoded, and what the query. False for a
// target that is none, or has a zero byte or escapes that are no UTF-8.
bool split_target(std::string_view target, Request& request);

// Lines of a head that have the form of a field and their end: of one that is not whole, or broken
// elsewhere.
Fields fields_in(std::string_view head);

// "Not Found"
std::string_view reason_phrase(int status);

}  // namespace pippin::http
