#include "pippin/http/multipart.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/base/text.h"
#include "pippin/http/parameters.h"

namespace pippin::http {

namespace {

constexpr std::string_view kLineEnd = "\r\n";

template <typename... Args>
[[noreturn]] void fail_part(size_t number, fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorCode::InvalidArgument, "multipart/form-data: part {}: {}", number,
       fmt::format(format, std::forward<Args>(args)...));
}

std::string boundary_of(std::string_view content_type) {
  constexpr size_t kMaxLength = 70;
  constexpr std::string_view kSymbols = "'()+_,-./:=? ";
  const auto parsed = parse_parameters(content_type);
  const auto boundary = parsed ? parsed->find("boundary") : std::nullopt;
  if (!boundary || boundary->empty()) {
    fail(ErrorCode::InvalidArgument, "multipart/form-data: the Content-Type has no boundary");
  }
  const bool is_valid = boundary->size() <= kMaxLength && boundary->back() != ' ' &&
                        ranges::all_of(*boundary, [&](char c) {
                          return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                 (c >= 'A' && c <= 'Z') ||
                                 kSymbols.find(c) != std::string_view::npos;
                        });
  if (!is_valid) {
    fail(ErrorCode::InvalidArgument,
         "multipart/form-data: the boundary has {} bytes (at most {}) or other characters than "
         "letters, digits and {}",
         boundary->size(), kMaxLength, kSymbols);
  }
  return std::string(*boundary);
}

// Returns UTF-8 text of one line without control characters.
std::string checked_text(std::string text, std::string_view what, size_t number) {
  const bool is_printable =
      ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 127; });
  if (!is_printable || !is_valid_utf8(text)) fail_part(number, "{} is not UTF-8 text", what);
  return text;
}

// Browsers write quotes in names as %22, and leave other percent signs as they are.
std::string with_quotes(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_quote = text.substr(i).starts_with("%22");
    result += is_quote ? '"' : text[i];
    if (is_quote) i += 2;
  }
  return result;
}

// Decodes "UTF-8''na%C3%AFve.wav" (RFC 8187).
std::string decode_extended(std::string_view text, size_t number) {
  const size_t first = text.find('\'');
  const size_t second = first == std::string_view::npos ? first : text.find('\'', first + 1);
  if (second == std::string_view::npos || lower_case(text.substr(0, first)) != "utf-8") {
    fail_part(number, "filename* is not of the form UTF-8''NAME");
  }
  text = text.substr(second + 1);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = static_cast<unsigned char>(text[i]);
    if (text[i] == '%') {
      if (i + 2 >= text.size() || !parse_number(text.substr(i + 1, 2), value, 16)) {
        fail_part(number, "filename* has an invalid escape");
      }
      i += 2;
    }
    result += static_cast<char>(value);
  }
  return result;
}

void read_disposition(std::string_view value, size_t number, FormPart& part) {
  const auto parsed = parse_parameters(value);
  if (!parsed || parsed->value != "form-data") {
    fail_part(number, "the Content-Disposition is not form-data with parameters");
  }
  const auto name = parsed->find("name");
  if (!name) fail_part(number, "the Content-Disposition has no name");
  part.name = checked_text(with_quotes(*name), "the name", number);
  const auto file_name = parsed->find("filename");
  const auto extended = parsed->find("filename*");
  if (!file_name && !extended) return;
  part.file_name =
      checked_text(extended ? decode_extended(*extended, number) : with_quotes(*file_name),
                   "the file name", number);
}

