// URL functions for following redirects safely.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pippin::hub {

struct Url {
  std::string scheme;     // lower case: "http" or "https"
  std::string authority;  // as written: host[:port], never with a user
  std::string rest;       // from the path on; at least "/"

  std::string text() const { return scheme + "://" + authority + rest; }
  // Scheme, host and explicit port, which identify the receiver of a request.
  std::string origin() const;
  std::string host() const;
};

// Returns nothing unless the text is an absolute http or https URL, without a user, spaces and
// control characters.
std::optional<Url> parse_url(std::string_view text);

// Resolves a Location header against `base`: absolute, //host/path, /path or relative. Returns
// nothing if the result is not an http or https URL.
std::optional<Url> resolve_url(const Url& base, std::string_view location);

// Percent-encodes everything except letters, digits, "_.-~" and the characters in `keep`.
std::string quote_url(std::string_view text, std::string_view keep = "/");

}  // namespace pippin::hub
