#include <bit>

#include "pippin/base/error.h"
#include "pippin/io/safetensors.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mx/io/io.h"
#include "pippin/mx/io/stored_array.h"

namespace pippin::mx {
namespace {

struct Row {
  pippin::Dtype stored;
  Dtype dtype;
};
constexpr Row kRows[] = {{pippin::Dtype::Bool, bool_},    {pippin::Dtype::U8, uint8},
                         {pippin::Dtype::U16, uint16},    {pippin::Dtype::U32, uint32},
                         {pippin::Dtype::U64, uint64},    {pippin::Dtype::I8, int8},
                         {pippin::Dtype::I16, int16},     {pippin::Dtype::I32, int32},
                         {pippin::Dtype::I64, int64},     {pippin::Dtype::F16, float16},
                         {pippin::Dtype::F32, float32},   {pippin::Dtype::F64, float64},
                         {pippin::Dtype::BF16, bfloat16}, {pippin::Dtype::C64, complex64},
                         {pippin::Dtype::F8E4M3, uint8}};  // the raw bytes, as in MLX

Dtype dtype_of_stored(const TensorInfo& tensor, const std::string& file) {
  for (const Row& row : kRows) {
    if (row.stored == tensor.dtype) return row.dtype;
  }
  fail(ErrorCode::Unsupported, "{}: tensor {} is of {}, which arrays do not have", file,
       tensor.name, pippin::to_string(tensor.dtype));
}

pippin::Dtype stored_of(Dtype dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row.stored;
  }
  fail(ErrorCode::Internal, "safetensors: no type for {}", to_string(dtype));
}

}  // namespace

array stored_array(const TensorInfo& tensor, const std::shared_ptr<const void>& owner,
                   const std::string& file) {
  const Dtype dtype = dtype_of_stored(tensor, file);
  const Shape shape(tensor.shape);
  void* data = const_cast<std::byte*>(tensor.bytes.data());
  const bool is_aligned = std::bit_cast<uintptr_t>(data) % size_of(dtype) == 0;
  if (!is_aligned || dtype == bool_) {  // in a file, any byte may represent a bool
    return array(data, dtype == bool_ ? uint8 : dtype, shape, dtype);
  }
  return array::borrow(
      data, dtype, shape, row_major_strides(shape), [owner] {}, false);
}

std::pair<ArrayMap, TextMap> load_safetensors(const std::filesystem::path& path) {
  const auto file = SafetensorsFile::open(path);
  ArrayMap arrays;
  for (const TensorInfo& tensor : file->tensors()) {
    arrays.emplace_back(tensor.name, stored_array(tensor, file, path.string()));
  }
  return {std::move(arrays), file->metadata()};
}

void save_safetensors(const std::filesystem::path& path, const ArrayMap& arrays,
                      const TextMap& metadata) {
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, each] : arrays) {
    declarations.push_back(
        {name, stored_of(each.dtype()), {each.shape().begin(), each.shape().end()}});
  }
  TextMap texts = metadata;
  texts.emplace("format", "mlx");  // expected by readers; can be overridden
  std::vector<array> all;
  for (const auto& [name, each] : arrays) all.push_back(each);
  eval(all);
  SafetensorsWriter writer(path, declarations, texts);
  for (const array& each : all) {
    std::vector<std::byte> bytes(each.nbytes());
    each.read(bytes.data(), each.dtype());
    writer.append(bytes);
  }
  writer.finish();
}

}  // namespace pippin::mx
