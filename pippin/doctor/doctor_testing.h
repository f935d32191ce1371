// For tests: models in a few lines of MIL, and the rules' findings for them.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pippin/doctor/examine.h"

namespace pippin::doctor {

// A model from a program of one or more functions, without weight files. Throws as
// mil::parse_text() and mil::verify().
mil::Model model_of(const std::string& functions);
// A function main with `inputs` and `body`, which defines y, its result.
std::string main_of(const std::string& inputs, const std::string& body,
                    const std::string& opset = "ios18");

// The ids of the rules that apply.
std::set<std::string> rules_of(const mil::Model& model, const std::string& target = {},
                               std::optional<bool> has_tokenizer = std::nullopt,
                               const Peaks* measured = nullptr);

// A rule, a model to which it applies, and a similar one to which it does not.
struct RuleCase {
  std::string rule;
  std::string bad, good;  // programs
  std::string target = {};
  // Properties that programs cannot express: descriptions, metadata.
  std::function<void(mil::Model&model)> change_bad = {}, change_good = {};
  std::string good_target = {};  // if it differs
};

std::vector<RuleCase> interface_cases();
std::vector<RuleCase> operation_cases();
std::vector<RuleCase> number_cases();

}  // namespace pippin::doctor
