// A message of a conversation.
#pragma once

#include <string>
#include <vector>

namespace pippin {

// An image or a video of a message, as the content of files: PNG, JPEG, WebP, GIF, BMP ...
struct MessageImage {
  std::string bytes;           // the file's content
  std::string name = "image";  // begins error messages
  // Whether it is a video: an animated GIF, PNG or WebP, or `frames`.
  bool is_video = false;
  // The files of a video's frames, if it is not an animation.
  std::vector<std::string> frames = {};
  // The frames per second that the model sees of a video, and that `frames` are of; 0: those that
  // its processor chooses.
  double fps = 0;
};

// A message of a conversation.
struct Message {
  std::string role;                       // "system", "user", "assistant", or another role of the
                                          // template
  std::string content;                    // the text, UTF-8
  std::vector<MessageImage> images = {};  // before the text, for models that take images
};

}  // namespace pippin
