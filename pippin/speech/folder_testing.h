// For tests only: a tiny Whisper model with random weights as a folder, and a recording for it.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/byte_span.h"
#include "pippin/io/json.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/speech/tokenizer_testing.h"

namespace pippin::speech {

class WhisperFolder {
 public:
  static constexpr int64_t kRate = 16000;

  // Writes the files; texts are printable characters.
  explicit WhisperFolder(const std::filesystem::path& folder, uint64_t seed = 1)
      : folder_(folder), random_(seed) {
    write_file("tokenizer.json", test_tokenizer_json(kPositions));
    write_configs();
    write_weights();
  }

  // Rising and falling tones.
  static std::vector<float> recording(double seconds) {
    std::vector<float> samples(static_cast<size_t>(seconds * kRate));
    for (size_t i = 0; i < samples.size(); ++i) {
      const double time = static_cast<double>(i) / kRate;
      const double tone = std::sin(time * (1500 + 900 * std::sin(time)));
      samples[i] = static_cast<float>(0.4 * tone * std::sin(2 * time));
    }
    return samples;
  }

 private:
  static constexpr int64_t kPositions = 200, kWidth = 32, kInner = 64, kBins = 80, kContext = 64;
  static constexpr int kLayers = 2, kHeads = 4;
  static constexpr int64_t kVocabSize = TestTokens::kTime + kPositions + 1;

  void write_file(const char* name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  void write_configs() const {
    JsonWriter config;
    config.begin_object().member("model_type", "whisper").member("vocab_size", kVocabSize);
    config.key("architectures").begin_array().value("WhisperForConditionalGeneration").end_array();
    config.member("num_mel_bins", kBins).member("d_model", kWidth);
    for (const char* side : {"encoder", "decoder"}) {
      config.member(fmt::format("{}_layers", side), kLayers);
      config.member(fmt::format("{}_attention_heads", side), kHeads);
      config.member(fmt::format("{}_ffn_dim", side), kInner);
    }
    config.member("max_source_positions", kPositions).member("max_target_positions", kContext);
    config.member("activation_function", "gelu").member("is_encoder_decoder", true);
    config.member("decoder_start_token_id", TestTokens::kStart);
    config.member("eos_token_id", TestTokens::kEnd).member("pad_token_id", TestTokens::kEnd);
    write_file("config.json", config.end_object().text());

    std::vector<int32_t> suppressed;
    for (int32_t byte = 0; byte < 256; ++byte) {
      if (byte < ' ' || byte > '~') suppressed.push_back(byte);
    }
    JsonWriter generation;
    generation.begin_object().member("is_multilingual", true);
    generation.member("suppress_tokens", suppressed);
    generation.member("begin_suppress_tokens", std::vector<int32_t>{' ', TestTokens::kEnd});
    generation.member("no_timestamps_token_id", TestTokens::kNoTimestamps);
    generation.key("lang_to_id").begin_object().member("<|en|>", TestTokens::kEn);
    generation.member("<|de|>", TestTokens::kDe).member("<|zh|>", TestTokens::kZh).end_object();
    generation.key("task_to_id").begin_object().member("transcribe", TestTokens::kTranscribe);
    generation.member("translate", TestTokens::kTranslate).end_object();
    write_file("generation_config.json", generation.end_object().text());

    JsonWriter extractor;
    extractor.begin_object().member("feature_extractor_type", "WhisperFeatureExtractor");
    extractor.member("feature_size", kBins).member("chunk_length", kPositions / 50);
    extractor.member("hop_length", 160).member("n_fft", 400).member("sampling_rate", kRate);
    write_file("preprocessor_config.json", extractor.end_object().text());
  }

  // Adds a tensor of random numbers, scaled by the number of inputs, around `mean`.
  void add(std::string name, std::vector<int64_t> shape, double scale, double mean = 0) {
    int64_t size = 1, inputs = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      size *= shape[i];
      if (i > 0) inputs *= shape[i];
    }
    std::normal_distribution<double> normal(mean, scale / std::sqrt(static_cast<double>(inputs)));
    std::vector<float> values(static_cast<size_t>(size));
    for (float& value : values) value = static_cast<float>(normal(random_));
    tensors_.push_back({std::move(name), Dtype::F32, std::move(shape)});
    values_.push_back(std::move(values));
  }
  void add_norm(const std::string& name) {
    add(fmt::format("{}.weight", name), {kWidth}, 0.1, 1);
    add(fmt::format("{}.bias", name), {kWidth}, 0.1);
  }
  void add_linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias,
                  double scale) {
    add(fmt::format("{}.weight", name), {outputs, inputs}, scale);
    if (bias) add(fmt::format("{}.bias", name), {outputs}, 0.1);
  }
  void add_attention(const std::string& name) {
    for (const std::string part : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
      add_linear(fmt::format("{}.{}", name, part), kWidth, kWidth, part != "k_proj", 2);
    }
    add_norm(fmt::format("{}_layer_norm", name));
  }

  void write_weights() {
    add("model.encoder.conv1.weight", {kWidth, kBins, 3}, 2);
    add("model.encoder.conv1.bias", {kWidth}, 0.1);
    add("model.encoder.conv2.weight", {kWidth, kWidth, 3}, 2);
    add("model.encoder.conv2.bias", {kWidth}, 0.1);
    add("model.encoder.embed_positions.weight", {kPositions, kWidth}, 4);
    add("model.decoder.embed_tokens.weight", {kVocabSize, kWidth}, 3);
    add("model.decoder.embed_positions.weight", {kContext, kWidth}, 5);
    for (const std::string side : {"encoder", "decoder"}) {
      for (int layer = 0; layer < kLayers; ++layer) {
        const std::string name = fmt::format("model.{}.layers.{}", side, layer);
        add_attention(fmt::format("{}.self_attn", name));
        if (side == "decoder") add_attention(fmt::format("{}.encoder_attn", name));
        add_linear(fmt::format("{}.fc1", name), kInner, kWidth, true, 1);
        add_linear(fmt::format("{}.fc2", name), kWidth, kInner, true, 1);
        add_norm(fmt::format("{}.final_layer_norm", name));
      }
      add_norm(fmt::format("model.{}.layer_norm", side));
    }
    SafetensorsWriter writer(folder_ / "model.safetensors", tensors_);
    for (const auto& values : values_) writer.append(std::as_bytes(std::span(values)));
    writer.finish();
  }

  std::filesystem::path folder_;
  std::mt19937_64 random_;
  std::vector<SafetensorsWriter::Declaration> tensors_;
  std::vector<std::vector<float>> values_;
};

}  // namespace pippin::speech
