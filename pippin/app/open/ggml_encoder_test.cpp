// whisper.cpp's Core ML form of an encoder next to a GGML file of a tiny Whisper model.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/open/ggml_model.h"
#include "pippin/app/speech_to_text.h"
#include "pippin/array/builder.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/config/config.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/models/gguf/ggml_testing.h"
#include "pippin/models/model_source.h"
#include "pippin/nn/encoder.h"
#include "pippin/speech/folder_testing.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using models::GgmlWriter;
using speech::WhisperFolder;

class GgmlEncoder : public testing::Test {
 protected:
  GgmlEncoder() : file_(scratch_ / "ggml-tiny.en-q8_0.bin") {
    for (const int seed : {1, 2}) {
      fs::create_directory(folder(seed));
      const WhisperFolder written(folder(seed), static_cast<uint64_t>(seed));
      std::ofstream(folder(seed) / "generation_config.json") << R"({"is_multilingual": true})";
    }
    GgmlWriter writer(folder(1), GgmlWriter::F32);
    for (int byte = 0; byte < 256; ++byte) writer.tokens.emplace_back(1, static_cast<char>(byte));
    writer.write(file_);
  }

  fs::path folder(int seed) const { return scratch_ / std::to_string(seed); }
  const fs::path& file() const { return file_; }
  fs::path path(const char* name) const { return scratch_ / name; }

  // The encoder of a folder, for windows of `frames`.
  mil::Model encoder(int seed, int64_t frames = 400) const {
    const Json json = models::load_config(folder(seed));
    const models::Config config(json);
    models::EncoderDecoderDescription model =
        models::describe_encoder_decoder(folder(seed), config);
    const nn::Parameters parameters =
        models::open_parameters(folder(seed), {.compute = mil::DataType::Float32});
    model.encoder.stem->frames = frames;
    const nn::Encoder encoder(parameters, model.encoder, frames / 2);
    array::Builder builder;
    const array::Array mel = builder.input("logmel_data", mil::DataType::Float32, {1, 80, frames});
    builder.output("output", encoder.of_features(mel));
    mil::Model made;
    made.functions = {
        {.name = "main",
         .inputs = {mil::array_feature("logmel_data", "", mil::DataType::Float32, {1, 80, frames})},
         .outputs = {mil::array_feature("output", "", mil::DataType::Float32)}}};
    made.program.functions.emplace("main", builder.build());
    return made;
  }

  static std::vector<int32_t> transcribe(const fs::path& model, const std::string& encoder = {}) {
    ModelChoice choice;
    choice.path = model.string();
    choice.load.threads = 1;
    choice.load.encoder = encoder;
    speech::TranscribeOptions options;
    options.language = "en";
    options.temperatures = {0};
    options.no_speech_threshold.reset();
    constexpr double kSeconds = 5;
    const speech::Transcription result =
        SpeechToText::open(choice).transcribe(WhisperFolder::recording(kSeconds), options);
    std::vector<int32_t> tokens;
    for (const speech::Segment& segment : result.segments) {
      tokens.insert(tokens.end(), segment.tokens.begin(), segment.tokens.end());
    }
    return tokens;
  }

 private:
  TempDir scratch_;
  fs::path file_;
};

TEST_F(GgmlEncoder, RunsInPlaceOfTheFilesOwn) {
  const std::vector<int32_t> own = transcribe(file());
  // Another model's encoder shows that it is used.
  const fs::path compiled = path("ggml-tiny.en-encoder.mlmodelc");
  mil::write_compiled(encoder(2), compiled);
  const std::vector<int32_t> other = transcribe(file());
  EXPECT_NE(other, own);
  EXPECT_EQ(transcribe(file(), kNoEncoder), own);
  EXPECT_EQ(transcribe(folder(1), compiled.string()), other);
  fs::remove_all(compiled);
  const fs::path package = path("ggml-tiny.en-encoder.mlpackage");
  mil::write_package(encoder(1), package);
  EXPECT_EQ(ggml_encoder(file()), package);
  EXPECT_EQ(transcribe(file()), own);
}

TEST_F(GgmlEncoder, OfAnotherModelIsRefused) {
  const fs::path package = path("ggml-tiny.en-encoder.mlpackage");
  mil::write_package(encoder(1, 200), package);
  EXPECT_ERROR(transcribe(file()), ErrorCode::InvalidFile,
               "'logmel_data' has the shape [1, 80, 200]; [1, 80, 400] is expected");
  EXPECT_ERROR(transcribe(package, package.string()), ErrorCode::Unsupported, "only GGML files");
  EXPECT_ERROR(transcribe(file(), path("absent.mlmodelc").string()), ErrorCode::NotFound,
               "absent.mlmodelc");
}

}  // namespace
}  // namespace pippin::app
