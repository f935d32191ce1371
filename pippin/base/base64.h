// Bytes as text: base64 (RFC 4648), padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/bytes.h"

namespace pippin {

std::string encode_base64(ByteSpan bytes);
// Nothing for anything that is not base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace pippin
