// Images and videos in the messages that Python passes to a language model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/chat/message.h"

namespace pippin::python {

// The images of a prompt. An image is a path, a URL, the bytes of a file, a PIL image, or an array
// [height, width, 3], [height, width, 1] or [height, width] of uint8; a video is the same for an
// animation, a folder of pictures, a list of images, or an array with a further first axis.
class MessageImages {
 public:
  // `more`: an image, a list of images, or None. Throws InvalidArgument for anything else.
  explicit MessageImages(const pybind11::object& more);

  // Collects the images of messages, whose contents may be lists of parts as in transformers and
  // OpenAI's interface. A part without an image takes the next of `more`. Returns the messages with
  // {"type": "image"} or {"type": "video"} in place of each, and anything but a list unchanged.
  // Throws InvalidArgument.
  pybind11::object take(const pybind11::object& messages);
  // Collects the images of `more` that no part has taken.
  void take_rest();

  // Returns the images; reads those at paths and URLs. Needs no GIL. Throws NotFound, Io, Network.
  std::vector<MessageImage> read();

 private:
  struct Image {
    MessageImage image;
    std::string path, url;      // one of them, or none: it has its bytes
    std::vector<Image> frames;  // of a video that is a list
  };

  static Image image_of(pybind11::handle given, const std::string& name);
  static Image image_at(const std::string& text, const std::string& name);
  static Image decoded(std::string_view base64, const std::string& name);
  Image image_of_part(const pybind11::dict& part, const std::string& type, const std::string& name);
  static Image video_of_part(const pybind11::dict& part, const std::string& name);
  static void read_file_of(Image& image);
  Image next(const std::string& name);
  pybind11::list take_parts(const pybind11::object& parts, const std::string& place);

  std::vector<Image> more_;
  size_t num_taken_ = 0;  // of more_
  std::vector<Image> images_;
};

}  // namespace pippin::python
