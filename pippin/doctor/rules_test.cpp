#include "pippin/doctor/rules.h"

#include <set>

#include <gtest/gtest.h>

#include "pippin/base/file.h"
#include "pippin/base/testing.h"
#include "pippin/doctor/doctor_testing.h"
#include "pippin/doctor/other_kinds.h"
#include "pippin/doctor/report_text.h"
#include "pippin/mil/package/package.h"

namespace pippin::doctor {
namespace {

std::vector<RuleCase> all_cases() {
  std::vector<RuleCase> cases = interface_cases();
  for (auto more : {operation_cases(), number_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

mil::Model changed(const std::string& text, const std::function<void(mil::Model&)>& change) {
  mil::Model model = model_of(text);
  if (change) change(model);
  return model;
}

TEST(DoctorRules, ApplyToTheOneAndNotToTheOther) {
  for (const RuleCase& one : all_cases()) {
    SCOPED_TRACE(one.rule);
    const mil::Model bad = changed(one.bad, one.change_bad);
    EXPECT_TRUE(rules_of(bad, one.target).contains(one.rule));
    const mil::Model good = changed(one.good, one.change_good);
    const std::string target = one.good_target.empty() ? one.target : one.good_target;
    EXPECT_FALSE(rules_of(good, target).contains(one.rule));
  }
}

// Those that need files have tests of their own.
TEST(DoctorRules, AllHaveACaseAndAreFoundByName) {
  std::set<std::string> tested = {"unreadable", "other-kind", "duplicate-weights",
                                  "missing-tokenizer"};
  for (const RuleCase& one : all_cases()) tested.insert(one.rule);
  std::set<std::string> ids;
  for (const Rule* rule : all_rules()) {
    EXPECT_TRUE(ids.insert(std::string(rule->id)).second) << rule->id;
    EXPECT_EQ(find_rule(rule->id), rule);
    for (const auto text : {rule->what, rule->why, rule->source, rule->remedy}) {
      EXPECT_FALSE(text.empty()) << rule->id;
    }
  }
  EXPECT_EQ(tested, ids);
  EXPECT_EQ(find_rule("none"), nullptr);
}

TEST(DoctorRules, StandInTheDocumentation) {
  const std::string text = read_file(source_dir() / "docs/doctor.md");
  EXPECT_NE(text.find(rules_table()), std::string::npos)
      << "docs/doctor.md has another table than pippin doctor --rules prints";
}

TEST(DoctorRules, NameTheTokenizerOfLanguageModelsAlone) {
  const mil::Model other =
      model_of(main_of("tensor<fp16, [1, 4]> x", "tensor<fp16, [1, 4]> y = relu(x = x);"));
  mil::Model language =
      model_of(main_of("tensor<int32, [1, 4]> x", "tensor<int32, [1, 4]> y = add(x = x, y = x);"));
  language.functions.at(0).inputs.at(0).name = "input_ids";
  EXPECT_TRUE(rules_of(language, {}, false).contains("missing-tokenizer"));
  EXPECT_FALSE(rules_of(language, {}, true).contains("missing-tokenizer"));
  EXPECT_FALSE(rules_of(language).contains("missing-tokenizer"));
  EXPECT_FALSE(rules_of(other, {}, false).contains("missing-tokenizer"));
}

TEST(DoctorRules, TakeWhatWasMeasuredForWhatIsEstimated) {
  const auto norm = [](const std::string& factor) {
    return model_of(main_of(
        "tensor<fp16, [1, 8, 64]> x",
        "tensor<fp16, [1, 8, 64]> h = mul(x = x, y = fp16(" + factor +
            ")); tensor<fp16, [1, 8, 64]> s = mul(x = h, y = h); tensor<fp16, [1, 8, 1]> y = "
            "reduce_mean(x = s, axes = tensor<int32, [1]>([-1]), keep_dims = bool(true));"));
  };
  const Peaks small = {{{"main", "h"}, 10}}, large = {{{"main", "h"}, 300}};
  EXPECT_EQ(rules_of(norm("0x1p+8"), {}, {}, &small), (std::set<std::string>{"missing-metadata"}));
  EXPECT_EQ(rules_of(norm("0x1p+0"), {}, {}, &large),
            (std::set<std::string>{"missing-metadata", "norm-overflow"}));
}

TEST(DoctorRules, SeeTheSizesThatInferenceTells) {
  // 4 * 8192 columns, which no type declares.
  mil::Model model = model_of(main_of(
      "tensor<fp16, [1, ?]> x",
      "tensor<fp16, [1, ?]> y = concat(values = (x, x, x, x), axis = int32(1), interleave = "
      "bool(false));"));
  model.functions.at(0).inputs.at(0).ranges = {{1, 1}, {1, 4096}};
  EXPECT_FALSE(rules_of(model).contains("axis-over-16384"));
  model.functions.at(0).inputs.at(0).ranges = {{1, 1}, {1, 8192}};
  EXPECT_TRUE(rules_of(model).contains("axis-over-16384"));
}

TEST(DoctorTargets, AreNamed) {
  EXPECT_EQ(parse_target("macos15").specification(), 9);
  EXPECT_EQ(systems_of(mil::Opset::CoreML8), "iOS 18 and macOS 15");
  EXPECT_ERROR(parse_target("ios19"), ErrorCode::InvalidArgument, "ios15, ios16");
}

}  // namespace
}  // namespace pippin::doctor
