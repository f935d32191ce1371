// Compares ids and texts with the official tokenizers library and llama.cpp, for published
// tokenizers and for small ones of every kind (tests/data/tokenizers).
#include <cctype>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin {
namespace {

using JsonTree = nlohmann::json;
using Ids = std::vector<int32_t>;

std::string tokenizer_folder(const std::string& name) {
  const bool is_model = name == "stories260K" || name == "babyllama-tok105";
  return (is_model ? "models/" : "tokenizers/") + name;
}

std::string test_name(const testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

class HuggingFace : public testing::TestWithParam<const char*> {};

TEST_P(HuggingFace, EveryVectorMatches) {
  const std::string name = GetParam();
  PIPPIN_SHARED_OR_SKIP(file, tokenizer_folder(name) + "/tokenizer.json");
  PIPPIN_SHARED_OR_SKIP(vectors_file, "vectors/hf-rust/" + name + ".json");
  const auto tokenizer = Tokenizer::from_file(file);
  const auto vectors = JsonTree::parse(read_file(vectors_file));
  EXPECT_EQ(tokenizer.vocab_size(), vectors["vocab_size_with_added"]);
  for (const auto& entry : vectors["encode"]) {
    const auto text = entry["text"].get<std::string>();
    const auto ids = entry["ids"].get<Ids>();
    const auto plain = entry["ids_no_special"].get<Ids>();
    EXPECT_EQ(tokenizer.encode(text), ids) << text;
    EXPECT_EQ(tokenizer.encode(text, false), plain) << text;
    // "decoded" is for the ids without special tokens, "decoded_skip_special" for all ids.
    EXPECT_EQ(tokenizer.decode(plain, false), entry["decoded"]) << text;
    EXPECT_EQ(tokenizer.decode(ids, true), entry["decoded_skip_special"]) << text;
  }
  // The bytes of the tokens equal the text, except for what decoders remove at its beginning.
  for (const auto& entry : vectors["encode"]) {
    std::string bytes;
    for (const int32_t id : entry["ids_no_special"].get<Ids>()) bytes += tokenizer.token_bytes(id);
    const auto decoded = entry["decoded"].get<std::string>();
    // WordPiece joins punctuation marks to words, which requires the whole text.
    const bool is_word_piece = name == "bert-base-uncased" || name == "wordpiece";
    if (is_word_piece || decoded.find("\xEF\xBF\xBD") != std::string::npos) continue;
    EXPECT_TRUE(bytes == decoded || bytes == " " + decoded) << bytes << "\n" << decoded;
  }
  const auto expect_stream = [&](const Ids& ids, bool skip) {
    StreamDecoder stream(tokenizer, skip);
    std::string joined;
    for (const int32_t id : ids) {
      const std::string piece = stream.push(id);
      EXPECT_TRUE(is_valid_utf8(piece));
      joined += piece;
    }
    joined += stream.finish();
    EXPECT_EQ(joined, tokenizer.decode(ids, skip));
  };
  for (const auto& entry : vectors["decode"]) {
    const auto ids = entry["ids"].get<Ids>();
    EXPECT_EQ(tokenizer.decode(ids, false), entry["decoded"]) << entry["ids"];
    EXPECT_EQ(tokenizer.decode(ids, true), entry["decoded_skip_special"]) << entry["ids"];
    expect_stream(ids, false);
    expect_stream(ids, true);
  }
  for (const auto& entry : vectors["stream"]) {
    const auto ids = entry["ids"].get<Ids>();
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(tokenizer.decode(std::span(ids).first(i + 1)), entry["prefix_decodes"][i]);
    }
    expect_stream(ids, true);
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, HuggingFace,
                         testing::Values("llama2", "llama3", "llama3.2", "mistral-v0.1",
                                         "mistral-v0.3", "qwen2.5", "qwen3", "gpt2", "phi-3",
                                         "starcoder", "falcon", "deepseek-llm", "whisper-tiny",
                                         "stories260K", "babyllama-tok105", "t5",
                                         "bert-base-uncased"),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Small, HuggingFace,
                         testing::Values("bytes", "single-digits", "whole-words", "digit-groups",
                                         "metaspace", "metaspace-first", "unigram", "wordpiece"),
                         test_name);

// Compares tokenizer.model alone with the vectors of the tokenizer.json made from it, except for
// texts that contain a special token: these files normalize them ("normalized": true, so that <s>
// is found only after a space), which today's conversion does not.
class SentencePieceFile : public testing::TestWithParam<const char*> {};

TEST_P(SentencePieceFile, EveryVectorMatches) {
  const std::string name = GetParam();
  PIPPIN_SHARED_OR_SKIP(model, tokenizer_folder(name) + "/tokenizer.model");
  PIPPIN_SHARED_OR_SKIP(vectors_file, "vectors/hf-rust/" + name + ".json");
  const TempDir folder;  // without the files next to it
  std::filesystem::copy_file(model, folder / "tokenizer.model");
  if (name == "mistral-v0.3" || name == "metaspace-first") {  // as in its tokenizer_config.json
    write_file(folder / "tokenizer_config.json",
               R"({"tokenizer_class": "LlamaTokenizer", "legacy": false})");
  }
  const auto tokenizer = Tokenizer::open(folder.path());
  const auto vectors = JsonTree::parse(read_file(vectors_file));
  int compared = 0;
  for (const auto& entry : vectors["encode"]) {
    const auto text = entry["text"].get<std::string>();
    const auto spells = [&](const char* token) { return text.find(token) != text.npos; };
    if (spells("<s>") || spells("</s>") || spells("<unk>")) continue;
    ++compared;
    EXPECT_EQ(tokenizer.encode(text, false), entry["ids_no_special"].get<Ids>()) << text;
  }
  EXPECT_GE(compared, 400);
  std::printf("%d of %zu strings\n", compared, vectors["encode"].size());
}

INSTANTIATE_TEST_SUITE_P(Vectors, SentencePieceFile,
                         testing::Values("llama2", "mistral-v0.1", "mistral-v0.3", "stories260K",
                                         "metaspace", "metaspace-first"),
                         test_name);

// llama.cpp's file name, then ours.
class LlamaCpp : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(LlamaCpp, EveryVectorMatches) {
  const auto [theirs, ours] = GetParam();
  PIPPIN_SHARED_OR_SKIP(file, tokenizer_folder(ours) + "/tokenizer.json");
  PIPPIN_SHARED_OR_SKIP(folder, "vectors/llama.cpp");
  const auto tokenizer = Tokenizer::from_file(file);
  const std::string input = read_file(folder / (std::string(theirs) + ".inp"));
  std::istringstream lines(read_file(folder / (std::string(theirs) + ".out")));
  const std::string separator = "\n__ggml_vocab_test__\n";
  size_t begin = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t end = input.find(separator, begin);
    const std::string text = input.substr(begin, end - begin);
    std::istringstream numbers(line);
    Ids expected;
    for (int32_t id = 0; numbers >> id;) expected.push_back(id);
    EXPECT_EQ(tokenizer.encode(text, false), expected) << text;
    if (end == std::string::npos) break;
    begin = end + separator.size();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, LlamaCpp,
    testing::Values(std::pair("gpt-2", "gpt2"), std::pair("llama-bpe", "llama3"),
                    std::pair("llama-spm", "llama2"), std::pair("phi-3", "phi-3"),
                    std::pair("qwen2", "qwen2.5"), std::pair("starcoder", "starcoder"),
                    std::pair("falcon", "falcon"), std::pair("deepseek-llm", "deepseek-llm"),
                    std::pair("bert-bge", "bert-base-uncased")));

}  // namespace
}  // namespace pippin
