// GGML files of a tiny Whisper model, compared with the folder that they are made from.
#include "pippin/app/open/ggml_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/facts/gguf_summary.h"
#include "pippin/app/facts/model_facts.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/app/open/open_model.h"
#include "pippin/app/speech_to_text.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/testing.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/models/gguf/ggml_testing.h"
#include "pippin/speech/folder_testing.h"
#include "pippin/speech/writers/formats.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using models::GgmlWriter;
using speech::WhisperFolder;

class GgmlModel : public testing::Test {
 protected:
  GgmlModel() : folder_(scratch_ / "whisper") {
    fs::create_directory(folder_);
    const WhisperFolder written(folder_);
    // The lists of tokens that a GGML file does not have.
    std::ofstream(folder_ / "generation_config.json") << R"({"is_multilingual": true})";
  }

  // A file whose text tokens are bytes.
  fs::path write(const char* name, GgmlWriter::Type type, double filter_scale = 1) {
    GgmlWriter writer(folder_, type);
    for (int byte = 0; byte < 256; ++byte) writer.tokens.emplace_back(1, static_cast<char>(byte));
    writer.filter_scale = filter_scale;
    writer.write(scratch_ / name);
    bytes_ = writer.bytes();
    return scratch_ / name;
  }
  // The folder's weights, rounded as those of a file.
  void write_rounded(const fs::path& to, GgmlWriter::Type type) const {
    const Checkpoint checkpoint = Checkpoint::open(folder_);
    const GgmlWriter writer(folder_, type);
    std::vector<SafetensorsWriter::Declaration> declarations;
    for (const std::string& name : checkpoint.names()) {
      declarations.push_back({name, Dtype::F32, checkpoint.at(name).shape});
    }
    SafetensorsWriter file(to / "model.safetensors", declarations);
    for (const std::string& name : checkpoint.names()) {
      const TensorInfo& tensor = checkpoint.at(name);
      const auto values =
          GgmlWriter::rounded(writer.type_of(tensor), GgmlWriter::values_of(tensor));
      file.append(std::as_bytes(std::span(values)));
    }
    file.finish();
  }
  static std::vector<int32_t> first_tokens(const fs::path& model, size_t count) {
    std::vector<int32_t> tokens;
    for (const speech::Segment& segment : run(model).segments) {
      tokens.insert(tokens.end(), segment.tokens.begin(), segment.tokens.end());
    }
    tokens.resize(std::min(tokens.size(), count));
    return tokens;
  }
  static std::string transcribe(const fs::path& model) { return write_json(run(model)); }
  static speech::Transcription run(const fs::path& model) {
    ModelChoice choice;
    choice.path = model.string();
    choice.load.threads = 1;
    speech::TranscribeOptions options;
    options.language = "en";
    options.temperatures = {0};
    options.no_speech_threshold.reset();
    options.word_timestamps = true;
    const SpeechToText speech = SpeechToText::open(choice);
    constexpr double kSeconds = 5;
    return speech.transcribe(WhisperFolder::recording(kSeconds), options);
  }
  void expect_refused(const char* what, const std::function<void(std::string&)>& change) {
    std::string bytes = bytes_;
    change(bytes);
    const fs::path file = scratch_ / "ggml-wrong.bin";
    std::ofstream(file, std::ios::binary) << bytes;
    try {
      transcribe(file);
      ADD_FAILURE() << what << ": was read";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }

  const fs::path& folder() const { return folder_; }
  fs::path path(const char* name) const { return scratch_ / name; }

 private:
  TempDir scratch_;
  fs::path folder_;
  std::string bytes_;
};

TEST_F(GgmlModel, WritesTheTextOfItsFolder) {
  const std::string expected = transcribe(folder());
  EXPECT_NE(expected.find("\"words\""), std::string::npos);
  const fs::path plain = write("ggml-tiny.bin", GgmlWriter::F32);
  EXPECT_EQ(transcribe(plain), expected);
  // A file of another name, as its folder's only model.
  fs::create_directory(path("alone"));
  fs::rename(plain, path("alone") / "own.bin");
  EXPECT_EQ(transcribe(path("alone")), expected);
}

TEST_F(GgmlModel, ConvertsToAPackage) {
  const fs::path file = write("ggml-tiny.bin", GgmlWriter::F32);
  convert(file, path("a.mlpackage"));
  convert(folder(), path("b.mlpackage"));
  EXPECT_EQ(transcribe(path("a.mlpackage")), transcribe(path("b.mlpackage")));
}

TEST_F(GgmlModel, PackedMatricesHaveTheValuesOfTheirBlocks) {
  const std::pair<GgmlWriter::Type, const char*> kTypes[] = {
      {GgmlWriter::F16, "F16"}, {GgmlWriter::Q8_0, "Q8_0"}, {GgmlWriter::Q5_0, "Q5_0"}};
  for (const auto& [type, name] : kTypes) {
    const fs::path file = write("ggml-packed.bin", type);
    const std::string summary = gguf_summary_text(file);
    EXPECT_NE(summary.find(name), std::string::npos) << summary;
    const fs::path rounded = path("rounded");
    fs::create_directory(rounded);
    for (const char* text :
         {"config.json", "generation_config.json", "tokenizer.json", "preprocessor_config.json"}) {
      fs::copy_file(folder() / text, rounded / text, fs::copy_options::overwrite_existing);
    }
    write_rounded(rounded, type);
    // Products of packed matrices round in another way, which later tokens of random weights show.
    constexpr size_t kSame = 8;
    const auto found = first_tokens(file, kSame);
    EXPECT_EQ(found, first_tokens(rounded, kSame)) << name;
    EXPECT_EQ(found.size(), kSame);
  }
  EXPECT_EQ(read_model_facts(write("ggml-facts.bin", GgmlWriter::Q8_0), {}).format, "ggml");
}

TEST_F(GgmlModel, UsesTheFiltersOfTheFile) {
  EXPECT_NE(transcribe(write("ggml-loud.bin", GgmlWriter::F32, 400)), transcribe(folder()));
  const fs::path file = write("ggml-tiny.bin", GgmlWriter::F32);
  GgmlContent content;
  const auto mapped = MappedFile::open(file);
  content = parse_ggml(mapped->bytes(), "file");
  EXPECT_EQ(ggml_files(content, "file")[2].text.find("ggml_mel_filters"), std::string::npos);
  content.filters[100] += 0.5F;
  EXPECT_NE(ggml_files(content, "file")[2].text.find("ggml_mel_filters"), std::string::npos);
}

TEST_F(GgmlModel, TokensOfPublishedVocabularies) {
  const auto mapped = MappedFile::open(write("ggml-tiny.bin", GgmlWriter::F32));
  GgmlContent content = parse_ggml(mapped->bytes(), "file");
  content.audio_context = 1500;
  std::vector<std::string> texts;
  for (int i = 0; i < 50257; ++i) texts.push_back(fmt::format("{}", i));
  const auto specials = [&](int64_t vocab_size, size_t count) {
    content.vocab_size = vocab_size;
    content.tokens.assign(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(count));
    const auto files = ggml_files(content, "file");
    return std::pair(Tokenizer::from_json(files[3].text, "tokenizer.json"), files[1].text);
  };
  const auto expect = [](const Tokenizer& tokenizer, const char* token, int32_t id) {
    EXPECT_EQ(tokenizer.token_to_id(token), id) << token;
  };
  const auto [english, english_config] = specials(51864, 50256);
  EXPECT_NE(english_config.find("\"is_multilingual\":false"), std::string::npos) << english_config;
  expect(english, "<|endoftext|>", 50256);
  expect(english, "<|notimestamps|>", 50362);
  const auto [first, config] = specials(51865, 50257);
  EXPECT_NE(config.find("\"is_multilingual\":true"), std::string::npos) << config;
  expect(first, "<|en|>", 50259);
  expect(first, "<|transcribe|>", 50359);
  expect(first, "<|0.00|>", 50364);
  expect(first, "<|30.00|>", 51864);
  const auto [third, third_config] = specials(51866, 50257);
  expect(third, "<|yue|>", 50358);
  expect(third, "<|nospeech|>", 50363);
  EXPECT_THROW(specials(51866, 50000), Error);
  EXPECT_THROW(specials(60000, 50257), Error);
}

TEST_F(GgmlModel, OtherCommandsNameTheFile) {
  ModelChoice choice;
  choice.path = write("ggml-tiny.bin", GgmlWriter::F32).string();
  EXPECT_ERROR(open_model(choice), ErrorCode::Unsupported, choice.path + ": a model of speech");
}

TEST_F(GgmlModel, WrongFilesAreOneLine) {
  write("ggml-tiny.bin", GgmlWriter::F32);
  const auto set = [](size_t place, int32_t value) {
    return [=](std::string& bytes) { std::memcpy(&bytes[place], &value, sizeof(value)); };
  };
  expect_refused("n_vocab is -1", set(4, -1));
  expect_refused("n_text_state", set(28, 31));
  expect_refused("n_audio_ctx is 16000000", set(8, 16000000));
  expect_refused("n_vocab is 16000000", set(4, 16000000));
  expect_refused("n_mels is 81", set(40, 81));
  expect_refused("the number of bins", set(52, 1 << 30));
  expect_refused("bytes needed", set(52, 1 << 16));
  expect_refused("the number of tokens", set(56 + 80 * 201 * 4, 1 << 20));
  expect_refused("left", [](std::string& bytes) { bytes.resize(bytes.size() - 1); });
  expect_refused("is not one of Whisper's", [](std::string& bytes) {
    bytes.replace(bytes.find("encoder.conv1"), 13, "encoder.convX");
  });
}

}  // namespace
}  // namespace pippin::app
