// A report for people, and for programs.
#pragma once

#include <string>

#include "pippin/doctor/examine.h"

namespace pippin::doctor {

struct TextOptions {
  bool styles = false;  // colours of a terminal
  bool all = false;     // every place, not the first few
};

std::string report_text(const Report& report, const TextOptions& options = {});
std::string report_json(const Report& report);

// The table of docs/doctor.md, in Markdown.
std::string rules_table();

}  // namespace pippin::doctor
