// A package in any form, or the text of a program, to look at.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "pippin/mil/model.h"

namespace pippin::app {

// X.mlpackage, X.mlmodelc or X.mlmodel, or a .mil file, whose weights are not looked for. Throws as
// mil::read_package() and mil::parse_text().
mil::Model read_program(const std::filesystem::path& path);

// The model's program as text, in pieces; with `values` the elements of weights, too. The programs
// of a pipeline's stages follow each other, each under a comment.
void write_programs(const mil::Model& model, bool values,
                    const std::function<void(const std::string& text)>& write);

}  // namespace pippin::app
