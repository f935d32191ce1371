// An upload of a file: the form of POST /v1/files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pippin/http/message.h"
#include "pippin/io/json.h"
#include "pippin/server/stored_file.h"

namespace pippin::server {

struct FileUpload {
  StoredFile file;           // its name, purpose and expiry
  std::string_view content;  // a part of the request's body
};

// Throws ApiError: 400 for malformed forms and invalid values, 413 for a file of more than `most`
// bytes, 415 for bodies that are not forms.
FileUpload read_upload(const http::Request& request, uint64_t most);

// Returns the seconds of {"anchor": "created_at", "seconds": 3600}, of a field. Throws
// ApiError(400).
int64_t read_expiry(const Json& expiry, std::string_view field);
// Checks both of its members. Throws ApiError(400).
void check_expiry(std::string_view anchor, int64_t seconds, std::string_view field);

}  // namespace pippin::server
