// pippin doctor, inspect --compute-plan and repackage --fix: the built program, end to end.

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/file.h"
#include "pippin/base/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Of attention whose mask no row survives, for iOS 16; in fp32 where `type` says so.
std::string masked(const std::string& type) {
  return "program(1.0)\n{ func main<ios16>(tensor<" + type + ", [1, 4]> x) { tensor<" + type +
         ", [4]> m = const()[name = tensor<string, []>(\"m\"), val = tensor<" + type +
         ", [4]>([-inf, -inf, -inf, -inf])]; tensor<" + type +
         ", [1, 4]> a = add(x = x, y = m)[name = tensor<string, []>(\"a\")]; tensor<" + type +
         ", [1, 4]> y = softmax(axis = tensor<int32, []>(-1), x = a)[name = tensor<string, "
         "[]>(\"y\")]; } -> (y); }\n";
}

TEST(DoctorEndToEnd, StatusesSayTheWorstThatWasFound) {
  PIPPIN_SHARED_OR_SKIP(model, "models/stories260K");
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

TEST(DoctorEndToEnd, RulesArePrintedAsTheyAreDocumented) {
  const auto rules = run_pippin({"doctor", "--rules"});
  EXPECT_EQ(rules.status, 0);
  EXPECT_NE(read_file(source_dir() / "docs/doctor.md").find(rules.out), std::string::npos);
}

}  // namespace
}  // namespace pippin
