// Parses numbers as Hugging Face's library does.
#pragma once

#include <optional>
#include <string_view>

namespace pippin::tokenizers {

// `text` is a JSON number. Returns the nearest double or a neighbour of it: serde_json collects up
// to 64 bits of digits and multiplies or divides by a power of ten, which rounds twice. If two ways
// to split a text have the same score, that last bit decides. Returns nothing if the number is too
// large.
std::optional<double> serde_number(std::string_view text);

}  // namespace pippin::tokenizers
