// Values of header fields with parameters: `form-data; name="file"; filename="a.wav"`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pippin::http {

struct ParameterizedValue {
  std::string value;                                            // in lower case
  std::vector<std::pair<std::string, std::string>> parameters;  // names in lower case

  // Returns nothing if there is no such parameter.
  std::optional<std::string_view> find(std::string_view name) const;
};

// Parses tokens and quoted strings (RFC 9110, 5.6). In quoted strings, a backslash only escapes a
// quote and a backslash: names of files have others. Returns nothing for invalid text and repeated
// parameters.
std::optional<ParameterizedValue> parse_parameters(std::string_view text);

// Returns the text with its ASCII letters in lower case.
std::string lower_case(std::string_view text);

}  // namespace pippin::http