// Reads the header lines, each of which ends with CR LF.
FormPart read_headers(std::string_view headers, size_t number) {
  FormPart part;
  bool has_disposition = false;
  while (!headers.empty()) {
    const size_t end = headers.find(kLineEnd);
    const std::string_view line = headers.substr(0, end);
    headers = headers.substr(end + kLineEnd.size());
    const size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos || line.front() == ' ' ||
        line.front() == '\t') {
      fail_part(number, "a header line is not of the form NAME: VALUE");
    }
    const std::string name = lower_case(line.substr(0, colon));
    const std::string_view value = line.substr(colon + 1);
    if (name == "content-disposition") {
      if (has_disposition) fail_part(number, "has two Content-Dispositions");
      has_disposition = true;
      read_disposition(value, number, part);
    } else if (name == "content-type") {
      const size_t begin = std::min(value.find_first_not_of(" \t"), value.size());
      part.content_type = checked_text(std::string(value.substr(begin)), "the type", number);
    } else if (name == "content-transfer-encoding") {
      const auto encoding = parse_parameters(value);
      const std::string text = encoding ? encoding->value : "";
      if (text != "binary" && text != "8bit" && text != "7bit") {
        fail_part(number, "the Content-Transfer-Encoding is not binary, 8bit or 7bit");
      }
    }
  }
  if (!has_disposition) fail_part(number, "has no Content-Disposition");
  return part;
}

// Takes the rest of a boundary's line. Returns false after the last boundary.
bool take_boundary_end(std::string_view& rest, size_t number) {
  if (rest.starts_with("--")) return false;
  rest = rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()));
  if (!rest.starts_with(kLineEnd)) {
    fail_part(number, "its boundary is not followed by a line end (CR LF)");
  }
  rest = rest.substr(kLineEnd.size());
  return true;
}

std::string_view take_headers(std::string_view& rest, size_t number, size_t max_bytes) {
  // Without headers, the empty line is the first.
  const size_t end =
      rest.starts_with(kLineEnd) ? 0 : rest.substr(0, max_bytes + 4).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (rest.size() > max_bytes) {
      fail(ErrorCode::LimitExceeded, "multipart/form-data: part {}: more than {} bytes of headers",
           number, max_bytes);
    }
    fail_part(number, "no empty line (CR LF) ends the headers");
  }
  const std::string_view headers = rest.substr(0, end == 0 ? 0 : end + kLineEnd.size());
  rest = rest.substr(headers.size() + kLineEnd.size());
  return headers;
}

}  // namespace

bool is_form(std::string_view content_type) {
  return lower_case(content_type.substr(0, content_type.find_first_of("; \t"))) ==
         "multipart/form-data";
}

std::vector<FormPart> parse_form(std::string_view content_type, std::string_view body,
                                 const FormLimits& limits) {
  const std::string boundary = fmt::format("\r\n--{}", boundary_of(content_type));
  // The first boundary may have a text before it, or the line end may be the end of the head.
  const std::string_view first = std::string_view(boundary).substr(kLineEnd.size());
  std::string_view rest = body;
  if (body.starts_with(first)) {
    rest = body.substr(first.size());
  } else {
    const size_t begin = body.find(boundary);
    if (begin == std::string_view::npos) {
      fail(ErrorCode::InvalidArgument,
           "multipart/form-data: the body ({} bytes) does not have the boundary {}", body.size(),
           first);
    }
    rest = body.substr(begin + boundary.size());
  }
  std::vector<FormPart> parts;
  while (take_boundary_end(rest, parts.size() + 1)) {
    const size_t number = parts.size() + 1;
    if (number > limits.max_parts) {
      fail(ErrorCode::LimitExceeded, "multipart/form-data: more than {} parts", limits.max_parts);
    }
    FormPart part = read_headers(take_headers(rest, number, limits.max_header_bytes), number);
    // The line end of an empty part may be that of its boundary.
    const bool is_empty = rest.starts_with(first);
    const size_t end = is_empty ? 0 : rest.find(boundary);
    if (end == std::string_view::npos) {
      fail_part(number, "the body ends without the boundary {}", first);
    }
    part.content = rest.substr(0, end);
    rest = rest.substr(end + (is_empty ? first.size() : boundary.size()));
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace pippin::http
