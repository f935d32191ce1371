// Prompts of conversations with images.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "pippin/chat/image_marks.h"
#include "pippin/chat/value.h"
#include "pippin/runtime/vision/image_input.h"

namespace pippin::app {

using RenderMessages = std::function<std::string(const chat::Value& messages)>;

// Renders messages whose contents have marks: as lists of parts, or, for templates that take texts
// only, with the image's placeholder in the text. `order` receives the images' numbers in the order
// of the result. Throws the errors of `render`, and InvalidArgument for a template that does not
// write each image once.
std::string render_with_images(const runtime::ImageInput& input, const chat::ImageMarks& marks,
                               const chat::Value& messages, std::vector<size_t>& order,
                               const RenderMessages& render);

}  // namespace pippin::app
