// Marks of images and videos in the texts of messages.
//
// While messages are read, joined and moved, an image or a video is a mark in the text of its
// message, which no writer of a text can guess. Before a template renders them, with_parts() turns
// such texts into lists of parts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/chat/value.h"

namespace pippin::chat {

class ImageMarks {
 public:
  ImageMarks();

  // Returns the mark of the image, or video, with this number.
  std::string mark(size_t number, bool video = false) const;

  // Returns the messages with a list of parts, {"type": "text", "text": ...}, {"type": "image"} and
  // {"type": "video"}, in place of each content that has marks. `order` receives the images'
  // numbers in the order of the result. The part of a video is a text, `video`, if that is not
  // empty: for templates that know no videos.
  Value with_parts(const Value& messages, std::vector<size_t>& order,
                   std::string_view video = {}) const;
  // The same with a placeholder in place of each mark, for templates that take texts only.
  Value with_placeholders(const Value& messages, std::string_view image, std::string_view video,
                          std::vector<size_t>& order) const;

 private:
  std::string begin_;
};

// Appends texts and marks to a content: texts after texts on a new line.
class ContentText {
 public:
  void add_text(std::string_view text);
  void add_image(std::string_view mark);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool was_image_ = false;
};

}  // namespace pippin::chat
