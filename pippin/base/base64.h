// Base64 (RFC 4648), with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/bytes.h"

namespace pippin {

std::string encode_base64(ByteSpan bytes);
// Returns nothing if the text is not valid base64.
std::optional<std::string> decode_base64(std::string_view text);
// Returns the base64 of a data URL, "data:image/png;base64,..."; nothing for other texts, and for
// data URLs in another encoding.
std::optional<std::string_view> base64_of_data_url(std::string_view url);

}  // namespace pippin
