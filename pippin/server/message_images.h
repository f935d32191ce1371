// Images and videos in the messages of a request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/image_marks.h"
#include "pippin/chat/value.h"
#include "pippin/io/json.h"

namespace pippin::server {

// The images of one request, in the order of its messages.
class MessageImages {
 public:
  struct Image {
    std::string place;     // "messages[0].content[1]", for error messages
    std::string type;      // the client's name of the part: "image_url"
    std::string bytes;     // of the file; empty: at `url`
    std::string url = {};  // http or https
    // A video: `bytes`, or else a file for each frame.
    bool is_video = false;
    std::vector<std::string> frames = {};
  };

  // Each adds an image, or a video, and returns its mark. They throw ApiError(400) for more images
  // than a request may have, for a URL that is neither http, https nor data, and for invalid
  // base64.
  std::string add_url(const std::string& url, const std::string& place, const std::string& type);
  std::string add_base64(std::string_view text, const std::string& place, const std::string& type);
  // OpenAI's part {"type": "image_url", "image_url": {"url": ...}}.
  std::string add_openai(const Json& part, const std::string& place);
  // vLLM's part {"type": "video_url", "video_url": {"url": ...}}, a data URL of an animation, or of
  // frames whose base64 has commas between them.
  std::string add_video(const Json& part, const std::string& place);
  // Anthropic's block {"type": "image", "source": {"type": "base64" or "url", ...}}.
  std::string add_anthropic(const Json& block, const std::string& place);

  // Returns the files of the images with these numbers, and fetches those at URLs. Throws
  // ApiError(400) for a URL that cannot be read, or if URLs are not allowed.
  std::vector<std::string> bytes_of(const std::vector<size_t>& order, bool allows_urls) const;

  bool empty() const { return images_.empty(); }
  const std::vector<Image>& images() const { return images_; }
  const chat::ImageMarks& marks() const { return marks_; }

 private:
  std::string add(Image image);

  chat::ImageMarks marks_;
  std::vector<Image> images_;
};

// The messages of a request, with marks of their images.
struct ChatInput {
  chat::Value messages;
  MessageImages images;
};

}  // namespace pippin::server
