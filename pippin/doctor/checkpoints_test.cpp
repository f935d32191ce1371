// Checkpoints of many kinds in every family and compression: the findings for each package are
// exactly those that docs/doctor.md ("What Pippin writes") lists.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/base/testing.h"
#include "pippin/doctor/examine.h"

namespace pippin::doctor {
namespace {

namespace fs = std::filesystem;
using Ids = std::set<std::string>;

Ids operator+(Ids some, const Ids& others) {
  some.insert(others.begin(), others.end());
  return some;
}

// Models that take any number of tokens.
const Ids kFlexible = {"dynamic-slice", "range-shape"};
// Computed positions: windows of attention, ALiBi's distances, buckets of distances.
const Ids kPositions = {"data-dependent-shape"};
const Ids kSorted = {"unsupported-operation"};  // the choice of experts; running sums
const Ids kAngles = {"fp32-compute"};           // for RoPE that depends on the length
const Ids kStates = {"state-last-axis"};        // the checkpoints' heads are small

// The warnings and errors of the written package, except for the tokenizer that the checkpoints
// lack.
Ids serious(const fs::path& source, const std::string& target, const app::ConvertOptions& options) {
  const TempDir scratch;
  const fs::path output =
      scratch / (options.family == "stateful" ? "converted.mlpackage" : "converted");
  app::convert(source, output, options);
  ExamineOptions examined;
  examined.target = parse_target(target);
  Ids ids;
  for (const PartReport& part : examine(output, examined).parts) {
    for (const Finding& finding : part.findings) {
      if (finding.rule->severity > Severity::Note) ids.emplace(finding.rule->id);
    }
  }
  ids.erase("missing-tokenizer");
  return ids;
}

app::ConvertOptions family(const std::string& name) {
  app::ConvertOptions options;
  options.family = name;
  if (name != "anemll") options.norms = "safe";
  return options;
}

struct Checkpoint {
  std::string name;
  Ids stateful = {}, anemll = {}, windowed = {};  // in addition to the family's own
  std::string refused = {};                       // error of the families of fixed sizes, if any
};

TEST(DoctorCheckpoints, LanguageModelsAreCleanButForWhatIsSaid) {
  const std::vector<Checkpoint> checkpoints = {
      {"llama_mha"},
      {"qwen3"},
      {"gpt2"},
      {"gemma"},
      {"phi3_longrope_cross"},
      {"llama_sharded_bf16"},
      {"gemma2", kPositions},
      {"mistral_sw", kPositions},
      {"mpt", kPositions},
      {"bloom", kPositions, {"enumerated-layer-norm"}},  // a norm after the embedding
      {"llama_dynamic", kPositions + kAngles, kAngles, kAngles},
      {"lfm2", {}, {}, {}, "convolution"},
      {"mixtral", kSorted, {}, {}, "experts have no form"},
      {"deepseek_v3", kSorted, {}, {}, "latent attention"},
      {"gpt_oss", kPositions + kSorted, {}, {}, "attention with sinks has no form"},
  };
  int examined = 0;
  for (const Checkpoint& one : checkpoints) {
    SCOPED_TRACE(one.name);
    const auto found = shared_data("architectures/" + one.name);
    if (!found) continue;
    ++examined;
    const fs::path& source = *found;
    EXPECT_EQ(serious(source, "ios18", family("stateful")), kFlexible + kStates + one.stateful);
    if (one.refused.empty()) {
      EXPECT_EQ(serious(source, "ios18", family("anemll")), kStates + one.anemll);
      EXPECT_EQ(serious(source, "ios17", family("windowed")), one.windowed);
    } else {
      for (const char* name : {"anemll", "windowed"}) {
        EXPECT_ERROR(serious(source, "ios18", family(name)), ErrorCode::Unsupported, one.refused);
      }
    }
  }
  if (examined == 0) GTEST_SKIP() << shared_data_absent("architectures");
}

TEST(DoctorCheckpoints, UnusualLayersEncodersAndEncoderDecodersToo) {
  const Ids pooled = {"fp32-compute", "range-shape"};  // sums of rows are fp32
  const std::vector<std::pair<std::string, Ids>> checkpoints = {
      {"bert_cls", pooled + Ids{"dynamic-slice"}},
      {"distilbert_mean", pooled + Ids{"dynamic-slice"}},
      {"roberta_mean", pooled + kSorted},
      {"t5_encoder_mean", pooled + kPositions},
      {"modernbert_cls", pooled + Ids{"dynamic-slice"} + kPositions},
      {"qwen3_lasttoken", pooled + Ids{"dynamic-slice", "rank-5"} + kPositions},
      {"t5", kFlexible + kStates + kPositions},
      {"mamba", kFlexible + kStates + Ids{"fp32-compute"}},
      {"mamba2", Ids{"range-shape", "fp32-compute", "rank-5"} + kStates + kPositions + kSorted},
      {"llama_awq", kFlexible + kStates},
      {"gpt_oss_mxfp4", kFlexible + kStates + kPositions + kSorted},
  };
  int examined = 0;
  for (const auto& [name, want] : checkpoints) {
    SCOPED_TRACE(name);
    const auto source = shared_data("architectures2/" + name);
    if (!source) continue;
    ++examined;
    app::ConvertOptions options;
    const bool has_norms = name == "mamba" || name == "mamba2" || name.starts_with("llama") ||
                           name.starts_with("gpt_oss");
    if (has_norms) options.norms = "safe";
    EXPECT_EQ(serious(*source, "ios18", options), want);
  }
  if (examined == 0) GTEST_SKIP() << shared_data_absent("architectures2");
}

struct Form {
  app::CompressOptions options;
  bool is_new;  // whether iOS 18 introduced its form
  Ids own;
};

TEST(DoctorCheckpoints, EveryCompressionSaysWhatItNeeds) {
  PIPPIN_SHARED_OR_SKIP(qwen3, "architectures/qwen3");
  std::vector<Form> forms;
  const auto add = [&](bool is_new, auto&& change, const Ids& own = {}) {
    app::CompressOptions options;
    change(options);
    forms.push_back({options, is_new, own});
  };
  add(false, [](auto& o) { o.quantize = "int8"; });
  add(false, [](auto& o) { o.quantize = "uint8", o.asymmetric = true; });
  add(true, [](auto& o) { o.quantize = "int4"; });
  add(false, [](auto& o) { o.palettize = 4; });
  add(true, [](auto& o) { o.palettize = 6, o.group = 16; });
  add(true, [](auto& o) { o.palettize = 4, o.lut_dtype = "int8"; });
  add(true, [](auto& o) { o.palettize = 2, o.cluster_dim = 2; });
  add(true, [](auto& o) { o.palettize = 3, o.per_channel_scale = true; }, {"palette-scale"});
  add(false, [](auto& o) { o.prune = 0.5; });
  add(false, [](auto& o) { o.n_m_ratio = "2:4"; });
  add(true, [](auto& o) { o.prune = 0.5, o.quantize = "int8"; });
  add(true, [](auto& o) { o.prune = 0.3, o.palettize = 4; });
  const Ids newer = {"compression-version", "opset", "specification-version"};
  for (size_t i = 0; i < forms.size(); ++i) {
    SCOPED_TRACE(i);
    app::ConvertOptions windowed = family("windowed"), anemll = family("anemll");
    windowed.compression = anemll.compression = forms[i].options;
    const Ids& own = forms[i].own;
    EXPECT_EQ(serious(qwen3, "ios18", windowed), own);
    EXPECT_EQ(serious(qwen3, "ios17", windowed), own + (forms[i].is_new ? newer : Ids()));
    EXPECT_EQ(serious(qwen3, "ios18", anemll), own + kStates);
  }
}

}  // namespace
}  // namespace pippin::doctor
