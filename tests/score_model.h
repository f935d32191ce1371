// For tests: a reranker of a golden language model whose chat template gives its golden tokens, and
// a table of static embeddings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/npz.h"
#include "pippin/io/safetensors_writer.h"
#include "tests/golden_texts.h"

namespace pippin::testing_models {

// The score is the difference of the golden logits of two tokens, after a prompt that a template
// makes of a query (the tokens 1 and 2 of it) and a document (from 4 on).
class ScoreModel {
 public:
  static constexpr size_t kTrue = 90, kFalse = 91;

  explicit ScoreModel(const std::filesystem::path& golden)
      : file_(NpzFile::open(golden / "golden.npz")) {
    copy_golden(golden, folder_.path());
    const NpyArray ids = file_.read("input_ids");
    ids_.assign(ids.as<int32_t>().begin(), ids.as<int32_t>().end());
    write("modules.json", R"([
      {"idx": 0, "name": "0", "path": "",
       "type": "sentence_transformers.base.modules.transformer.Transformer"},
      {"idx": 1, "name": "1", "path": "1_LogitScore",
       "type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}])");
    write("1_LogitScore/config.json", R"({"true_token_id": 90, "false_token_id": 91})");
    write("config_sentence_transformers.json",
          R"({"activation_fn": "torch.nn.modules.linear.Identity"})");
    write("sentence_bert_config.json", R"({"transformer_task": "text-generation",
      "modality_config": {"message": {"method": "forward", "method_output_name": "logits"}}})");
    write("chat_template.jinja",
          words(0, 1) + " {{ messages[0].content }} " + words(3, 4) + " {{ messages[1].content }}");
  }

  std::string path() const { return folder_.path().string(); }
  std::string query() const { return words(1, 3); }
  std::string document() const { return words(4, ids_.size()); }
  double expected() const {
    const auto logits = file_.read("logits").to_doubles();
    const size_t width = logits.size() / ids_.size(), last = logits.size() - width;
    return logits[last + kTrue] - logits[last + kFalse];
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    write_file(folder_.path() / name, text);
  }
  std::string words(size_t begin, size_t end) const {
    return words_of(std::span(ids_).subspan(begin, end - begin));
  }

  TempDir folder_;
  NpzFile file_;
  std::vector<int32_t> ids_;
};

// Writes a model of one StaticEmbedding module for the words w0, w1, ... and returns its table,
// [rows, width].
inline std::vector<float> write_static_embedding(const std::filesystem::path& folder, int rows,
                                                 int width) {
  const std::filesystem::path inner = folder / "0_StaticEmbedding";
  std::filesystem::create_directories(inner);
  write_file(folder / "modules.json",
             R"([{"idx": 0, "name": "0", "path": "0_StaticEmbedding",
                  "type": "sentence_transformers.models.StaticEmbedding"}])");
  write_word_tokenizer(inner, rows);
  std::vector<float> table;
  for (int i = 0; i < rows * width; ++i) table.push_back(static_cast<float>(i * 7 % 23) / 8);
  SafetensorsWriter writer(inner / "model.safetensors",
                           {{"embedding.weight", Dtype::F32, {rows, width}}});
  writer.append(std::as_bytes(std::span(table)));
  writer.finish();
  return table;
}

}  // namespace pippin::testing_models
