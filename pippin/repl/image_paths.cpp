#include "pippin/repl/image_paths.h"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/base64.h"
#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/lower_case.h"
#include "pippin/io/frame_files.h"

namespace pippin::repl {
namespace {

constexpr size_t kLargestImage = size_t{20} << 20;

// Endings and media types.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kImageTypes = {{
    {".png", "png"},
    {".jpg", "jpeg"},
    {".jpeg", "jpeg"},
    {".webp", "webp"},
    {".gif", "gif"},
    {".bmp", "bmp"},
    {".heic", "heic"},
    {".heif", "heif"},
    {".ppm", "x-portable-pixmap"},
}};

std::optional<std::string_view> image_type(const std::filesystem::path& file) {
  const std::string ending = to_lower(file.extension().string());
  const auto found = std::find_if(kImageTypes.begin(), kImageTypes.end(),
                                  [&](const auto& type) { return type.first == ending; });
  if (found == kImageTypes.end()) return std::nullopt;
  return found->second;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

// A word of a message: its range, and the path that it may be.
struct Word {
  size_t begin, end;
  std::string path;
};

Word word_at(std::string_view text, size_t begin) {
  Word word{begin, begin, {}};
  char quote = '\0';
  for (; word.end < text.size(); ++word.end) {
    const char c = text[word.end];
    if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote == '\0' && word.end == begin && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote == '\0' && c == '\\' && word.end + 1 < text.size()) {
      word.path += text[++word.end];
    } else if (quote == '\0' && is_blank(c)) {
      break;
    } else {
      word.path += c;
    }
  }
  return word;
}

bool is_image_file(const std::string& path) {
  std::error_code ignored;
  return image_type(path) && std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

std::string image_url(const std::filesystem::path& file) {
  const auto type = image_type(file);
  if (!type) {
    fail(ErrorCode::InvalidArgument,
         "{}: not the name of an image (png, jpg, webp, gif, bmp, heic, ppm)", file.string());
  }
  const std::string bytes = read_file(file, kLargestImage);
  return fmt::format("data:image/{};base64,{}", *type, encode_base64(as_byte_span(bytes)));
}

std::string video_url(const std::filesystem::path& path) {
  const FrameFiles video = read_frame_files(path, kLargestImage);
  std::string base64 = encode_base64(as_byte_span(video.animation));
  for (const std::string& frame : video.frames) {
    if (!base64.empty()) base64 += ',';
    base64 += encode_base64(as_byte_span(frame));
  }
  return fmt::format("{}{};base64,{}", kVideoUrl, video.frames.empty() ? "gif" : "jpeg", base64);
}

bool begins_with_image(std::string_view message) {
  return is_image_file(word_at(message, 0).path);
}

std::vector<std::string> take_images(std::string& message) {
  std::vector<std::string> images;
  std::string text;
  for (size_t at = 0; at < message.size();) {
    if (is_blank(message[at])) {
      text += message[at++];
      continue;
    }
    const Word word = word_at(message, at);
    if (is_image_file(word.path)) {
      images.push_back(image_url(word.path));
    } else {
      text.append(message, word.begin, word.end - word.begin);
    }
    at = word.end;
  }
  if (!images.empty()) {
    const auto first = std::find_if_not(text.begin(), text.end(), is_blank);
    text.erase(text.begin(), first);
    while (!text.empty() && is_blank(text.back())) text.pop_back();
    message = std::move(text);
  }
  return images;
}

}  // namespace pippin::repl
