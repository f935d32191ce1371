// Images among the inputs of requests for embeddings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/server/message_images.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// Texts and images in the order of their embeddings.
struct MixedInputs {
  std::vector<std::string> texts;
  MessageImages images;
  std::vector<bool> is_image;  // of each input, which is the next one of these lists
};

// Reads `input` if it has objects, in Jina's form {"text": ...} or {"image": ...} (a data URL, a
// URL or base64), or `messages`, vLLM's form, with one text or one image, which has one embedding.
// Returns nothing for a request of neither form. Throws ApiError(400).
std::optional<MixedInputs> read_mixed_inputs(const RequestFields& body);

}  // namespace pippin::server
