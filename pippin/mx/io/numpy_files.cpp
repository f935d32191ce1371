// npy and npz. NumPy has no bfloat16: it sees such arrays as opaque 2-byte elements, '<V2'.
#include <memory>

#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/output.h"
#include "pippin/io/npy.h"
#include "pippin/io/npz.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/io/io.h"
#include "pippin/mx/ops/shape_ops.h"

namespace pippin::mx {
namespace {

constexpr NpyType kTypes[kNumDtypes] = {
    NpyType::Bool, NpyType::U8,  NpyType::U16, NpyType::U32, NpyType::U64, NpyType::I8,
    NpyType::I16,  NpyType::I32, NpyType::I64, NpyType::F16, NpyType::F32, NpyType::F64,
    NpyType::U16,  // for bfloat16 and complex64, except the name
    NpyType::F64};

Dtype dtype_of_npy(NpyType type) {
  for (int i = 0; i < kNumDtypes; ++i) {
    if (kTypes[i] == type) return static_cast<Dtype>(i);
  }
  fail(ErrorCode::Internal, "npy: a type without a dtype");
}

array to_array(NpyArray&& npy) {
  const Dtype dtype = dtype_of_npy(npy.type);
  const Shape shape(npy.shape);
  auto held = std::make_shared<NpyArray>(std::move(npy));
  if (dtype == bool_) {  // a file may contain any byte
    for (std::byte& byte : held->data) byte = std::byte{byte != std::byte{0}};
  }
  return array::borrow(
      held->data.data(), dtype, shape, row_major_strides(shape), [held] {}, true);
}

array parse(ByteSpan bytes, const std::string& name) {
  const NpyView view = view_npy(bytes, name);
  const bool is_complex = view.descr == "<c8";
  if (!is_complex && view.descr != "<V2" && view.descr != "|V2") {
    NpyLimits limits;
    limits.max_bytes = bytes.size();
    return to_array(parse_npy(bytes, name, limits));
  }
  const Dtype dtype = is_complex ? complex64 : bfloat16;
  Shape shape(view.shape);
  if (view.fortran_order)
    shape = Shape(std::vector<int64_t>(view.shape.rbegin(), view.shape.rend()));
  if (static_cast<uint64_t>(num_elements(shape)) * size_of(dtype) != view.data.size()) {
    fail(ErrorCode::InvalidFile, "{}: {} bytes are not an array of shape {} and type {}", name,
         view.data.size(), to_string(shape), to_string(dtype));
  }
  const array result(view.data.data(), dtype, shape, dtype);
  return view.fortran_order ? transpose(result) : result;
}

std::string format(const array& a) {
  NpyArray npy;
  npy.type = kTypes[static_cast<int>(a.dtype())];
  npy.shape.assign(a.shape().begin(), a.shape().end());
  npy.data.resize(a.nbytes());
  a.read(npy.data.data(), a.dtype());
  std::string bytes = pippin::format_npy(npy);
  const auto rename = [&bytes](std::string_view from, std::string_view to) {
    bytes.replace(bytes.find(from), from.size(), to);
  };
  if (a.dtype() == complex64) rename("<f8", "<c8");
  if (a.dtype() == bfloat16) rename("<u2", "<V2");
  return bytes;
}

ArrayMap read_all(const NpzFile& npz) {
  ArrayMap arrays;
  for (const std::string& name : npz.names()) {
    arrays.emplace_back(name, parse(npz.read_bytes(name), name));
  }
  return arrays;
}

NpyLimits archive_limits() {
  NpyLimits limits;
  limits.max_bytes = size_t{1} << 40;  // also checked against the file's size
  return limits;
}

}  // namespace

array load_npy(const std::filesystem::path& file) {
  const auto mapped = MappedFile::open(file);
  return parse(mapped->bytes(), file.string());
}

array parse_npy(const std::string& bytes, const std::string& name) {
  return parse(as_byte_span(bytes), name);
}

std::string format_npy(const array& a) {
  return format(a);
}

void save_npy(const std::filesystem::path& file, const array& a) {
  write_file(file, format(a));
}

ArrayMap load_npz(const std::filesystem::path& file) {
  return read_all(NpzFile::open(file, archive_limits()));
}

ArrayMap parse_npz(const std::string& bytes, const std::string& name) {
  return read_all(NpzFile::parse(as_byte_span(bytes), name, archive_limits()));
}

void save_npz(const std::filesystem::path& file, const ArrayMap& arrays, bool compressed) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, each] : arrays) files.emplace_back(name, format(each));
  write_npz_files(file, files, compressed);
}

}  // namespace pippin::mx
