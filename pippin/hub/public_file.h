// Files that the clients of a server name by URL.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace pippin::hub {

struct PublicFileLimits {
  size_t max_bytes = size_t{20} << 20;
  std::chrono::seconds deadline{10};  // for all redirects together
  // Of tests: loopback and private addresses as well.
  bool allows_private = false;
};

// Returns the content of an http or https URL, after at most 3 redirects. Sends no token. Throws
// InvalidArgument for another URL, Network for a host without public address, another answer than
// 200, a larger content and a late one, Cancelled.
std::string read_public_file(const std::string& url, const PublicFileLimits& limits = {});

}  // namespace pippin::hub
