#include "pippin/doctor/doctor_testing.h"

#include <fmt/format.h>

#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/text/text.h"

namespace pippin::doctor {

mil::Model model_of(const std::string& functions) {
  mil::Model model =
      mil::describe_program(mil::parse_text("program(1.3) { " + functions + " }", "text"));
  mil::verify(model.program);
  return model;
}

std::string main_of(const std::string& inputs, const std::string& body, const std::string& opset) {
  return fmt::format("func main<{}>({}) {{ {} }} -> (y);", opset, inputs, body);
}

std::set<std::string> rules_of(const mil::Model& model, const std::string& target,
                               std::optional<bool> has_tokenizer, const Peaks* measured) {
  ExamineOptions options;
  if (!target.empty()) options.target = parse_target(target);
  std::set<std::string> ids;
  for (const Finding& finding : examine_model(model, options, has_tokenizer, measured)) {
    ids.emplace(finding.rule->id);
  }
  return ids;
}

}  // namespace pippin::doctor
