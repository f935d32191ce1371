#include "pippin/cli/options/named_arrays.h"

#include <fmt/format.h>

#include "pippin/api/archive.h"
#include "pippin/api/feature.h"
#include "pippin/base/numbers/number.h"
#include "pippin/cli/options/rows_file.h"
#include "pippin/image/picture.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

Image to_image(const Picture& picture) {
  const auto pixels = std::as_bytes(std::span(picture.pixels));
  return {picture.width,
          picture.height,
          picture.channels,
          DataType::UInt8,
          {pixels.begin(), pixels.end()}};
}

// Pixels [height, width, 3] or [height, width] of 8 bits, as pictures are kept in arrays.
std::optional<Image> find_picture(const Value& value) {
  const auto* tensor = std::get_if<Tensor>(&value);
  if (tensor == nullptr || tensor->type() != DataType::UInt8) return std::nullopt;
  const std::vector<int64_t>& shape = tensor->shape();
  const bool color = shape.size() == 3 && shape[2] == 3;
  if (!color && shape.size() != 2) return std::nullopt;
  const Tensor copy = tensor->copy();
  const auto bytes = copy.bytes();
  return Image{shape[1], shape[0], color ? 3 : 1, DataType::UInt8, {bytes.begin(), bytes.end()}};
}

void add(Values& values, const std::string& name, Value value) {
  if (!values.emplace(name, std::move(value)).second) {
    fail(ErrorCode::InvalidArgument, "input '{}' is given twice", name);
  }
}

void read_input(const InputFile& file, Values& values) {
  if (file.number) {
    add(values, file.name, Tensor::from<double>({*file.number}, {1}));
  } else if (file.name.empty()) {
    for (auto& [name, value] : read_archive(file.path)) add(values, name, std::move(value));
  } else if (is_picture_name(file.path)) {
    add(values, file.name, to_image(read_picture(file.path)));
  } else {
    add(values, file.name, to_tensor(read_npy(file.path)));
  }
}

}  // namespace

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

void fit_images(const std::vector<FeatureInfo>& inputs, std::optional<ResizeMode> mode,
                Values& values) {
  for (const FeatureInfo& input : inputs) {
    const auto found = values.find(input.name);
    if (found == values.end() || input.kind != FeatureInfo::Kind::Image) continue;
    if (auto picture = find_picture(found->second)) found->second = std::move(*picture);
    Image* const image = std::get_if<Image>(&found->second);
    if (image == nullptr) continue;
    const int64_t channels = input.shape.at(1);
    if (api::shape_fits(input, {1, channels, image->height, image->width})) continue;
    if (!mode) {
      fail(ErrorCode::InvalidArgument,
           "input '{}': an image of {} x {} pixels; expected {} (--resize fit, fill or stretch "
           "changes its size)",
           input.name, image->width, image->height, to_string(input));
    }
    const auto* pixels = reinterpret_cast<const uint8_t*>(image->pixels.data());
    const Picture picture{
        image->width, image->height, image->channels, {pixels, pixels + image->pixels.size()}};
    *image = to_image(resized(picture, input.shape.at(3), input.shape.at(2), *mode));
  }
}

InputFile parse_input(const std::string& argument) {
  const size_t equals = argument.find('=');
  InputFile file;
  const bool archive = extension_of(argument) == ".npz" || is_rows_name(argument);
  if (equals != argument.npos && !archive) {
    file = {argument.substr(0, equals), argument.substr(equals + 1)};
    if (!file.name.empty() && (extension_of(file.path) == ".npy" || is_picture_name(file.path))) {
      return file;
    }
    double number = 0;
    if (!file.name.empty() && parse_number(file.path.string(), number)) {
      return {file.name, {}, number};
    }
  } else if (archive) {
    return {"", argument};
  }
  fail(ErrorCode::InvalidArgument,
       "\"{}\" is neither FILE.npz, .json, .jsonl or .csv nor NAME=NUMBER nor NAME=FILE with a "
       ".npy, .png, .jpg, .bmp, .ppm or .pgm file",
       argument);
}

Values read_inputs(const std::vector<InputFile>& files) {
  Values values;
  for (const InputFile& file : files) {
    try {
      read_input(file, values);
    } catch (const Error& error) {
      // The code Unsupported is for models.
      const bool unsupported = error.code() == ErrorCode::Unsupported;
      fail(unsupported ? ErrorCode::InvalidArgument : error.code(), "{}", error.what());
    }
  }
  return values;
}

}  // namespace pippin::cli
