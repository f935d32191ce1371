#include "pippin/server/access.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"

namespace pippin::server {
namespace {

constexpr size_t kMaxKeyFileBytes = size_t{1} << 20;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string name_of_this_machine() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return lower(name.data());
}

// "example.org:8080" and "[::1]:8080" without their ports.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

std::vector<std::string> read_keys(const std::filesystem::path& path) {
  const std::string text = read_file(path, kMaxKeyFileBytes);
  std::vector<std::string> keys;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    constexpr std::string_view kBlanks = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (!line.empty() && line.front() != '#') keys.emplace_back(line);
  }
  if (keys.empty()) fail(ErrorCode::InvalidFile, "{}: has no key in it", path.string());
  return keys;
}

using Sha256 = std::array<unsigned char, SHA256_DIGEST_LENGTH>;
Sha256 sha256(std::string_view text) {
  Sha256 digest;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

}  // namespace

bool is_local_name(std::string_view host) {
  const std::string name = lower(without_port(host));
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, name.c_str(), &v4) == 1) return true;
  if (!name.starts_with('[') || !name.ends_with(']')) return false;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &v6) == 1;
}

Access::Access(AccessOptions options)
    : options_(std::move(options)), host_name_(name_of_this_machine()) {
  reload();
}

void Access::reload() {
  std::vector<std::string> keys = options_.keys;
  if (!options_.key_file.empty()) {
    for (auto& key : read_keys(options_.key_file)) keys.push_back(std::move(key));
  }
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
}

bool Access::has_keys() const {
  const std::lock_guard lock(mutex_);
  return !keys_.empty();
}

bool Access::is_known_host(std::string_view host) const {
  const std::string name = lower(without_port(host));
  if (is_local_name(host) || (!host_name_.empty() && name == host_name_)) return true;
  return std::any_of(options_.hosts.begin(), options_.hosts.end(),
                     [&](const std::string& known) { return lower(known) == name; });
}

bool Access::is_allowed_origin(const http::Request& request, std::string_view origin) const {
  for (const std::string& allowed : options_.origins) {
    if (allowed == "*" || lower(allowed) == lower(origin)) return true;
  }
  // A page of this server.
  const size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && origin.substr(scheme + 3) == request.header("host");
}

// Compares all keys, by their digests, so that the time reveals nothing about them.
bool Access::has_right_key(const http::Request& request) const {
  std::string_view given = request.header("x-api-key");
  const std::string_view authorization = request.header("authorization");
  if (lower(authorization.substr(0, 7)) == "bearer ") given = authorization.substr(7);
  const Sha256 digest = sha256(given);
  const std::lock_guard lock(mutex_);
  bool is_right = false;
  for (const std::string& key : keys_) {
    const Sha256 wanted = sha256(key);
    if (CRYPTO_memcmp(digest.data(), wanted.data(), digest.size()) == 0) is_right = true;
  }
  return is_right;
}

std::optional<ApiError> Access::check(const http::Request& request, bool is_public) const {
  const std::string_view host = request.header("host");
  // Any web page can make a host name of its own resolve to this machine; only its Host header
  // reveals that (DNS rebinding). A missing key does too, unless a proxy on this machine adds one.
  const bool checks_host = request.place == http::PeerPlace::Loopback ||
                           (request.place == http::PeerPlace::Elsewhere && !has_keys());
  if (checks_host && !host.empty() && !is_known_host(host)) {
    return ApiError(
        403, fmt::format("the host name {} is not allowed (see --allow-host)", without_port(host)));
  }
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !is_allowed_origin(request, origin)) {
    return ApiError(403, fmt::format("the origin {} is not allowed (see --origin)", origin));
  }
  if (is_public || request.method == "OPTIONS" || !has_keys() || has_right_key(request)) {
    return std::nullopt;
  }
  return ApiError(401, "a key is needed: Authorization: Bearer KEY, or X-Api-Key: KEY", {},
                  "invalid_api_key");
}

http::Fields Access::headers_for(const http::Request& request) const {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !is_allowed_origin(request, origin)) return {};
  http::Fields fields{{"access-control-allow-origin", std::string(origin)}, {"vary", "origin"}};
  fields.emplace_back("access-control-expose-headers",
                      "x-request-id, retry-after, x-should-retry, x-ignored-fields");
  if (request.method == "OPTIONS") {
    fields.emplace_back("access-control-allow-methods", "GET, POST, DELETE, OPTIONS");
    const std::string_view wanted = request.header("access-control-request-headers");
    fields.emplace_back("access-control-allow-headers",
                        wanted.empty() ? "authorization, content-type" : std::string(wanted));
    fields.emplace_back("access-control-max-age", "600");
  }
  return fields;
}

}  // namespace pippin::server
