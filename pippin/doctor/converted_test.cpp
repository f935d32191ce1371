// Packages written by `pippin convert` have no findings for their target, except those inherent to
// a family.
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/verify.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/doctor/doctor_testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::doctor {
namespace {

namespace fs = std::filesystem;
using Ids = std::set<std::string>;

// A model with heads of 32 features.
void write_config(const fs::path& path, const std::string& type) {
  const std::string name = type == "llama" ? "LlamaForCausalLM" : "Qwen3ForCausalLM";
  write_file(path, fmt::format(R"({{"architectures": ["{}"], "model_type": "{}",
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 128, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": false}})",
                               name, type));
}

// Findings above a note, or about norms, except for the tokenizer that a config.json lacks.
Ids serious(const fs::path& output, const std::string& target) {
  ExamineOptions options;
  options.target = parse_target(target);
  Ids ids;
  for (const PartReport& part : examine(output, options).parts) {
    for (const Finding& finding : part.findings) {
      const std::string id(finding.rule->id);
      const bool counts = finding.rule->severity > Severity::Note || id == "norm-squares";
      if (counts && id != "missing-tokenizer") ids.insert(id);
    }
  }
  return ids;
}

TEST(DoctorConverted, PackagesAreCleanButForWhatTheFamilyIs) {
  TempDir scratch;
  for (const std::string type : {"llama", "qwen3"}) {
    SCOPED_TRACE(type);
    write_config(scratch / "config.json", type);
    const auto converted = [&](const std::string& family, const std::string& norms,
                               const std::string& target) {
      app::ConvertOptions options;
      options.family = family;
      options.norms = norms;
      options.random_weights = true;
      const fs::path output =
          scratch / (family + norms + type + (family == "stateful" ? ".mlpackage" : ""));
      app::convert(scratch / "config.json", output, options);
      return serious(output, target);
    };
    EXPECT_EQ(converted("anemll", "", "ios18"), Ids());
    EXPECT_EQ(converted("windowed", "", "ios17"), Ids());
    EXPECT_EQ(converted("windowed", "plain", "ios17"), Ids{"norm-squares"});
    EXPECT_EQ(converted("stateful", "safe", "macos15"), (Ids{"dynamic-slice", "range-shape"}));
    EXPECT_EQ(converted("stateful", "", "macos15"),
              (Ids{"dynamic-slice", "norm-squares", "range-shape"}));
  }
}

// The tower's package has fixed shapes, and no state.
TEST(DoctorConverted, VisionTowersAreClean) {
  TempDir folder, out;
  const char* const config = R"({"model_type": "llava", "image_token_id": 30, "text_config": {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1,
    "num_attention_heads": 2, "vocab_size": 40, "max_position_embeddings": 64}, "vision_config": {
    "model_type": "clip_vision_model", "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 32, "patch_size": 8}})";
  models::write_random_model(folder.path(), config, [](const fs::path& path) {
    models::build(path, {.rows = true});
    models::VisionModel(path).build({{1, 3, 32, 32}, {}});
  });
  write_file(folder / "preprocessor_config.json",
             R"({"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 32},
                 "crop_size": {"height": 32, "width": 32}})");
  app::convert(folder.path(), out / "made");
  EXPECT_EQ(serious(out / "made" / "vision.mlpackage", "ios18"), Ids());
}

// The magnitudes of Gemma 3n's streams, which no norm computes, are written like norms; the logits
// are unchanged.
TEST(DoctorConverted, StreamsDoNotOverflow) {
  PIPPIN_SHARED_OR_SKIP(model, "architectures2/gemma3n_text");
  TempDir scratch;
  const auto converted = [&](const std::string& norms) {
    app::ConvertOptions options;
    options.norms = norms;
    app::convert(model.string(), scratch / (norms + ".mlpackage"), options);
    return serious(scratch / (norms + ".mlpackage"), "macos15");
  };
  EXPECT_TRUE(converted("plain").contains("norm-overflow"));
  EXPECT_FALSE(converted("safe").contains("norm-overflow"));
  const app::TokenInput tokens{{5, 9, 1, 30, 7, 7, 2, 11}, std::nullopt};
  app::ModelChoice choice;
  choice.path = (scratch / "safe.mlpackage").string();
  app::ModelChoice source;
  source.path = model.string();
  app::VerifyOptions options;
  options.limits = {.max_kl = 1e-3, .min_top1 = 90};
  EXPECT_TRUE(app::verify(choice, source, tokens, options).holds());
}

TEST(DoctorConverted, NormsThatThereAreNot) {
  app::ConvertOptions options;
  options.norms = "safest";
  EXPECT_ERROR(app::check_convert_options("model", options), ErrorCode::InvalidArgument,
               "--norms safest: plain or safe");
  options.norms = "plain";
  options.family = "anemll";
  EXPECT_ERROR(app::check_convert_options("model", options), ErrorCode::InvalidArgument,
               "--norms plain: the norms of --family anemll are safe");
}

}  // namespace
}  // namespace pippin::doctor
