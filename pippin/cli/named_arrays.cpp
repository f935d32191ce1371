#include "pippin/cli/named_arrays.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "pippin/base/number.h"
#include "pippin/io/image.h"
#include "pippin/io/npz.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

struct TypeRow {
  NpyType npy;
  DataType type;
};
constexpr TypeRow kTypes[] = {
    {NpyType::Bool, DataType::Bool},   {NpyType::I8, DataType::Int8},
    {NpyType::U8, DataType::UInt8},    {NpyType::I16, DataType::Int16},
    {NpyType::U16, DataType::UInt16},  {NpyType::I32, DataType::Int32},
    {NpyType::U32, DataType::UInt32},  {NpyType::I64, DataType::Int64},
    {NpyType::U64, DataType::UInt64},  {NpyType::F16, DataType::Float16},
    {NpyType::F32, DataType::Float32}, {NpyType::F64, DataType::Float64},
};

Tensor to_tensor(const NpyArray& array) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& entry) { return entry.npy == array.type; });
  Tensor tensor = Tensor::from_bytes(row->type, array.data, array.shape);
  if (tensor.type() == DataType::Bool) {
    for (std::byte& flag : tensor.bytes()) flag = std::byte{flag != std::byte{0}};
  }
  return tensor;
}

std::string npy_file(const Tensor& tensor) {
  if (tensor.type() == DataType::String) return format_npy(tensor.strings(), tensor.shape());
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& entry) { return entry.type == tensor.type(); });
  return format_npy(
      NpyArray{row->npy, tensor.shape(), {tensor.bytes().begin(), tensor.bytes().end()}});
}

// In lower case: cameras write IMG_1.JPG.
std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

bool is_picture(const fs::path& path) {
  constexpr std::array kExtensions = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm"};
  return std::find(kExtensions.begin(), kExtensions.end(), extension_of(path)) != kExtensions.end();
}

Image to_image(const Picture& picture) {
  const auto pixels = std::as_bytes(std::span(picture.pixels));
  return {picture.width,
          picture.height,
          picture.channels,
          DataType::UInt8,
          {pixels.begin(), pixels.end()}};
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
    const NpzFile archive = NpzFile::open(file.path);
    for (const std::string& name : archive.names()) {
      add(values, name, to_tensor(archive.read(name)));
    }
  } else if (is_picture(file.path)) {
    add(values, file.name, to_image(read_picture(file.path)));
  } else {
    add(values, file.name, to_tensor(read_npy(file.path)));
  }
}

}  // namespace

InputFile parse_input(const std::string& argument) {
  const size_t equals = argument.find('=');
  InputFile file;
  const bool archive = extension_of(argument) == ".npz";
  if (equals != argument.npos && !archive) {
    file = {argument.substr(0, equals), argument.substr(equals + 1)};
    if (!file.name.empty() && (extension_of(file.path) == ".npy" || is_picture(file.path))) {
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
       "\"{}\" is neither FILE.npz nor NAME=NUMBER nor NAME=FILE with a .npy, .png, .jpg, .bmp, "
       ".ppm "
       "or .pgm file",
       argument);
}

Values read_inputs(const std::vector<InputFile>& files) {
  Values values;
  for (const InputFile& file : files) {
    try {
      read_input(file, values);
    } catch (const Error& error) {
      // "Unsupported" is said of models.
      const bool unsupported = error.code() == ErrorCode::Unsupported;
      fail(unsupported ? ErrorCode::InvalidArgument : error.code(), "{}", error.what());
    }
  }
  return values;
}

Values read_archive(const fs::path& path) {
  return read_inputs({{"", path}});
}

void write_values(const fs::path& path, const Values& values) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, value] : values) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) {
      files.emplace_back(name, npy_file(*tensor));
    } else if (const auto* dictionary = std::get_if<Dictionary>(&value)) {
      files.emplace_back(name, npy_file(dictionary->values));
      files.emplace_back(name + "_keys", npy_file(dictionary->keys));
    }
  }
  write_npz_files(path, files);
}

}  // namespace pippin::cli
