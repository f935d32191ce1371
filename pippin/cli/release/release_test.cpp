// Recipes, gates and reports of releases. tests/hub/release_test.py runs whole ones.
#include <fstream>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/cli/release/recipe.h"
#include "pippin/cli/release/release_report.h"

namespace pippin::cli {
namespace {

Recipe recipe_of(const std::string& yaml) {
  const TempDir scratch;
  std::ofstream(scratch / "recipe.yaml") << yaml;
  return read_recipe(scratch / "recipe.yaml", [](std::string_view, const std::string& option) {
    return option != "--frob";
  });
}

TEST(Recipe, KeysAreOptions) {
  const Recipe recipe = recipe_of(
      "source: org/name\nrepo: org/new\nvariants:\n  plain:\n  int8: {quantize: int8}\n"
      "  phone: {device: iphone15, context: 512}\n  whole: {folder: true}\n"
      "verify: {text: a.txt, max-kl: 0.05, same-greedy: true, image: [a.png, b.png]}\n"
      "doctor: {target: ios18, allow: [gather]}\nbench: {n-gen: 32, min-tokens-per-second: 2.5}\n"
      "push: {create-pr: true}\n");
  ASSERT_EQ(recipe.variants.size(), 4U);
  EXPECT_EQ(recipe.variants[0].path(), "plain.mlpackage");
  EXPECT_EQ(recipe.variants[1].convert, (Arguments{"--quantize", "int8"}));
  EXPECT_EQ(recipe.variants[2].path(), "phone");
  EXPECT_EQ(recipe.variants[2].convert, (Arguments{"--device", "iphone15", "--context", "512"}));
  EXPECT_EQ(recipe.variants[3].path(), "whole");
  EXPECT_TRUE(recipe.variants[3].convert.empty());
  EXPECT_EQ(recipe.verify, (Arguments{"--text", "a.txt", "--max-kl", "0.05", "--same-greedy",
                                      "--image", "a.png", "--image", "b.png"}));
  EXPECT_EQ(recipe.bench, (Arguments{"--n-gen", "32"}));
  EXPECT_EQ(recipe.min_tokens_per_second, 2.5);
  EXPECT_EQ(recipe.doctor->target, "ios18");
  EXPECT_EQ(recipe.push, Arguments{"--create-pr"});
  EXPECT_EQ(recipe.output.filename(), "recipe-release");
}

TEST(Recipe, WhatIsWrongIsNamed) {
  const std::string head = "source: a/b\n";
  EXPECT_ERROR(recipe_of("variants: {a: }\n"), ErrorCode::InvalidFile, "source");
  EXPECT_ERROR(recipe_of(head), ErrorCode::InvalidFile, "variants");
  EXPECT_ERROR(recipe_of(head + "variants: {}\n"), ErrorCode::InvalidFile, "no variant");
  EXPECT_ERROR(recipe_of(head + "variants: {a: }\nfrob: 1\n"), ErrorCode::InvalidFile,
               "not a key of a recipe here (known: source, repo,");
  EXPECT_ERROR(recipe_of(head + "variants: {a: {frob: 1}}\n"), ErrorCode::InvalidFile,
               "recipe.yaml: variants.a.frob: pippin convert has no option --frob");
  EXPECT_ERROR(recipe_of(head + "variants: {a: {output: x}}\n"), ErrorCode::InvalidFile,
               "a release sets this option itself");
  EXPECT_ERROR(recipe_of(head + "variants: {../a: }\n"), ErrorCode::InvalidFile,
               "not the name of a variant");
  EXPECT_ERROR(recipe_of(head + "repo: a//b\nvariants: {a: }\n"), ErrorCode::InvalidFile,
               "not a repository: org/name");
  EXPECT_ERROR(recipe_of(head + "variants: {a: }\ndoctor: {allow: [frob]}\n"),
               ErrorCode::InvalidFile, "\"frob\" is not a rule");
  EXPECT_ERROR(recipe_of(head + "variants: {a: }\ndoctor: {fail-on: x}\n"), ErrorCode::InvalidFile,
               "not one of error, warning, never");
}

StepRecord record_of(const std::string& json) {
  StepRecord record;
  record.name = "a.step";
  if (!json.empty()) record.result = Json::parse(json, "step");
  return record;
}

TEST(Release, Gates) {
  VariantReport report;
  check_verify(record_of(R"({"broken": []})"), report);
  check_bench(record_of(R"({"results": []})"), 10, report);
  const std::string findings =
      R"({"parts": [{"name": "x", "findings": [
          {"rule": "gather", "severity": "note", "what": "n"},
          {"rule": "range-shape", "severity": "warning", "what": "w"},
          {"rule": "opset", "severity": "error", "what": "e"}]}]})";
  check_doctor(record_of(findings), {"", "never", {}}, report);
  check_doctor(record_of(findings), {"", "error", {"opset"}}, report);
  EXPECT_TRUE(report.failures.empty());
  check_doctor(record_of(findings), {"", "warning", {}}, report);
  ASSERT_EQ(report.failures.size(), 2U);
  EXPECT_EQ(report.failures[0].line, "a.step: x: warning range-shape: w");
  check_bench(record_of(R"({"results": [
      {"test": "tg32", "n_gen": 32, "n_parallel": 1, "median_tokens_per_second": 9.5}]})"),
              10, report);
  EXPECT_EQ(report.failures.back().line, "a.step: tg32: 9.50 tokens per second, at least 10");
  ReleaseReport release;
  EXPECT_EQ(release.status(), ReleaseStatus::Passed);
  release.variants.push_back(report);
  EXPECT_EQ(release.status(), ReleaseStatus::Unhealthy);
  check_verify(record_of(R"({"broken": ["KL"]})"), release.variants[0]);
  EXPECT_EQ(release.status(), ReleaseStatus::Disagrees);
  check_verify(record_of(""), release.variants[0]);
  EXPECT_EQ(release.status(), ReleaseStatus::Failed);
  EXPECT_NE(release_markdown(release).find("- a.step: KL\n"), std::string::npos);
  EXPECT_EQ(Json::parse(release_json(release), "r").get_int("status"), 1);
}

}  // namespace
}  // namespace pippin::cli
