// A file that a client has uploaded, or the answers of a batch: OpenAI's File object.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/io/json.h"

namespace pippin::server {

struct StoredFile {
  std::string id, name, purpose;
  uint64_t bytes = 0;
  int64_t created_ns = 0;  // since 1970
  int64_t expires_at = 0;  // seconds since 1970; 0: never

  int64_t created_at() const { return created_ns / 1'000'000'000; }
};

// Returns OpenAI's object.
std::string file_object(const StoredFile& file);

// The text that is stored, and its reader, which throws InvalidFile.
std::string file_text(const StoredFile& file);
StoredFile parse_stored_file(const Json& json);

// Returns the time in nanoseconds since 1970.
int64_t time_ns();

}  // namespace pippin::server
