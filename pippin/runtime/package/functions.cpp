#include "pippin/runtime/package/functions.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/families/stateful.h"

namespace pippin::runtime {
namespace {

bool belongs_to(std::string_view function, std::string_view adapter) {
  if (!function.ends_with(adapter)) return false;
  const size_t before = function.size() - adapter.size();
  return before == 0 || function[before - 1] == '_';
}

std::string bare_name(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c != '.' && c != '_') result += c;
  }
  return result;
}

void rename_state(mil::Model& model, mil::FunctionDescription& description, mil::Feature& state,
                  const std::string& name, const std::string& where) {
  if (state.name == name) return;
  mil::Function& function = model.program.function(description.name);
  if (function.find_input(name) != nullptr) {
    fail(ErrorCode::InvalidFile, "{}: '{}' and '{}' are states of one name", where, name,
         state.name);
  }
  if (mil::Var* var = function.find_input(state.name)) var->name = name;
  state.name = name;
  model.path.clear();
}

}  // namespace

const mil::FunctionDescription* find_description(const mil::Model& model, std::string_view name) {
  const auto found =
      std::find_if(model.functions.begin(), model.functions.end(),
                   [&](const mil::FunctionDescription& one) { return one.name == name; });
  return found == model.functions.end() ? nullptr : &*found;
}

const mil::Feature* find_feature(const std::vector<mil::Feature>& features, std::string_view name) {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const mil::Feature& one) { return one.name == name; });
  return found == features.end() ? nullptr : &*found;
}

std::vector<std::string> adapter_names(const mil::Model& model) {
  const auto& metadata = model.metadata.user_defined;
  const auto listed = metadata.find(families::stateful::kAdaptersKey);
  std::vector<std::string> names;
  if (listed == metadata.end()) return names;
  std::string_view rest = listed->second;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view name = rest.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return names;
}

std::vector<const mil::FunctionDescription*> functions_of(const mil::Model& model,
                                                          std::string_view adapter) {
  const std::vector<std::string> known = adapter_names(model);
  std::vector<const mil::FunctionDescription*> result;
  for (const mil::FunctionDescription& function : model.functions) {
    const bool wanted =
        adapter.empty()
            ? std::none_of(known.begin(), known.end(),
                           [&](const std::string& name) { return belongs_to(function.name, name); })
            : belongs_to(function.name, adapter);
    if (wanted) result.push_back(&function);
  }
  std::stable_partition(result.begin(), result.end(), [&](const auto* function) {
    return function->name == model.default_function;
  });
  return result;
}

void fail_no_adapter(std::string_view adapter, const std::vector<std::string>& known) {
  if (known.empty()) {
    fail(ErrorCode::NotFound, "unknown adapter '{}'; the model has none", adapter);
  }
  fail(ErrorCode::NotFound, "unknown adapter '{}'; there are {}", adapter, fmt::join(known, ", "));
}

void SharedStates::add(mil::Model& model, const std::string& where) {
  for (mil::FunctionDescription& function : model.functions) {
    const std::string origin =
        model.multifunction ? fmt::format("{}, function {}", where, function.name) : where;
    for (mil::Feature& state : function.states) {
      const std::string bare = bare_name(state.name);
      const auto known = std::find_if(features_.begin(), features_.end(), [&](const auto& other) {
        return bare_name(other.name) == bare;
      });
      if (known == features_.end()) {
        features_.push_back(state);
        origins_.push_back(origin);
        continue;
      }
      if (known->shape != state.shape || known->data_type != state.data_type) {
        const auto index = static_cast<size_t>(known - features_.begin());
        fail(ErrorCode::InvalidFile,
             "state '{}' is {} [{}] in {} and {} [{}] in {}: they are of different conversions",
             state.name, mil::to_string(known->data_type), fmt::join(known->shape, ", "),
             origins_[index], mil::to_string(state.data_type), fmt::join(state.shape, ", "),
             origin);
      }
      rename_state(model, function, state, known->name, origin);
    }
  }
}

}  // namespace pippin::runtime
