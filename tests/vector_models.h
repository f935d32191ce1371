// For tests: a sparse encoder and a late-interaction model made of golden encoders, whose words are
// ids, with the vectors that follow from Hugging Face's outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/safetensors_writer.h"
#include "tests/golden_texts.h"

namespace pippin::testing_models {

// A writable copy of a golden model, with its texts.
class VectorModel : public GoldenTexts {
 public:
  explicit VectorModel(const std::filesystem::path& golden) : GoldenTexts(golden) {
    copy_golden(golden, folder_.path());
  }
  std::string path() const { return folder_.path().string(); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    write_file(folder_.path() / name, text);
  }
  std::filesystem::path folder() const { return folder_.path(); }

 private:
  TempDir folder_;
};

inline constexpr int64_t kGoldenWidth = 32, kTokenVector = 8;
inline constexpr size_t kGoldenVocabulary = 160;

// All numbers of a sparse vector, which is an object with indices and values.
inline std::vector<double> dense_of(const Json& sparse) {
  const auto values = sparse.at("values").as_floats();
  std::vector<double> dense(kGoldenVocabulary);
  for (size_t i = 0; i < values.size(); ++i) {
    dense.at(static_cast<size_t>(sparse.at("indices").at(i).as_int())) = values[i];
  }
  return dense;
}

class Splade {
 public:
  explicit Splade(const std::filesystem::path& golden) : model(golden) {
    model.write("modules.json", R"([
      {"idx": 0, "name": "0", "path": "",
       "type": "sentence_transformers.sparse_encoder.models.MLMTransformer.MLMTransformer"},
      {"idx": 1, "name": "1", "path": "1_SpladePooling",
       "type": "sentence_transformers.sparse_encoder.models.SpladePooling.SpladePooling"}])");
    pool("max", "relu");
  }
  void pool(const std::string& strategy, const std::string& activation) const {
    model.write("1_SpladePooling/config.json", R"({"pooling_strategy": ")" + strategy +
                                                   R"(", "activation_function": ")" + activation +
                                                   R"(", "word_embedding_dimension": null})");
  }
  // The expected vector from Hugging Face's logits.
  std::vector<double> expected(size_t row, bool sum, bool twice) const {
    const std::vector<double> logits = model.numbers("logits", row);
    std::vector<double> result(kGoldenVocabulary);
    for (size_t token = 0; token < model.ids(row).size(); ++token) {
      for (size_t i = 0; i < kGoldenVocabulary; ++i) {
        double x = std::log1p(std::max(logits[token * kGoldenVocabulary + i], 0.0));
        if (twice) x = std::log1p(x);
        result[i] = sum ? result[i] + x : std::max(result[i], x);
      }
    }
    return result;
  }
  VectorModel model;
};

inline float weight_at(int64_t row, int64_t column) {
  return static_cast<float>((row * 7 + column * 13) % 11 - 5) / 8;
}

// A late-interaction model in pylate's form; `settings` are members of its configuration.
class Late {
 public:
  explicit Late(const std::filesystem::path& golden) : model(golden) {
    model.write("modules.json", R"([
      {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
      {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}])");
    model.write("1_Dense/config.json",
                R"({"in_features": 32, "out_features": 8, "bias": false,
                    "activation_function": "torch.nn.modules.linear.Identity"})");
    model.write("tokenizer_config.json", R"({"mask_token": "w3"})");
    SafetensorsWriter writer(model.folder() / "1_Dense" / "model.safetensors",
                             {{"linear.weight", Dtype::F32, {kTokenVector, kGoldenWidth}}});
    for (int64_t i = 0; i < kTokenVector * kGoldenWidth; ++i) {
      const float value = weight_at(i / kGoldenWidth, i % kGoldenWidth);
      writer.append(std::as_bytes(std::span(&value, 1)));
    }
    writer.finish();
    set(R"("skiplist_words": [])");
  }
  void set(const std::string& settings) const {
    model.write("config_sentence_transformers.json",
                R"({"model_type": "ColBERT", "query_prefix": "", "document_prefix": "",
                    "query_length": 6, "document_length": 30, )" +
                    settings + "}");
  }
  // The expected vectors from Hugging Face's states.
  std::vector<std::vector<double>> expected(size_t row) const {
    const std::vector<double> states = model.numbers("last_hidden_state", row);
    std::vector<std::vector<double>> rows;
    for (size_t token = 0; token < model.ids(row).size(); ++token) {
      std::vector<double>& vector = rows.emplace_back();
      double squares = 0;
      for (int64_t i = 0; i < kTokenVector; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < kGoldenWidth; ++k) {
          sum += weight_at(i, k) * states[token * kGoldenWidth + static_cast<size_t>(k)];
        }
        vector.push_back(sum);
        squares += sum * sum;
      }
      for (double& x : vector) x /= std::sqrt(squares);
    }
    return rows;
  }
  VectorModel model;
};

}  // namespace pippin::testing_models
