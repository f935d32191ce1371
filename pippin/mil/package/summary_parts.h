// Parts of summaries shared by several kinds of models.
#pragma once

#include <string>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/mil/model.h"

namespace pippin::mil {

// Comma-separated, in indented lines.
std::string wrapped(const std::vector<std::string>& parts);
// "  classes (3)" and the first of the labels, which are made of one_line() texts.
std::string class_lines(const std::vector<std::string>& labels);

// The classes, categories and parameters of a tabular model, and the reason if it cannot be
// computed.
std::string tabular_text(const Model& model);
void write_tabular(JsonWriter& json, const Model& model);

}  // namespace pippin::mil
