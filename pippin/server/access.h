// Access control: API keys, accepted names of this server, and web pages that may send requests.
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
  std::filesystem::path key_file;    // one key per line, # for comments; empty: none
  std::vector<std::string> origins;  // of pages that may send requests; "*": all
  std::vector<std::string> hosts;    // additional names of this server
};

// Thread-safe.
class Access {
 public:
  // Throws NotFound or Io; InvalidFile if the key file has no key.
  explicit Access(AccessOptions options);

  // Reads the key file again. On failure it throws and keeps the previous keys.
  void reload();
  bool has_keys() const;

  // Returns nothing if the request is allowed, else the error. `is_public` requests need no key.
  std::optional<ApiError> check(const http::Request& request, bool is_public) const;
  // Returns the CORS headers of the answer or refusal to an allowed page; none for other pages.
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

// Returns whether a host of this name is this machine, for a request over loopback: any IP address,
// which no name server can redirect, and the names that only this machine has.
bool is_local_name(std::string_view host);

}  // namespace pippin::server
