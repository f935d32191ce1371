// Values by name, from and to the files that pippin predict is given.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/api/model.h"

namespace pippin::cli {

// What follows --input: "in.npz", "name=file" or "name=0.5".
struct InputFile {
  std::string name;  // empty: an archive, whose arrays have their own
  std::filesystem::path path;
  std::optional<double> number = std::nullopt;  // instead of a file
};
// Throws InvalidArgument for anything else, saying what is accepted.
InputFile parse_input(const std::string& argument);

// .npz, .npy, .png, .jpg, .jpeg, .bmp, .ppm, .pgm. Throws InvalidArgument where a name is given
// twice or a file holds something that is not read; NotFound, InvalidFile, Io.
Values read_inputs(const std::vector<InputFile>& files);

}  // namespace pippin::cli
