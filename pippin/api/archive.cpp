#include "pippin/api/archive.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "pippin/io/npz.h"

namespace pippin {
namespace {

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

}  // namespace

std::string npy_file(const Tensor& tensor) {
  if (tensor.type() == DataType::String) return format_npy(tensor.strings(), tensor.shape());
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& entry) { return entry.type == tensor.type(); });
  return format_npy(
      NpyArray{row->npy, tensor.shape(), {tensor.bytes().begin(), tensor.bytes().end()}});
}

Tensor to_tensor(const NpyArray& array) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& entry) { return entry.npy == array.type; });
  Tensor tensor = Tensor::from_bytes(row->type, array.data, array.shape);
  if (tensor.type() == DataType::Bool) {
    for (std::byte& flag : tensor.bytes()) flag = std::byte{flag != std::byte{0}};
  }
  return tensor;
}

Values read_archive(const std::filesystem::path& path) {
  Values values;
  const NpzFile archive = NpzFile::open(path);
  for (const std::string& name : archive.names()) {
    values.emplace(name, to_tensor(archive.read(name)));
  }
  return values;
}

void write_archive(const std::filesystem::path& path, const Values& values) {
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

}  // namespace pippin
