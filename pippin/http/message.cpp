#include "pippin/http/message.h"

#include <algorithm>

#include "pippin/base/numbers/number.h"
#include "pippin/base/text.h"

namespace pippin::http {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Returns false for invalid escapes and for bytes that are not text.
bool decode(std::string_view text, bool plus_is_blank, std::string& out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out += ' ';
    } else if (text[i] == '%') {
      unsigned value = 0;
      if (i + 2 >= text.size() || !parse_number(text.substr(i + 1, 2), value, 16)) return false;
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out.find('\0') == std::string::npos && is_valid_utf8(out);
}

// Clients join a base URL and a path in different ways: "//v1/models", "/v1/models/".
void drop_empty_segments(std::string& path) {
  const auto both_slashes = [](char a, char b) { return a == '/' && b == '/'; };
  path.erase(std::unique(path.begin(), path.end(), both_slashes), path.end());
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
}

}  // namespace

std::string_view find_field(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields) {
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(),
                   [](char a, char b) { return lower(a) == lower(b); })) {
      return value;
    }
  }
  return {};
}

bool split_target(std::string_view target, Request& request) {
  // A request to a proxy includes the host.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/')) return false;
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  if (!decode(target.substr(0, mark), false, request.path)) return false;
  drop_empty_segments(request.path);
  request.query.clear();
  if (mark == std::string_view::npos) return true;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    std::string key, value;
    if (!decode(pair.substr(0, equals), true, key)) return false;
    if (equals != std::string_view::npos && !decode(pair.substr(equals + 1), true, value)) {
      return false;
    }
    request.query.emplace_back(std::move(key), std::move(value));
  }
  return true;
}

Fields fields_in(std::string_view head) {
  // RFC 9110 section 5.6.2.
  constexpr std::string_view kToken =
      "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kBlanks = " \t\r";
  Fields fields;
  for (size_t end = head.find('\n'); end != std::string_view::npos; end = head.find('\n')) {
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 1);
    const std::string_view name = line.substr(0, line.find(':'));
    if (name.empty() || name.size() == line.size() ||
        name.find_first_not_of(kToken) != std::string_view::npos) {
      continue;
    }
    std::string_view value = line.substr(name.size() + 1);
    value.remove_prefix(std::min(value.find_first_not_of(kBlanks), value.size()));
    value = value.substr(0, value.find_last_not_of(kBlanks) + 1);
    fields.emplace_back(name, value);
  }
  return fields;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

}  // namespace pippin::http
