// Fields of a request's body, with errors that name them.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/server/api_error.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// Throws ApiError(400) if the body is not a JSON object.
Json parse_body(std::string_view body);

// Returns the result of `read`; an Error of it becomes an ApiError(400) for `param`.
template <typename Read>
auto read_field(std::string_view param, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw ApiError(400, error.what(), std::string(param));
  }
}

// Read a request's fields by the names that readers use (request_fields.h), or the members of an
// object in it. Each returns nothing if the field is absent or null, and throws ApiError(400) with
// the client's name of the field.
std::optional<bool> find_bool(const RequestFields& object, std::string_view name);
std::optional<int64_t> find_int(const RequestFields& object, std::string_view name,
                                int64_t least = std::numeric_limits<int64_t>::min(),
                                int64_t most = std::numeric_limits<int64_t>::max());
std::optional<double> find_number(const RequestFields& object, std::string_view name);
std::optional<std::string> find_string(const RequestFields& object, std::string_view name);
// Reads a string or a list of strings.
std::vector<std::string> find_strings(const RequestFields& object, std::string_view name,
                                      size_t most);

}  // namespace pippin::server
