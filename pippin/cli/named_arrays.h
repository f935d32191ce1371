// Values by name, from and to the files that pippin predict is given.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/io/picture_resize.h"

namespace pippin::cli {

// What follows --input: "in.npz", "name=file" or "name=0.5".
struct InputFile {
  std::string name;  // empty: an archive, whose arrays have their own
  std::filesystem::path path;
  std::optional<double> number = std::nullopt;  // instead of a file
};
// Throws InvalidArgument for anything else, saying what is accepted.
InputFile parse_input(const std::string& argument);

// The ending of a name in lower case: cameras write IMG_1.JPG.
std::string extension_of(const std::filesystem::path& path);

// .npz, .npy, .png, .jpg, .jpeg, .bmp, .ppm, .pgm. Throws InvalidArgument where a name is given
// twice or a file holds something that is not read; NotFound, InvalidFile, Io.
Values read_inputs(const std::vector<InputFile>& files);

// Gives the images among `values` that are of a size which the input does not take the input's
// size, the default one where it takes several. Without a mode they are refused, InvalidArgument.
void fit_images(const std::vector<FeatureInfo>& inputs, std::optional<ResizeMode> mode,
                Values& values);

}  // namespace pippin::cli
