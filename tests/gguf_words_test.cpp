// Words of GGUF's tokenizers, by the names that llama.cpp gives them.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/gguf.h"
#include "pippin/tokenizers/files/gguf_file.h"
#include "pippin/tokenizers/tokenizer.h"
#include "tests/gguf_testing.h"

namespace pippin {
namespace {

using testing_gguf::GgufFile;

Tokenizer tokenizer_of(const GgufFile& file) {
  const TempDir dir;
  const std::string bytes = file.all();
  const GgufContent content =
      parse_gguf(std::as_bytes(std::span(bytes.data(), bytes.size())), "m.gguf");
  const auto made = tokenizers::gguf_tokenizer_file(content, "m.gguf");
  write_file(dir / made.name, made.text);
  return Tokenizer::open(dir.path());
}

// ASCII as GPT-2's letters, and pairs of them.
GgufFile letters(const std::string& words, const std::vector<std::string>& merges) {
  std::vector<std::string> tokens = {"\xc4\xa0", "\xc4\x8a"};  // a space, a line's end
  for (char letter = '!'; letter <= '~'; ++letter) tokens.emplace_back(1, letter);
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ');
    tokens.push_back(merge.substr(0, space) + merge.substr(space + 1));
  }
  GgufFile file;
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", words);
  file.texts("tokenizer.ggml.tokens", tokens).texts("tokenizer.ggml.merges", merges);
  return file;
}

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> pieces;
  for (const int32_t id : tokenizer.encode(text)) {
    pieces.push_back(tokenizer.decode(std::vector<int32_t>{id}));
  }
  return pieces;
}

// Those of llama.cpp 0.7 for byte-pair encoding.
TEST(GgufWords, KnowsTheNamesOfWords) {
  std::istringstream names(
      "default llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano "
      "deepseek-llm deepseek-coder deepseek-v3 youtu falcon mpt starcoder gpt-2 phi-2 jina-es "
      "jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jais-2 jina-v1-en "
      "jina-v2-code roberta-bpe refact command-r qwen2 deepseek-r1-qwen kormo f2llmv2 qwen35 "
      "stablelm2 olmo dbrx smaug-bpe poro-chat glm4 chatglm-bpe viking jais tekken smollm "
      "codeshell bloom gpt3-finnish exaone exaone4 exaone-moe chameleon minerva-7b megrez "
      "gpt-4o llama4 kanana2 talkie granite-embed-multi-97m tiny_aya cohere2moe superbpe "
      "trillion granite-docling bailingmoe bailingmoe2 llada-moe seed-coder hunyuan "
      "hunyuan-dense hy_v4 joyai-llm kimi-k2 ufakzeka grok-2 afmoe laguna minimax-m2 "
      "solar-open mellum2 spark2_5 minicpm5");
  for (std::string name; names >> name;) {
    const Tokenizer tokenizer = tokenizer_of(letters(name, {}));
    for (const char* text : {"It's 1234567 of  them,\n\n  x(y) [z]!", " a", "  "}) {
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << name;
    }
  }
}

TEST(GgufWords, SplitsWordsByTheirName) {
  const std::vector<std::string> merges = {
      "1 2", "12 3", "2 3", "23 4", "3 4", "' s", "s t", "\xc4\xa0 \xc4\xa0", "\xc4\xa0 a"};
  using Pieces = std::vector<std::string>;
  const auto split = [&](const char* name, std::string_view text) {
    return pieces_of(tokenizer_of(letters(name, merges)), text);
  };
  // Digits from the left, from the right, and one by one.
  EXPECT_EQ(split("gpt-4o", "1234"), (Pieces{"123", "4"}));
  for (const char* name : {"tiny_aya", "superbpe", "afmoe"}) {
    EXPECT_EQ(split(name, "1234"), (Pieces{"1", "234"})) << name;
  }
  EXPECT_EQ(split("ufakzeka", "12"), (Pieces{"1", "2"}));
  EXPECT_EQ(split("minicpm5", "1234"), (Pieces{"123", "4"}));
  // Contractions of English, and none.
  EXPECT_EQ(split("laguna", "'st"), (Pieces{"'s", "t"}));
  EXPECT_EQ(split("ufakzeka", "s'st"), (Pieces{"s", "'s", "t"}));
  // A run of spaces in powers of two.
  EXPECT_EQ(split("jais-2", "   a"), (Pieces{"  ", " a"}));
}

TEST(GgufWords, PlainTextHasSpacesAsLetters) {
  GgufFile file;
  file.text("tokenizer.ggml.model", "gemma4");
  file.texts("tokenizer.ggml.tokens",
             {"<bos>", "\xe2\x96\x81", "a", "b", "\xe2\x96\x81\xe2\x96\x81", "ab", "<0x0A>",
              "<0xC3>", "<0xA9>"});
  file.texts("tokenizer.ggml.merges", {"\xe2\x96\x81 \xe2\x96\x81", "a b"});
  file.number("tokenizer.ggml.bos_token_id", 0).flag("tokenizer.ggml.add_bos_token", true);
  const Tokenizer tokenizer = tokenizer_of(file);
  EXPECT_EQ(tokenizer.encode("  ab a\n\xc3\xa9"), (std::vector<int32_t>{0, 4, 5, 1, 2, 6, 7, 8}));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{4, 5, 1, 2, 6, 7, 8}), "  ab a\n\xc3\xa9");
}

// Words between spaces, whose tokens are text. Letters without a token are left out.
TEST(GgufWords, BetweenSpacesAreText) {
  const auto file = [](bool lower) {
    GgufFile result;
    result.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "whitespace");
    result.texts("tokenizer.ggml.tokens", {"a", "b", "\u4f60", "ab", "\u4f60a", "\u00e4", "A"});
    result.texts("tokenizer.ggml.merges", {"a b", "\u4f60 a"});
    return lower ? result.flag("tokenizer.ggml.normalizer.lowercase", true) : result;
  };
  const Tokenizer tokenizer = tokenizer_of(file(false));
  EXPECT_EQ(tokenizer.encode("ab \u4f60ab\n b\u00e4? A"), (std::vector<int32_t>{3, 2, 3, 1, 5, 6}));
  EXPECT_EQ(tokenizer_of(file(true)).encode("AB A\u00c4"), (std::vector<int32_t>{3, 0, 5}));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{3, 2}), "ab\u4f60");
}

}  // namespace
}  // namespace pippin
