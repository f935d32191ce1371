// Reads and writes named values in the files of pippin predict.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/api/model.h"
#include "pippin/image/picture_resize.h"

namespace pippin::cli {

// The argument of --input: "in.npz", "rows.csv", "name=file" or "name=0.5".
struct InputFile {
  std::string name;  // empty: an archive of named arrays, or rows (rows.h)
  std::filesystem::path path;
  std::optional<double> number = std::nullopt;  // instead of a file
};
// Throws InvalidArgument for other arguments, listing the accepted forms.
InputFile parse_input(const std::string& argument);

// The extension of a name in lower case: cameras write IMG_1.JPG.
std::string extension_of(const std::filesystem::path& path);

// Reads .npz, .npy, .png, .jpg, .jpeg, .bmp, .ppm, .pgm. Throws InvalidArgument if a name is given
// twice or a file contains types that are not supported; NotFound, InvalidFile, Io.
Values read_inputs(const std::vector<InputFile>& files);

// Resizes images among `values` whose size the input does not take to the input's (default) size.
// Without a mode such images throw InvalidArgument.
void fit_images(const std::vector<FeatureInfo>& inputs, std::optional<ResizeMode> mode,
                Values& values);

}  // namespace pippin::cli
