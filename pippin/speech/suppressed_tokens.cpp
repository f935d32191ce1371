#include "pippin/speech/suppressed_tokens.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::speech {
namespace {

// Symbols that count only as single tokens, and those of music, whose first token always counts.
constexpr std::array<std::string_view, 47> kSymbols = {
    "\"",  "#",  "(",  ")",   "*",   "+",   "/",   ":",  ";",   "<",  "=",  ">",
    "@",   "[",  "\\", "]",   "^",   "_",   "`",   "{",  "|",   "}",  "~",  "「",
    "」",  "『", "』", "<<",  ">>",  "<<<", ">>>", "--", "---", "-(", "-[", "('",
    "(\"", "((", "))", "(((", ")))", "[[",  "]]",  "{{", "}}",  "♪♪", "♪♪♪"};
constexpr std::array<std::string_view, 7> kNotes = {"♩", "♪", "♫", "♬", "♭", "♮", "♯"};

// Returns the ids of a list in generation_config.json; nullopt if it is missing or null.
std::optional<std::vector<int32_t>> read_ids(const Json& config, const char* key,
                                             int64_t vocab_size) {
  const auto list = config.find(key);
  if (!list) return std::nullopt;
  std::vector<int32_t> ids;
  ids.reserve(list->size());
  for (const Json& id : list->elements()) {
    ids.push_back(static_cast<int32_t>(id.as_int(0, vocab_size - 1)));
  }
  return ids;
}

// Ids that a tokenizer of another model may give.
void check_vocabulary(const std::vector<int32_t>& ids, int64_t vocab_size) {
  for (const int32_t id : ids) {
    if (id < vocab_size) continue;
    fail(ErrorCode::InvalidFile,
         "the tokenizer has a text token {}, the model has {} tokens: not its tokenizer", id,
         vocab_size);
  }
}

void sort_unique(std::vector<int32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

std::vector<int32_t> non_speech_tokens(const Tokenizer& tokenizer) {
  std::vector<int32_t> found;
  const auto add = [&](const std::string& text, bool only_single) {
    const std::vector<int32_t> ids = tokenizer.encode(text, false);
    if (!ids.empty() && (!only_single || ids.size() == 1)) found.push_back(ids.front());
  };
  add(" -", false);
  add(" '", false);
  for (const std::string_view symbol : kSymbols) {
    add(std::string(symbol), true);
    add(fmt::format(" {}", symbol), true);
  }
  for (const std::string_view note : kNotes) {
    add(std::string(note), false);
    add(fmt::format(" {}", note), false);
  }
  sort_unique(found);
  return found;
}

std::vector<int32_t> suppressed_tokens(std::span<const int32_t> asked, const Tokenizer& tokenizer,
                                       const SpecialTokens& tokens, const Json& generation_config,
                                       int64_t vocab_size) {
  std::vector<int32_t> ids;
  for (const int32_t id : asked) {
    if (id == -1) {
      const auto listed = read_ids(generation_config, "suppress_tokens", vocab_size);
      const std::vector<int32_t> more = listed ? *listed : non_speech_tokens(tokenizer);
      ids.insert(ids.end(), more.begin(), more.end());
    } else if (id < 0 || id >= vocab_size) {
      fail(ErrorCode::InvalidArgument, "suppress_tokens: {} is not a token: the model has {}", id,
           vocab_size);
    } else {
      ids.push_back(id);
    }
  }
  ids.push_back(tokens.start_of_transcript);
  for (const auto& id : {tokens.transcribe, tokens.translate, tokens.start_of_previous,
                         tokens.start_of_lm, tokens.no_speech}) {
    if (id) ids.push_back(*id);
  }
  check_vocabulary(ids, vocab_size);
  sort_unique(ids);
  return ids;
}

std::vector<int32_t> suppressed_first_tokens(const Tokenizer& tokenizer,
                                             const SpecialTokens& tokens,
                                             const Json& generation_config, int64_t vocab_size) {
  if (auto listed = read_ids(generation_config, "begin_suppress_tokens", vocab_size)) {
    return *listed;
  }
  std::vector<int32_t> ids = tokenizer.encode(" ", false);
  ids.push_back(tokens.end_of_text);
  check_vocabulary(ids, vocab_size);
  return ids;
}

}  // namespace pippin::speech
