#include "pippin/base/stand_in.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"

namespace pippin {
namespace {

// The specification limits pointers to this size.
constexpr size_t kLargestPointer = 1024;

std::string_view line_after(std::string_view text, std::string_view key) {
  const size_t found = text.find(key);
  if (found == text.npos) return {};
  text.remove_prefix(found + key.size());
  return text.substr(0, text.find_first_of("\r\n"));
}

// `beginning` must be in lower case.
bool begins_with(std::string_view text, std::string_view beginning) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), text.begin(),
                    [&](char wanted, char c) { return wanted == lower(c); });
}

}  // namespace

void refuse_lfs_pointer(ByteSpan bytes, const std::filesystem::path& path) {
  if (bytes.size() >= kLargestPointer) return;
  const std::string_view text = as_text(bytes);
  // The second was Git LFS's earlier name.
  if (!text.starts_with("version https://git-lfs.github.com/spec/") &&
      !text.starts_with("version https://hawser.github.com/spec/")) {
    return;
  }
  const std::string_view size = line_after(text, "\nsize ");
  fail(ErrorCode::InvalidFile,
       "{}: a Git LFS pointer, which stands for a file of {} bytes; `git lfs pull` in its "
       "repository fetches the file",
       path.filename().string(), size.empty() ? "unknown" : size);
}

void refuse_page(ByteSpan bytes, const std::filesystem::path& path) {
  std::string_view text = as_text(bytes.first(std::min<size_t>(bytes.size(), 256)));
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const bool is_html = begins_with(text, "<!doctype html") || begins_with(text, "<html");
  if (!is_html && !begins_with(text, "<?xml")) return;
  fail(
      ErrorCode::InvalidFile,
      "{}: {}, not a model's file: the answer of a server (a login, an error) was saved under this "
      "name; download the file again",
      path.filename().string(), is_html ? "an HTML page" : "an XML document");
}

}  // namespace pippin
