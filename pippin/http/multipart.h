// Reads forms with files, as browsers and HTTP clients send them: bodies of the type
// multipart/form-data (RFC 7578).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::http {

// A field of a form.
struct FormPart {
  std::string name;
  std::optional<std::string> file_name;  // of a file, as the client names it; may be empty
  std::string content_type;              // as the client states it; empty if it does not
  std::string_view content;              // a part of the body
};

struct FormLimits {
  size_t max_parts = 1000;
  size_t max_header_bytes = size_t{16} << 10;  // of one part
};

// Returns whether a Content-Type is multipart/form-data.
bool is_form(std::string_view content_type);

// Returns the parts in order, of which several may have one name. `body` must outlive them. Throws
// InvalidArgument for malformed bodies, and LimitExceeded; messages name the part by its number,
// from 1.
std::vector<FormPart> parse_form(std::string_view content_type, std::string_view body,
                                 const FormLimits& limits = {});

}  // namespace pippin::http
