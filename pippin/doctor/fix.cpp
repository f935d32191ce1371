#include "pippin/doctor/fix.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/doctor/duplicates.h"
#include "pippin/doctor/mask_constants.h"
#include "pippin/doctor/needed_version.h"
#include "pippin/mil/walk.h"

namespace pippin::doctor {
namespace {

// Representable in fp16, and no score is near it.
constexpr double kMasked = -40000;

// The caller owns the program and may change it; the walks that find its values are const.
mil::Value& changeable(const mil::Value& value) {
  return const_cast<mil::Value&>(value);  // NOLINT(*-const-cast)
}

// Writers store values with the same source once.
std::string fix_duplicates(mil::Model& model, const std::string&) {
  std::map<const mil::TensorSource*, const mil::Value*> first_of;
  uint64_t bytes = 0;
  const std::vector<Duplicate> duplicates = duplicate_weights(model);
  for (const Duplicate& duplicate : duplicates) {
    first_of.emplace(duplicate.copy.value->source.get(), duplicate.first.value);
    bytes += duplicate.copy.bytes;
  }
  if (first_of.empty()) return {};
  mil::for_each_constant(model.program, [&](const mil::Value& value, const mil::ConstantPlace&) {
    const auto first = first_of.find(value.source.get());
    if (value.source == nullptr || first == first_of.end()) return;
    changeable(value).source = first->second->source;
    changeable(value).blob = first->second->blob;
  });
  return fmt::format("{} copies of weights are left out, {}", duplicates.size(),
                     format_bytes(bytes));
}

std::string fix_version(mil::Model& model, const std::string&) {
  const int needed = needed_specification(model);
  const int declared = model.specification_version;
  if (declared <= needed) return {};
  model.specification_version = needed;
  return fmt::format("specification version {} instead of {}", needed, declared);
}

std::string fix_metadata(mil::Model& model, const std::string& name) {
  if (!model.metadata.short_description.empty()) return {};
  std::vector<std::string> functions;
  for (const mil::FunctionDescription& function : model.functions) {
    std::vector<std::string> inputs, outputs;
    for (const mil::Feature& one : function.inputs) inputs.push_back(one.name);
    for (const mil::Feature& one : function.outputs) outputs.push_back(one.name);
    functions.push_back(fmt::format("{} ({} -> {})", function.name, fmt::join(inputs, ", "),
                                    fmt::join(outputs, ", ")));
  }
  model.metadata.short_description = fmt::format("{}: {}", name, fmt::join(functions, "; "));
  return fmt::format("description \"{}\"", model.metadata.short_description);
}

mil::Value clamped(const mil::Value& value) {
  std::vector<double> values = value.to_doubles();
  for (double& one : values) {
    if (!std::isnan(one)) one = std::clamp(one, kMasked, -kMasked);
  }
  return mil::Value::of_floats(value.type.data_type, values, value.type.dims);
}

std::string fix_masks(mil::Model& model, const std::string&) {
  std::set<const mil::Value*> wanted;
  for (const FunctionView& function : Subject(model, std::nullopt).functions) {
    for (const MaskConstant& mask : mask_constants(function)) {
      if (is_bad_mask(mask)) wanted.insert(mask.value);
    }
  }
  for (const mil::Value* value : wanted) {
    changeable(*value) = clamped(*value);
  }
  if (wanted.empty()) return {};
  return fmt::format("{} constants of masks are between {} and {}", wanted.size(), kMasked,
                     -kMasked);
}

struct Fix {
  std::string_view rule;
  std::string (*apply)(mil::Model& model, const std::string& name);
  bool of_program;  // for a model that has a program
  bool of_stages;   // for each stage of a pipeline too
};

constexpr Fix kFixes[] = {{"softmax-mask", fix_masks, true, true},
                          {"duplicate-weights", fix_duplicates, true, true},
                          {"missing-metadata", fix_metadata, false, false},
                          {"specification-version", fix_version, false, true}};

// Applies a fix; adds a line for each changed model.
void apply(const Fix& fix, mil::Model& model, const std::string& name, const std::string& place,
           std::vector<std::string>& done) {
  const bool has_program = !model.is_pipeline() && !model.is_translated();
  if (has_program || !fix.of_program) {
    if (std::string line = fix.apply(model, name); !line.empty()) {
      done.push_back(fmt::format("{}: {}{}", fix.rule, place, line));
    }
  }
  if (!fix.of_stages) return;
  for (size_t i = 0; i < model.stages.size(); ++i) {
    apply(fix, model.stages[i].model, name, fmt::format("{}{}: ", place, mil::stage_name(model, i)),
          done);
  }
}

}  // namespace

std::vector<std::string> fix(mil::Model& model, std::span<const std::string> rules,
                             const std::string& name) {
  const auto is_asked = [&](std::string_view rule) {
    return std::any_of(rules.begin(), rules.end(),
                       [&](const std::string& one) { return one == rule || one == "all"; });
  };
  for (const std::string& rule : rules) {
    const bool known =
        rule == "all" || std::any_of(std::begin(kFixes), std::end(kFixes),
                                     [&](const Fix& one) { return one.rule == rule; });
    if (known) continue;
    std::vector<std::string_view> names;
    for (const Fix& one : kFixes) names.push_back(one.rule);
    fail(ErrorCode::InvalidArgument, "--fix {}: there are all, {}", rule, fmt::join(names, ", "));
  }
  std::vector<std::string> done;
  for (const Fix& one : kFixes) {
    if (is_asked(one.rule)) apply(one, model, name, {}, done);
  }
  return done;
}

}  // namespace pippin::doctor
