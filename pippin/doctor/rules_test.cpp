#include "pippin/doctor/rules.h"

#include <set>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
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

// Rules that need files have their own tests.
TEST(DoctorRules, AllHaveACaseAndAreFoundByName) {
  std::set<std::string> tested = {"unreadable",   "other-kind",        "cpu-kind",
                                  "closed-kind",  "duplicate-weights", "missing-tokenizer",
                                  "fp16-overflow"};
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

TEST(DoctorRules, SayWhichResultsWereMeasuredBeyondHalves) {
  const mil::Model model = model_of(main_of(
      "tensor<fp16, [1, 8]> x",
      "tensor<fp16, [1, 8]> h = mul(x = x, y = fp16(0x1p+8)); tensor<fp16, [1, 8]> y = relu(x = "
      "h);"));
  const Peaks small = {{{"main", "h"}, 65504}, {{"main", "y"}, 3}};
  const Peaks large = {{{"main", "h"}, 65600}, {{"main", "y"}, 3}};
  EXPECT_FALSE(rules_of(model, {}, {}, &small).contains("fp16-overflow"));
  EXPECT_TRUE(rules_of(model, {}, {}, &large).contains("fp16-overflow"));
  // A sum of many terms that were measured as small.
  const mil::Model sum = model_of(main_of(
      "tensor<fp16, [1, 65536]> x",
      "tensor<fp16, [1, 1]> y = reduce_sum(x = x, axes = tensor<int32, [1]>([-1]), keep_dims = "
      "bool(true));"));
  EXPECT_FALSE(rules_of(sum, {}, {}, &small).contains("sum-overflow"));
}

// Sums of an image's bytes, of probabilities, and of all elements if no axes are named.
TEST(DoctorRules, EstimateSumsByWhatIsSummed) {
  const auto sum_of = [](const std::string& before, const std::string& axes) {
    return model_of(main_of("tensor<fp16, [1, 1, 8, 256]> x",
                            "tensor<fp16, [1, 1, 8, 256]> h = " + before +
                                "; tensor<fp16, [1, 1, 1, 1]> y = reduce_sum(x = h, " + axes +
                                "keep_dims = bool(true));"));
  };
  const std::string last = "axes = tensor<int32, [2]>([2, 3]), ";
  mil::Model image = sum_of("relu(x = x)", last);
  EXPECT_FALSE(rules_of(image).contains("sum-overflow"));
  image.functions.at(0).inputs.at(0).kind = mil::Feature::Kind::Image;
  EXPECT_TRUE(rules_of(image).contains("sum-overflow"));
  const std::string scaled = "mul(x = x, y = fp16(0x1p+5))";
  EXPECT_TRUE(rules_of(sum_of(scaled, last)).contains("sum-overflow"));
  EXPECT_TRUE(rules_of(sum_of(scaled, "")).contains("sum-overflow"));
  EXPECT_FALSE(rules_of(sum_of("relu(x = x)", "")).contains("sum-overflow"));
  // Terms that fp16 cannot hold, according to the estimate.
  mil::Model grown = sum_of("mul(x = x, y = fp16(0x1p+10))", last);
  EXPECT_TRUE(rules_of(grown).contains("sum-overflow"));
  grown.functions.at(0).inputs.at(0).kind = mil::Feature::Kind::Image;
  EXPECT_FALSE(rules_of(grown).contains("sum-overflow"));
}

// Roots, logarithms and divisors, and operations that keep them away from zero.
TEST(DoctorRules, FindEpsilonsThatHalvesDoNotHave) {
  const auto has_note = [](const std::string& body) {
    return rules_of(model_of(main_of("tensor<fp16, [1, 8]> x", body))).contains("epsilon-zero");
  };
  const std::string type = "tensor<fp16, [1, 8]>", one = "tensor<fp16, [1, 1]>";
  const std::string norm = one +
                           " n = reduce_l2_norm(x = x, axes = tensor<int32, [1]>([-1]), "
                           "keep_dims = bool(true)); ";
  const std::string zero = "fp16(0x0p+0)", small = "fp16(0x1p-20)";
  EXPECT_TRUE(has_note(type + " y = rsqrt(x = x, epsilon = " + zero + ");"));
  EXPECT_TRUE(has_note(type + " y = log(x = x);"));  // its own epsilon is 1e-45
  EXPECT_FALSE(has_note(type + " y = inverse(x = x);"));
  EXPECT_FALSE(has_note(type + " y = log(x = x, epsilon = " + small + ");"));
  for (const auto& [bound, noted] : {std::pair(zero, true), std::pair(small, false)}) {
    EXPECT_EQ(has_note(type + " a = add(x = x, y = " + bound + "); " + type +
                       " y = rsqrt(x = a, epsilon = " + zero + ");"),
              noted);
    EXPECT_EQ(has_note(norm + one + " a = add(x = n, y = " + bound + "); " + type +
                       " y = real_div(x = x, y = a);"),
              noted);
    EXPECT_EQ(has_note(norm + one + " a = maximum(x = " + bound + ", y = n); " + type +
                       " y = real_div(x = x, y = a);"),
              noted);
    EXPECT_EQ(
        has_note(norm + one + " a = clip(x = n, alpha = " + bound + ", beta = fp16(0x1p+10)); " +
                 one + " r = sqrt(x = a); " + type + " y = real_div(x = x, y = r);"),
        noted);
  }
  // A sum with 0 that is not a divisor.
  EXPECT_FALSE(has_note(type + " a = add(x = x, y = " + zero + "); " + type + " y = relu(x = a);"));
  EXPECT_FALSE(has_note(type + " a = clip(x = x, alpha = " + zero + ", beta = fp16(0x1.8p+2)); " +
                        type + " y = real_div(x = a, y = x);"));
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
