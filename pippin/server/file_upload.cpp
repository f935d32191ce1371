#include "pippin/server/file_upload.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/text.h"
#include "pippin/http/multipart.h"
#include "pippin/server/api_error.h"
#include "pippin/server/message_fields.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

constexpr std::array<std::string_view, 6> kPurposes = {"assistants", "batch",     "fine-tune",
                                                       "vision",     "user_data", "evals"};
constexpr size_t kLongestName = 255;

// Returns null if the form lacks the part.
const http::FormPart* find_part(const std::vector<http::FormPart>& parts, std::string_view name) {
  const auto is_it = [&](const http::FormPart& part) { return part.name == name; };
  if (std::count_if(parts.begin(), parts.end(), is_it) > 1) {
    refuse_at(std::string(name), "is given several times");
  }
  const auto found = std::find_if(parts.begin(), parts.end(), is_it);
  return found == parts.end() ? nullptr : &*found;
}

std::string read_purpose(const std::vector<http::FormPart>& parts) {
  const http::FormPart* const purpose = find_part(parts, "purpose");
  if (purpose == nullptr) refuse_at("purpose", "is missing");
  if (std::find(kPurposes.begin(), kPurposes.end(), purpose->content) == kPurposes.end()) {
    refuse_at("purpose", fmt::format("{} is not one of {}", shown(purpose->content),
                                     fmt::join(kPurposes, ", ")));
  }
  return std::string(purpose->content);
}

// Returns 0 for a form without an expiry.
int64_t read_form_expiry(const std::vector<http::FormPart>& parts) {
  const http::FormPart* const anchor = find_part(parts, "expires_after[anchor]");
  const http::FormPart* const seconds = find_part(parts, "expires_after[seconds]");
  if (anchor == nullptr && seconds == nullptr) return 0;
  int64_t number = 0;
  if (seconds == nullptr || !parse_number(seconds->content, number)) {
    refuse_at("expires_after[seconds]", "expected a number");
  }
  check_expiry(anchor == nullptr ? "" : anchor->content, number, "expires_after");
  return number;
}

// Clients may send a path.
std::string file_name_of(const http::FormPart& part) {
  const std::string name = part.file_name.value_or("");
  const std::string last = name.substr(name.find_last_of("/\\") + 1);  // npos + 1 is 0
  if (last.size() > kLongestName) {
    refuse_at("file", fmt::format("its name has {} bytes, at most {}", last.size(), kLongestName));
  }
  return last.empty() ? "file" : last;
}

}  // namespace

void check_expiry(std::string_view anchor, int64_t seconds, std::string_view field) {
  constexpr int64_t kLeast = 3600, kMost = 2'592'000;
  if (anchor != "created_at") {
    refuse_at(fmt::format("{}.anchor", field), "expected \"created_at\"");
  }
  if (seconds < kLeast || seconds > kMost) {
    refuse_at(fmt::format("{}.seconds", field),
              fmt::format("{} is not from {} to {}", seconds, kLeast, kMost));
  }
}

int64_t read_expiry(const Json& expiry, std::string_view field) {
  const std::string place(field);
  if (!expiry.is_object()) refuse_at(place, "expected an object");
  const std::string anchor = find_string(expiry, "anchor").value_or("");
  const auto seconds = find_int(expiry, "seconds");
  if (!seconds) refuse_at(place + ".seconds", "is missing");
  check_expiry(anchor, *seconds, field);
  return *seconds;
}

FileUpload read_upload(const http::Request& request, uint64_t most) {
  const std::string_view type = request.header("content-type");
  if (!http::is_form(type)) {
    throw ApiError(415, "the request must be a form with a file (multipart/form-data)");
  }
  const std::vector<http::FormPart> parts =
      read_field("", [&] { return http::parse_form(type, request.body); });
  const http::FormPart* const file = find_part(parts, "file");
  if (file == nullptr || !file->file_name) refuse_at("file", "is missing");
  if (file->content.size() > most) {
    throw ApiError(413,
                   fmt::format("file: has {}, at most {} (--max-file)",
                               format_bytes(file->content.size()), format_bytes(most)),
                   "file");
  }
  FileUpload upload{.file = {}, .content = file->content};
  upload.file.name = file_name_of(*file);
  upload.file.purpose = read_purpose(parts);
  upload.file.created_ns = time_ns();
  if (const int64_t seconds = read_form_expiry(parts); seconds > 0) {
    upload.file.expires_at = upload.file.created_at() + seconds;
  }
  return upload;
}

}  // namespace pippin::server
