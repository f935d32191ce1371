#include "pippin/hub/url.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace pippin::hub {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Returns the position of the port's colon in host[:port] or [::1][:port].
size_t port_colon(std::string_view authority) {
  const size_t bracket = authority.find(']');
  return authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
}

}  // namespace

std::string Url::host() const {
  return lower(std::string_view(authority).substr(0, port_colon(authority)));
}

std::string Url::origin() const {
  const size_t colon = port_colon(authority);
  std::string port = scheme == "https" ? "443" : "80";
  if (colon != std::string::npos && colon + 1 < authority.size()) {
    port = authority.substr(colon + 1);
  }
  return scheme + "://" + host() + ":" + port;
}

std::optional<Url> parse_url(std::string_view text) {
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '\\';
  });
  Url url;
  url.scheme = lower(text.substr(0, colon));
  if (!printable || (url.scheme != "http" && url.scheme != "https")) return std::nullopt;
  text.remove_prefix(colon + 3);
  const size_t end = text.find_first_of("/?#");
  url.authority = text.substr(0, end);
  // A user name could hold a secret, or make another host look like the right one.
  if (url.host().empty() || url.authority.find('@') != std::string::npos) return std::nullopt;
  const std::string_view rest = end == std::string_view::npos ? "" : text.substr(end);
  url.rest = rest.substr(0, rest.find('#'));
  if (!url.rest.starts_with('/')) url.rest.insert(0, "/");
  return url;
}

std::optional<Url> resolve_url(const Url& base, std::string_view location) {
  if (location.empty()) return std::nullopt;
  if (location.starts_with("//")) {
    return parse_url(fmt::format("{}:{}", base.scheme, location));
  }
  const std::string root = base.scheme + "://" + base.authority;
  if (location.starts_with('/')) return parse_url(fmt::format("{}{}", root, location));
  const size_t colon = location.find(':');
  if (colon != std::string_view::npos && colon < location.find_first_of("/?#")) {
    return parse_url(location);  // it has a scheme
  }
  const std::string path = base.rest.substr(0, base.rest.find('?'));
  if (location.starts_with('?')) return parse_url(fmt::format("{}{}{}", root, path, location));
  return parse_url(fmt::format("{}{}{}", root, path.substr(0, path.rfind('/') + 1), location));
}

std::string quote_url(std::string_view text, std::string_view keep) {
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                       c == '-' || c == '~' || keep.find(c) != std::string_view::npos;
    if (plain && static_cast<unsigned char>(c) < 0x80) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace pippin::hub
