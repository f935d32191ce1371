#include <filesystem>

#include "pippin/base/base64.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/gguf.h"
#include "pippin/io/zip_testing.h"
#include "pippin/tokenizers/files/gguf_file.h"
#include "pippin/tokenizers/tokenizer.h"
#include "tests/memory/hostile.h"

namespace pippin {
namespace {

constexpr const char* kWords = R"({"type":"WordLevel","vocab":{"a":0},"unk_token":"a"})";

std::string file_of(const std::string& model, const std::string& sections = "") {
  return "{" + sections + "\"model\":" + model + "}";
}

std::vector<Hostile> json_files() {
  const auto read = [](const std::string& file) { Tokenizer::from_json(file, "tokenizer.json"); };
  const auto vocab = [](const std::string& type, int id) {
    return file_of(R"({"type":")" + type + R"(","unk_token":"a","merges":[],"vocab":{"a":)" +
                   std::to_string(id) + "}}");
  };
  const auto added = [](size_t i) {
    return R"({"id":)" + std::to_string(i) + R"(,"content":"t)" + std::to_string(i) +
           R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":true},)";
  };
  const auto pattern = [](const std::string& regex) {
    return file_of(kWords, R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":")" + regex +
                               R"("},"behavior":"Isolated","invert":false},)");
  };
  const auto word = [](size_t i) {
    return "\"" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  };
  const std::string merges = R"({"type":"BPE","vocab":{"a":0,"aa":1},"merges":[)";
  return {
      {"a large id of WordLevel", 64, vocab("WordLevel", 16'000'000), read},
      {"a large id of BPE", 64, vocab("BPE", 16'000'000), read},
      {"words", 128,
       file_of("{\"type\":\"WordLevel\",\"unk_token\":\"0\",\"vocab\":{" + joined(50'000, word) +
               "\"a\":50000}}"),
       read},
      {"merges", 64, file_of(merges + repeated("\"a a\",", 50'000) + "\"a a\"]}"), read},
      {"merges of lists", 64,
       file_of(merges + repeated(R"(["a","a"],)", 50'000) + R"(["a","a"]]})"), read},
      {"unigrams", 64,
       file_of(R"({"type":"Unigram","unk_id":0,"vocab":[)" + repeated("[\"\",0],", 50'000) +
               "[\"a\",0]]}"),
       read},
      {"added tokens", 64, file_of(kWords, "\"added_tokens\":[" + joined(5'000, added) + "{}],"),
       read},
      {"stages", 64,
       file_of(kWords, R"("normalizer":{"type":"Sequence","normalizers":[)" +
                           repeated(R"({"type":"NFC"},)", 20'000) + "{}]},"),
       read},
      {"sections that are not known", 64,
       file_of(kWords, "\"x\":[" + repeated("[],", 100'000) + "0],"), read},
      {"a pattern of counts", 64, pattern(repeated("(?:a{100}){100}", 2'000)), read},
      {"a pattern of alternatives", 64, pattern(repeated("a|", 20'000)), read},
      {"a pattern of classes", 64, pattern(repeated("\\\\p{L}", 5'000)), read},
      {"a pattern of depth", 64, pattern(repeated("(", 20'000)), read},
  };
}

// Opens a file by its name in a folder.
std::function<void(const std::string&)> opening(const std::string& name) {
  return [name](const std::string& file) {
    const TempDir folder;
    write_file(folder / name, file);
    Tokenizer::open(folder.path());
  };
}

std::string piece(const std::string& text) {
  std::string message;
  if (!text.empty()) message = "\x0a" + std::string(1, static_cast<char>(text.size())) + text;
  return "\x0a" + std::string(1, static_cast<char>(message.size())) + message;
}

std::vector<Hostile> other_files() {
  const auto rank = [](size_t i) {
    const std::string token = std::to_string(i);
    return encode_base64(as_byte_span(token)) + " " + token + "\n";
  };
  std::string gguf = "GGUF";
  const auto text = [](const std::string& value) {
    std::string result;
    append_number<uint64_t>(result, value.size());
    return result + value;
  };
  append_number<uint32_t>(gguf, 3);
  append_number<uint64_t>(gguf, 0);
  append_number<uint64_t>(gguf, 2);
  gguf += text("tokenizer.ggml.model");
  append_number<uint32_t>(gguf, 8);
  gguf += text("gpt2") + text("tokenizer.ggml.tokens");
  append_number<uint32_t>(gguf, 9);
  append_number<uint32_t>(gguf, 8);
  append_number<uint64_t>(gguf, 50'000);
  gguf += std::string(400'000, '\0');
  return {{"sentencepiece, empty pieces", 128, repeated(piece(""), 100'000),
           opening("tokenizer.model")},
          {"sentencepiece, pieces", 128,
           joined(20'000, [](size_t i) { return piece(std::to_string(i)); }),
           opening("tokenizer.model")},
          {"tiktoken, ranks", 128, joined(20'000, rank), opening("tokenizer.model")},
          {"tiktoken, a large rank", 128, "YQ== 16000000\n", opening("tokenizer.model")},
          {"gguf, empty tokens", 128, gguf, [](const std::string& file) {
             const GgufContent content = parse_gguf(as_byte_span(file), "x.gguf");
             tokenizers::read_gguf_tokenizer(content, "x.gguf");
             tokenizers::gguf_tokenizer_file(content, "x.gguf");
           }}};
}

}  // namespace

std::vector<Hostile> hostile_tokenizers() {
  std::vector<Hostile> all;
  for (auto* const make : {json_files, other_files}) {
    for (Hostile& one : make()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace pippin
