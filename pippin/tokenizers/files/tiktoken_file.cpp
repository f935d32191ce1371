#include <algorithm>
#include <charconv>

#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/tokenizers/byte_level.h"
#include "pippin/tokenizers/files/legacy_files.h"
#include "pippin/tokenizers/word_patterns.h"

namespace pippin::tokenizers {
namespace {

struct Special {
  int32_t id;
  const char* content;
};

// An encoding, identified by its number of ranks.
struct Encoding {
  size_t ranks;
  std::string_view words;
  std::vector<Special> specials;
  // Numbered tokens: the format of the name, the first id, the count, the first number.
  const char* numbered = nullptr;
  int32_t numbered_id = 0;
  int32_t count = 0;
  int32_t first = 0;
  bool begins_with_first = false;  // every text begins with the first special token
};

const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> list = {
      {50256, kGpt2Words, {{50256, "<|endoftext|>"}}},  // r50k_base
      {50280, kGpt2Words, {{50256, "<|endoftext|>"}}},  // p50k_base
      {100256,                                          // cl100k_base
       kCl100kWords,
       {{100257, "<|endoftext|>"},
        {100258, "<|fim_prefix|>"},
        {100259, "<|fim_middle|>"},
        {100260, "<|fim_suffix|>"},
        {100276, "<|endofprompt|>"}}},
      {199998, kO200kWords, {{199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}}},
      {128000,  // Llama 3
       kCl100kWords,
       {{128000, "<|begin_of_text|>"},
        {128001, "<|end_of_text|>"},
        {128002, "<|reserved_special_token_0|>"},
        {128003, "<|reserved_special_token_1|>"},
        {128004, "<|reserved_special_token_2|>"},
        {128005, "<|reserved_special_token_3|>"},
        {128006, "<|start_header_id|>"},
        {128007, "<|end_header_id|>"},
        {128008, "<|reserved_special_token_4|>"},
        {128009, "<|eot_id|>"}},
       "<|reserved_special_token_{}|>",
       128010,
       246,
       5,
       true},
      {151643,  // Qwen
       kQwenWords,
       {{151643, "<|endoftext|>"}, {151644, "<|im_start|>"}, {151645, "<|im_end|>"}},
       "<|extra_{}|>",
       151646,
       205,
       0},
  };
  return list;
}

std::vector<TokenizerSettings::Added> special_tokens(const Encoding& encoding) {
  std::vector<TokenizerSettings::Added> tokens;
  for (const auto& [id, content] : encoding.specials) {
    tokens.push_back({id, content, false, false, false, false, true});
  }
  for (int32_t i = 0; i < encoding.count; ++i) {
    tokens.push_back({encoding.numbered_id + i,
                      fmt::format(fmt::runtime(encoding.numbered), encoding.first + i), false,
                      false, false, false, true});
  }
  return tokens;
}

struct Line {
  std::string token;
  uint32_t rank;
};

std::optional<Line> read_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos) return std::nullopt;
  auto token = decode_base64(line.substr(0, space));
  uint32_t rank = 0;
  const char* end = line.data() + line.size();
  const auto [at, error] = std::from_chars(line.data() + space + 1, end, rank);
  if (!token || token->empty() || error != std::errc{} || at != end || rank > kMaxTokenId) {
    return std::nullopt;
  }
  return Line{*std::move(token), rank};
}

}  // namespace

bool looks_like_tiktoken(std::string_view bytes) {
  return read_line(bytes.substr(0, std::min(bytes.find('\n'), bytes.size()))).has_value();
}

JsonFile read_tiktoken(std::string_view bytes, std::string_view name) {
  JsonFile file;
  std::vector<uint32_t> ranks;
  for (size_t number = 1; !bytes.empty(); ++number) {
    const size_t end = bytes.find('\n');
    const std::string_view text = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (text.empty()) continue;
    const auto line = read_line(text);
    if (!line) {
      fail(ErrorCode::InvalidFile, "{}: line {} is not a token in base64 and its rank", name,
           number);
    }
    file.vocab_tokens.add(bytes_to_characters(line->token));
    file.vocab_ids.push_back(static_cast<int32_t>(line->rank));
    ranks.push_back(line->rank);
  }
  const auto& known = encodings();
  const auto encoding = std::find_if(known.begin(), known.end(),
                                     [&](const Encoding& e) { return e.ranks == ranks.size(); });
  if (encoding == known.end()) {
    fail(ErrorCode::Unsupported,
         "{}: {} ranks match no known encoding, and the file does not say how text is "
         "split into words",
         name, ranks.size());
  }
  file.has_vocab = file.has_merges = true;
  make_merges(file, ranks, name);
  JsonWriter root;
  root.begin_object().key("model").raw(R"({"type": "BPE", "ignore_merges": true})");
  root.key("pre_tokenizer").raw(byte_level_words(encoding->words));
  if (encoding->words == kQwenWords) root.key("normalizer").raw(R"({"type": "NFC"})");
  root.key("decoder").raw(R"({"type": "ByteLevel"})");
  if (encoding->begins_with_first) {
    root.key("post_processor")
        .raw(fmt::format(
            R"({{"type": "TemplateProcessing", "special_tokens": {{"bos": {{"ids": [{}]}}}}, "single":)"
            R"( [{{"SpecialToken": {{"id": "bos"}}}}, {{"Sequence": {{"id": "A"}}}}]}})",
            encoding->specials[0].id));
  }
  finish_file(file, root, special_tokens(*encoding), name);
  return file;
}

}  // namespace pippin::tokenizers
