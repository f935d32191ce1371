// The ids of rows of embeddings among the tokens of a sequence.
//
// Each row has a negative id of 31 bits, made of the digest of its rows and its place among them.
// Tokens with rows are therefore compared, searched and stored like others: equal ids mean equal
// rows. A single id is too short for that, so reusable() shortens what two texts have in common
// (docs/decisions/0036-rows-are-negative-ids.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/runtime/embedded_rows.h"

namespace pippin::runtime {

// Returns the id of row `index` of the rows with that digest: less than 0. Throws InvalidArgument
// for a digest that is not 64 hexadecimal digits.
PIPPIN_API int32_t row_id(std::string_view digest, int64_t index);

// Returns the tokens of a prompt, with the ids of its rows.
PIPPIN_API std::vector<int32_t> prompt_ids(std::span<const PromptPiece> prompt);

// Returns the rows of a prompt, in order.
PIPPIN_API std::vector<std::shared_ptr<const EmbeddedRows>> prompt_rows(
    std::span<const PromptPiece> prompt);

// Returns how many of the first `equal` tokens of a text can be taken from data that was computed
// for tokens with equal ids: all of them, unless they end within adjacent rows, which are needed
// together, or contain fewer than 3 adjacent rows, whose ids may be equal by chance.
PIPPIN_API int64_t reusable(std::span<const int32_t> text, int64_t equal);

// Returns `count`, or another number of the first tokens, at least 1, that does not end within
// adjacent rows: fewer if possible.
PIPPIN_API int64_t with_whole_rows(std::span<const int32_t> text, int64_t count);

}  // namespace pippin::runtime
