// Knowledge about Core ML and its devices: a table of rules, and their findings in a package.
//
// A rule states what it looks for, why that matters, the source, and the remedy. The rules on one
// subject are in one file (types.cpp, states.cpp, ...) with the check that applies them; the table
// is in rules.cpp, and docs/doctor.md lists it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::doctor {

enum class Severity : uint8_t {
  Note,     // costs time or memory, or is worth knowing
  Warning,  // keeps operations off the Neural Engine, or may give wrong numbers
  Error,    // the target rejects the model, or cannot run it
};
std::string_view to_string(Severity severity);  // "note", "warning", "error"

struct Rule {
  std::string_view id;  // "state-last-axis": as used by --fix and --json
  Severity severity;
  std::string_view what;
  std::string_view why;
  std::string_view source;  // the source of the statement
  std::string_view remedy;
  bool fixable = false;    // pippin repackage --fix ID fixes it
  bool keeps_off = false;  // its operations do not run on the Neural Engine
};

// A place where a rule applies.
struct Place {
  std::string function;  // empty: the model
  std::string name;      // "conv 'q_proj'", "input 'x'"; empty: the function or model as a whole
  std::string detail;    // the numbers: "axis 1 has 32000 elements"
  const mil::Operation* operation = nullptr;  // in the model examined, or null
};

// All places in a package where a rule applies.
struct Finding {
  const Rule* rule;
  std::string package;  // as named in the report
  std::vector<Place> places;
};

// All rules, in table order.
std::vector<const Rule*> all_rules();
// Null if no rule has this name.
const Rule* find_rule(std::string_view id);

}  // namespace pippin::doctor
