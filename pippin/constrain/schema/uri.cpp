#include "pippin/constrain/schema/uri.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace pippin::constrain {

namespace {

// "scheme", "//authority", "path", "?query" of a URI.
struct UriParts {
  std::string_view scheme, authority, path, query;
};

UriParts split(std::string_view uri) {
  UriParts parts;
  const size_t colon = uri.find_first_of(":/?#");
  if (colon != std::string_view::npos && colon > 0 && uri[colon] == ':') {
    parts.scheme = uri.substr(0, colon + 1);
    uri.remove_prefix(colon + 1);
  }
  if (uri.starts_with("//")) {
    const size_t end = std::min(uri.find_first_of("/?", 2), uri.size());
    parts.authority = uri.substr(0, end);
    uri.remove_prefix(end);
  }
  const size_t query = std::min(uri.find('?'), uri.size());
  parts.path = uri.substr(0, query);
  parts.query = uri.substr(query);
  return parts;
}

std::string without_dots(std::string_view path) {
  std::vector<std::string_view> segments;
  bool ends_open = false;  // the path ends in "." or ".."
  for (size_t i = 0; i <= path.size();) {
    const size_t end = std::min(path.find('/', i), path.size());
    const std::string_view segment = path.substr(i, end - i);
    ends_open = segment == "." || segment == "..";
    if (segment == ".." && segments.size() > 1) segments.pop_back();
    if (!ends_open) segments.push_back(segment);
    i = end + 1;
  }
  std::string result;
  for (size_t i = 0; i < segments.size(); ++i) result.append(i == 0 ? "" : "/").append(segments[i]);
  if (ends_open) result += '/';
  return result;
}

std::string decoded(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0) {
      result += static_cast<char>(16 * digit(text[i + 1]) + digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

Uri resolve_uri(std::string_view base, std::string_view reference) {
  Uri result;
  if (const size_t hash = reference.find('#'); hash != std::string_view::npos) {
    result.fragment = decoded(reference.substr(hash + 1));
    reference = reference.substr(0, hash);
  }
  const UriParts from = split(base), to = split(reference);
  const auto join = [](const UriParts& head, std::string_view authority, const std::string& path,
                       std::string_view query) {
    return std::string(head.scheme).append(authority).append(path).append(query);
  };
  if (reference.empty()) {
    result.absolute = base;
  } else if (!to.scheme.empty()) {
    result.absolute = to.path.starts_with('/')
                          ? join(to, to.authority, without_dots(to.path), to.query)
                          : std::string(reference);
  } else if (!to.authority.empty()) {
    result.absolute = join(from, to.authority, without_dots(to.path), to.query);
  } else if (to.path.empty()) {
    result.absolute = join(from, from.authority, std::string(from.path), to.query);
  } else if (to.path.starts_with('/')) {
    result.absolute = join(from, from.authority, without_dots(to.path), to.query);
  } else {
    const size_t slash = from.path.rfind('/');
    std::string path(slash == std::string_view::npos ? "" : from.path.substr(0, slash + 1));
    if (path.empty() && !from.authority.empty()) path = "/";
    result.absolute = join(from, from.authority, without_dots(path.append(to.path)), to.query);
  }
  return result;
}

}  // namespace pippin::constrain
