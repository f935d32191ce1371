// Who may ask: keys, the name that a request gives the server, and the pages that may ask it.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/http/message.h"
#include "pippin/server/api_error.h"

namespace pippin::server {

struct AccessOptions {
  std::vector<std::string> keys;
  std::filesystem::path key_file;    // a key a line, # for comments; empty: none
  std::vector<std::string> origins;  // of pages that may ask; "*": of all
  std::vector<std::string> hosts;    // further names of this server
};

// Any thread.
class Access {
 public:
  // Throws NotFound, Io; InvalidFile for a key file without a key.
  explicit Access(AccessOptions options);

  // Reads the key file again. What cannot be read leaves the keys as they were, and throws.
  void reload();
  bool has_keys() const;

  // Nothing for a request that may be made; else the error. `is_public` goes without a key.
  std::optional<ApiError> check(const http::Request& request, bool is_public) const;
  // Headers of the answer, or refusal, to a page that may ask (CORS); none for others.
  http::Fields headers_for(const http::Request& request) const;

 private:
  bool is_known_host(std::string_view host) const;
  bool is_allowed_origin(const http::Request& request, std::string_view origin) const;
  bool has_right_key(const http::Request& request) const;

  const AccessOptions options_;
  const std::string host_name_;
  mutable std::mutex mutex_;
  std::vector<std::string> keys_;
};

// Whether a host of this name is this machine for a request that came over loopback: any address,
// which no name server can turn to another machine, and names that only this one has.
bool is_local_name(std::string_view host);

}  // namespace pippin::server
