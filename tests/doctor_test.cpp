// pippin doctor, inspect --compute-plan and repackage --fix: the built program, end to end.

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Attention with fully masked rows, for iOS 16; in fp32 if `type` is fp32.
std::string masked(const std::string& type) {
  return "program(1.0)\n{ func main<ios16>(tensor<" + type + ", [1, 4]> x) { tensor<" + type +
         ", [4]> m = const()[name = tensor<string, []>(\"m\"), val = tensor<" + type +
         ", [4]>([-inf, -inf, -inf, -inf])]; tensor<" + type +
         ", [1, 4]> a = add(x = x, y = m)[name = tensor<string, []>(\"a\")]; tensor<" + type +
         ", [1, 4]> y = softmax(axis = tensor<int32, []>(-1), x = a)[name = tensor<string, "
         "[]>(\"y\")]; } -> (y); }\n";
}

TEST(DoctorEndToEnd, StatusesSayTheWorstThatWasFound) {
  PIPPIN_SHARED_OR_SKIP(model, "architectures/llama_mha");
  const TempDir scratch;
  const std::string package = (scratch / "m.mlpackage").string();
  ASSERT_EQ(run_pippin({"convert", model.string(), "-o", package}).status, 0);
  // Heads of 8 features.
  const auto report = run_pippin({"doctor", package, "--target", "ios18"});
  EXPECT_EQ(report.status, 5) << report.err;
  EXPECT_EQ(report.err, "");
  EXPECT_NE(report.out.find("error    state-last-axis"), std::string::npos) << report.out;
  EXPECT_EQ(report.out.find('\x1b'), std::string::npos);  // not a terminal
  const auto old = run_pippin({"doctor", package, "--target", "ios17", "--json"});
  EXPECT_EQ(old.status, 5);
  std::set<std::string> rules;
  for (const Json& one :
       Json::parse(old.out, "report").at("parts").at(0).at("findings").elements()) {
    rules.emplace(one.get_string("rule"));
  }
  for (const char* rule : {"specification-version", "opset", "states-version"}) {
    EXPECT_TRUE(rules.contains(rule)) << rule;
  }
  const auto plan = run_pippin({"inspect", package, "--compute-plan"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("model_embed_tokens  [gather]"), std::string::npos) << plan.out;
  const auto nodes = run_pippin({"inspect", package, "--plan"});
  EXPECT_EQ(nodes.status, 0) << nodes.err;
  EXPECT_NE(nodes.out.find(" = rms_norm(%"), std::string::npos) << nodes.out;
  const auto listed = run_pippin({"inspect", package, "--plan", "--json"});
  const Json functions = Json::parse(listed.out, "plan").at("functions");
  EXPECT_EQ(functions.at(0).get_string("name"), "main");
  EXPECT_GT(functions.at(0).at("nodes").size(), 10U);
  EXPECT_EQ(run_pippin({"doctor", package, "--target", "ios19"}).status, 1);
  EXPECT_EQ(run_pippin({"doctor"}).status, 2);
  EXPECT_EQ(run_pippin({"doctor", (scratch / "none").string()}).status, 1);
}

TEST(DoctorEndToEnd, WhatIsFixedIsGone) {
  const TempDir scratch;
  fs::create_directories(scratch / "m.mlmodelc");
  write_file(scratch / "m.mlmodelc/model.mil", masked("fp16"));
  const std::string compiled = (scratch / "m.mlmodelc").string();
  const std::string mended = (scratch / "n.mlpackage").string();
  EXPECT_EQ(run_pippin({"doctor", compiled}).status, 4);
  const auto fixed = run_pippin({"repackage", compiled, "-o", mended, "--fix", "all"});
  EXPECT_EQ(fixed.status, 0) << fixed.err;
  EXPECT_NE(fixed.out.find("softmax-mask: 1 constants"), std::string::npos) << fixed.out;
  const auto after = run_pippin({"doctor", mended, "--target", "ios16"});
  EXPECT_EQ(after.status, 0) << after.out;
  const auto unknown = run_pippin({"repackage", compiled, "-o", mended, "--fix", "gather"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("--fix gather: there are all, "), std::string::npos) << unknown.err;
}

// Each preset has the options that it documents, and gives a package that suits its system.
TEST(DoctorEndToEnd, PresetsSuitTheirSystems) {
  const TempDir scratch;
  const std::string config = (scratch / "config.json").string();
  write_file(config, R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 128, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 256, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": false})");
  const std::string documented = read_file(source_dir() / "docs/cli.md");
  const auto convert = [&](std::vector<std::string> options, const std::string& output) {
    options.insert(options.begin(), {"convert", config, "--random-weights", "-o", output});
    const auto run = run_pippin(options);
    EXPECT_EQ(run.status, 0) << run.err;
  };
  struct Case {
    std::string preset, target;
    std::vector<std::string> options;
    std::set<std::string> warnings;
  };
  const std::vector<std::string> six = {"--family",  "anemll", "--max-chunk-mb", "ios",
                                        "--lut-ffn", "6",      "--lut-head",     "6"};
  std::vector<std::string> four = six, macos = six;
  four[5] = "4,16";
  macos[3] = "macos";
  const std::vector<Case> cases = {
      {"ios17",
       "ios17",
       {"--family", "windowed", "--blocks-per-chunk", "3", "--quantize", "int8"},
       {}},
      {"iphone15", "ios18", four, {}},
      {"iphone16", "ios18", six, {}},
      {"ipad-m1", "ios18", six, {}},
      {"mac-m1", "macos15", macos, {}},
      {"mac-gpu",
       "macos15",
       {"--family", "stateful", "--norms", "safe", "--quantize", "int4"},
       {"dynamic-slice", "range-shape"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.preset);
    const std::string ending = one.preset == "mac-gpu" ? ".mlpackage" : "";
    const std::string preset = (scratch / ("preset-" + one.preset + ending)).string();
    const std::string given = (scratch / ("given-" + one.preset + ending)).string();
    convert({"--device", one.preset}, preset);
    convert(one.options, given);
    std::string row = "`" + one.preset + "` | ";
    const size_t start = documented.find(row);
    ASSERT_NE(start, std::string::npos);
    std::string options;
    for (const std::string& word : one.options) options += (options.empty() ? "" : " ") + word;
    EXPECT_NE(documented.substr(start, documented.find('\n', start) - start).find(options),
              std::string::npos);
    // The same packages, byte for byte.
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(preset)) {
      if (!entry.is_regular_file() || entry.path().filename() == "Manifest.json") continue;
      const fs::path other = fs::path(given) / entry.path().lexically_relative(preset);
      EXPECT_TRUE(read_file(entry.path()) == read_file(other)) << entry.path();
      ++files;
    }
    EXPECT_GE(files, 2u);
    const auto report = run_pippin({"doctor", preset, "--target", one.target, "--json"});
    std::set<std::string> warnings;
    const Json parsed = Json::parse(report.out, "report");
    for (const Json& part : parsed.at("parts").elements()) {
      for (const Json& found : part.at("findings").elements()) {
        if (found.get_string("severity") != "note") warnings.emplace(found.get_string("rule"));
      }
    }
    warnings.erase("missing-tokenizer");  // a config.json has no tokenizer
    EXPECT_EQ(warnings, one.warnings);
  }
  // Options of the command line override the preset's; its compression then replaces the preset's.
  convert({"--device", "iphone16", "--quantize", "int8"}, (scratch / "mine").string());
  convert({"--family", "anemll", "--quantize", "int8"}, (scratch / "yours").string());
  const std::string head = "llama_lm_head.mlpackage/Data/com.apple.CoreML/weights/weight.bin";
  EXPECT_TRUE(read_file(scratch / "mine" / head) == read_file(scratch / "yours" / head));
  const auto unknown = run_pippin({"convert", config, "-o", "x", "--device", "toaster"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("--device toaster: there are ios17, "), std::string::npos);
}

TEST(DoctorEndToEnd, RulesArePrintedAsTheyAreDocumented) {
  const auto rules = run_pippin({"doctor", "--rules"});
  EXPECT_EQ(rules.status, 0);
  EXPECT_NE(read_file(source_dir() / "docs/doctor.md").find(rules.out), std::string::npos);
}

}  // namespace
}  // namespace pippin
