// Prints a report for people.
#pragma once

#include <string>

#include "pippin/doctor/examine.h"

namespace pippin::doctor {

struct TextOptions {
  bool styles = false;  // colours of a terminal
  bool all = false;     // every place, not just the first few
};

std::string report_text(const Report& report, const TextOptions& options = {});
std::string report_json(const Report& report);

// The table in docs/doctor.md, in Markdown.
std::string rules_table();

}  // namespace pippin::doctor
