// A message of a conversation.
#pragma once

#include <string>
#include <vector>

namespace pippin {

// An image of a message, as the content of a file: PNG, JPEG, WebP, GIF, BMP ...
struct MessageImage {
  std::string bytes;           // the file's content
  std::string name = "image";  // begins error messages
};

// A message of a conversation.
struct Message {
  std::string role;                       // "system", "user", "assistant", or another role of the
                                          // template
  std::string content;                    // the text, UTF-8
  std::vector<MessageImage> images = {};  // before the text, for models that take images
};

}  // namespace pippin
