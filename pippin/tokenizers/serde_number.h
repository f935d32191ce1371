// Numbers as Hugging Face's library reads them.
#pragma once

#include <optional>
#include <string_view>

namespace pippin::tokenizers {

// `text` is a number as JSON writes it. The nearest double or a neighbour of it: serde_json
// collects up to 64 bits of digits and multiplies or divides by a power of ten, which rounds twice.
// Where two ways to cut a text have the same score, that last bit decides. Nothing for numbers that
// are too large.
std::optional<double> serde_number(std::string_view text);

}  // namespace pippin::tokenizers
