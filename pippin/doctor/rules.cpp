#include "pippin/doctor/rules.h"

#include "pippin/doctor/other_kinds.h"

namespace pippin::doctor {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::Note:
      return "note";
    case Severity::Warning:
      return "warning";
    case Severity::Error:
      return "error";
  }
  return {};
}

std::vector<const Group*> groups() {
  return {&version_rules(), &compression_rules(),    &type_rules(),      &shape_rules(),
          &state_rules(),   &flexible_shape_rules(), &operation_rules(), &rank_rules(),
          &gather_rules(),  &layout_rules(),         &norm_rules(),      &overflow_rules(),
          &epsilon_rules(), &mask_rules(),           &size_rules(),      &weight_rules(),
          &package_rules()};
}

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> all = {&kUnreadable, &kOtherKind, &kCpuKind, &kClosedKind};
  for (const Group* group : groups()) {
    all.insert(all.end(), group->rules.begin(), group->rules.end());
  }
  return all;
}

const Rule* find_rule(std::string_view id) {
  for (const Rule* rule : all_rules()) {
    if (rule->id == id) return rule;
  }
  return nullptr;
}

}  // namespace pippin::doctor
