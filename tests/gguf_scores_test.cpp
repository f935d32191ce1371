// GGUF files of language models that score pairs: the head's rows for yes and no, and the template
// for a pair. The logits of a golden are the oracle.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/open/gguf_model.h"
#include "pippin/app/pair_prompt.h"
#include "pippin/app/text_encoder.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/chat/chat_template.h"
#include "pippin/io/checkpoint.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/runtime/encoder_model.h"
#include "tests/gguf_recipes.h"
#include "tests/gguf_testing.h"
#include "tests/golden_testing.h"
#include "tests/reference_logits.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing_gguf::GgufFile;

constexpr int64_t kYes = 7, kNo = 11;

// Rows of the golden's output matrix.
std::string rows_of(const fs::path& golden, std::initializer_list<int64_t> rows, int64_t& width) {
  const Checkpoint checkpoint = Checkpoint::open(golden);
  const char* const name =
      checkpoint.contains("lm_head.weight") ? "lm_head.weight" : "model.embed_tokens.weight";
  const TensorInfo& head = checkpoint.at(name);
  width = head.shape.at(1);
  const auto bytes = static_cast<size_t>(width) * sizeof(float);
  std::string result;
  for (const int64_t row : rows) {
    result.append(
        reinterpret_cast<const char*>(head.bytes.data()) + static_cast<size_t>(row) * bytes, bytes);
  }
  return result;
}

class GgufPairScores : public testing::Test {
 protected:
  // The file of the golden "qwen3" with a head of these rows.
  GgufFile file(std::initializer_list<int64_t> rows) {
    GgufFile result = testing_gguf::Recipe(recipe_).file(golden_);
    result.number("qwen3.pooling_type", 4);
    int64_t width = 0;
    const std::string values = rows_of(golden_, rows, width);
    result.tensor("cls.output.weight", {static_cast<int64_t>(rows.size()), width}, values);
    return result;
  }
  double score(const fs::path& path, const std::vector<int32_t>& ids) {
    const auto program = std::make_shared<const mil::Model>(models::build_encoder(
        app::gguf_folder(path), {.compute = models::BuildOptions::Compute::Float32Direct}));
    const auto pool = std::make_shared<ThreadPool>(1);
    runtime::EncoderModel model(program, pool,
                                {.compute = {.precision = engine::Precision::Exact}});
    EXPECT_TRUE(model.scores());
    const std::vector<runtime::EncoderText> texts = {{ids, {}, 0, 0}};
    return model.run(texts).front().at(0);
  }

  fs::path recipe_, golden_;
  TempDir dir_;
};

TEST_F(GgufPairScores, AreDifferencesOfLogits) {
  PIPPIN_SHARED_OR_SKIP(recipe, "gguf-recipes/qwen3.json");
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/qwen3");
  recipe_ = recipe;
  golden_ = folder;
  const testing_models::Golden golden(folder);
  const size_t vocabulary = golden.logits.size() / golden.prompt.size();
  const double* const last = golden.logits.data() + golden.logits.size() - vocabulary;
  file({kYes, kNo}).write(dir_ / "two.gguf");
  EXPECT_TRUE(app::is_text_encoder(app::gguf_folder(dir_ / "two.gguf")));
  EXPECT_NEAR(score(dir_ / "two.gguf", golden.prompt), last[kYes] - last[kNo], 1e-4);
  file({kYes}).write(dir_ / "one.gguf");
  EXPECT_NEAR(score(dir_ / "one.gguf", golden.prompt), last[kYes], 1e-4);
  file({kYes, kNo, 1}).write(dir_ / "three.gguf");
  EXPECT_ERROR(app::gguf_folder(dir_ / "three.gguf"), ErrorCode::Unsupported,
               "cls.output.weight: 3 labels: 1 or 2 (yes, no) can score");
}

TEST_F(GgufPairScores, TheTemplateHasPlacesForBothTexts) {
  PIPPIN_SHARED_OR_SKIP(recipe, "gguf-recipes/qwen3.json");
  PIPPIN_SHARED_OR_SKIP(folder, "architectures/qwen3");
  recipe_ = recipe;
  golden_ = folder;
  GgufFile made = file({kYes, kNo});
  made.text("tokenizer.chat_template", "{{ messages }}");
  made.text("tokenizer.chat_template.rerank",
            "<s>\n\"{% raw %}\" <Q>: {query}\n<D>: {document}</s>\\n");
  made.write(dir_ / "m.gguf");
  const fs::path folder_of_file = app::gguf_folder(dir_ / "m.gguf");
  EXPECT_TRUE(app::PairPrompt::from_folder(folder_of_file));
  const auto pair = ChatTemplate::from_folder(folder_of_file);
  ASSERT_TRUE(pair);
  const std::vector<Message> messages = {{"query", "what {document}?"}, {"document", "\"this\""}};
  EXPECT_EQ(pair->render(messages, false),
            "<s>\n\"{% raw %}\" <Q>: what {document}?\n<D>: \"this\"</s>\\n");
}

}  // namespace
}  // namespace pippin
