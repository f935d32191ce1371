#include "pippin/server/page_response.h"

#include <algorithm>
#include <string>

namespace pippin::server {
namespace {

// Only the page's own files run, and nothing is fetched from elsewhere. No script can turn text
// into elements (trusted types): the output of models never becomes HTML.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// Whether `matches` is true for an item of "a, b;q=0.5".
template <typename Matches>
bool any_item(std::string_view list, Matches matches) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    if (matches(without_blanks(item))) return true;
  }
  return false;
}

bool takes_gzip(std::string_view accepted) {
  return any_item(accepted, [](std::string_view item) {
    const std::string_view name = without_blanks(item.substr(0, item.find(';')));
    if (name != "gzip" && name != "*") return false;
    const size_t weight = item.find("q=");
    return weight == std::string_view::npos ||
           item.substr(weight + 2).find_first_of("123456789") != std::string_view::npos;
  });
}

}  // namespace

bool wants_page(const http::Request& request) {
  return any_item(request.header("accept"), [](std::string_view item) {
    return without_blanks(item.substr(0, item.find(';'))) == "text/html";
  });
}

http::Response page_response(const page::File& file, const http::Request& request) {
  const bool is_packed = takes_gzip(request.header("accept-encoding"));
  const std::string tag = "\"" + std::string(file.digest) + (is_packed ? "-gzip\"" : "\"");
  http::Response response{.content_type = std::string(file.content_type)};
  // A file's path identifies its content; the page's path does not.
  response.headers = {
      {"etag", tag},
      {"vary", file.path == "/" ? "accept, accept-encoding" : "accept-encoding"},
      {"cache-control", file.path == "/" ? "no-cache" : "public, max-age=31536000, immutable"},
      {"content-security-policy", kPolicy},
      {"cross-origin-opener-policy", "same-origin"},
      {"cross-origin-resource-policy", "same-origin"},
      {"referrer-policy", "no-referrer"},
      {"x-content-type-options", "nosniff"}};
  const bool is_known = any_item(request.header("if-none-match"), [&](std::string_view item) {
    return item == "*" || (item.starts_with("W/") ? item.substr(2) : item) == tag;
  });
  if (is_known) {
    response.status = 304;
    return response;
  }
  if (is_packed) response.headers.emplace_back("content-encoding", "gzip");
  response.body = is_packed ? file.gzip : file.plain;
  return response;
}

}  // namespace pippin::server
