// The few things about URLs that following a redirect safely needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pippin::hub {

struct Url {
  std::string scheme;     // lower case: "http" or "https"
  std::string authority;  // as written: host[:port], never with a user
  std::string rest;       // from the path on; "/" at least

  std::string text() const { return scheme + "://" + authority + rest; }
  // Scheme, host and port together, with the port spelled out: who receives a request.
  std::string origin() const;
  std::string host() const;
};

// Nothing for anything that is not an absolute http or https URL, that names a user, or has spaces
// or control characters.
std::optional<Url> parse_url(std::string_view text);

// Where a Location header leads from `base`: absolute, //host/path, /path or relative. Nothing
// where that is no http or https URL.
std::optional<Url> resolve_url(const Url& base, std::string_view location);

// Percent-encodes all but letters, digits and "_.-~", and all of `keep`.
std::string quote_url(std::string_view text, std::string_view keep = "/");

}  // namespace pippin::hub
