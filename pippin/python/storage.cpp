// Weight files blob by blob, with coremltools' names. Types that NumPy does not have (int4 and
// uint1 to uint6) take one byte per element in arrays.
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "pippin/base/error.h"
#include "pippin/io/blob_file.h"
#include "pippin/mil/elements.h"
#include "pippin/mil/package/weights.h"
#include "pippin/python/bindings.h"
#include "pippin/python/errors.h"

namespace pippin::python {
namespace {

namespace py = pybind11;
using mil::DataType;

// The elements as a contiguous array. Other types are converted; integers must not change.
template <typename T>
using Elements = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <typename T>
Elements<T> elements_of(const py::object& data) {
  const auto given = py::array::ensure(data);
  if (!given) PyErr_Clear();
  const char kind = given ? given.dtype().kind() : 'O';
  if (std::string_view("biuf").find(kind) == std::string_view::npos) {
    fail(ErrorCode::InvalidArgument, "data: expected an array of numbers");
  }
  if (!std::is_integral_v<T> || py::isinstance<py::array_t<T>>(given)) return Elements<T>(given);
  const auto numpy = py::module_::import("numpy");
  const bool finite = kind != 'f' || numpy.attr("isfinite")(given).attr("all")().cast<bool>();
  if (finite) {
    Elements<T> result(given);
    if (numpy.attr("array_equal")(result, given).template cast<bool>()) return result;
  }
  fail(ErrorCode::InvalidArgument, "data: elements that do not fit {}",
       std::string(py::str(py::dtype::of<T>())));
}

// Packs numbers into a type below 8 bits.
std::vector<std::byte> pack(DataType type, const int64_t* numbers, size_t count) {
  const int64_t least = mil::min_integer(type), most = mil::max_integer(type);
  std::vector<std::byte> packed(mil::packed_size(type, static_cast<int64_t>(count)));
  for (size_t i = 0; i < count; ++i) {
    if (numbers[i] < least || numbers[i] > most) {
      fail(ErrorCode::InvalidArgument,
           "Value {} is outside allowed subbyte datatype range [{}, {}].", numbers[i], least, most);
    }
    mil::set_element_bits(type, packed, i, static_cast<uint64_t>(numbers[i]));
  }
  return packed;
}

class BlobStorageWriter {
 public:
  BlobStorageWriter(const std::string& path, bool truncate)
      : writer_(path, truncate ? FileWriter::Mode::New : FileWriter::Mode::Append) {}

  // Returns the offset of the blob's header. The file is valid after each write.
  template <DataType type, typename T>
  uint64_t write(const py::object& data) {
    if constexpr (std::is_same_v<T, int64_t>) {
      const auto elements = elements_of<T>(data);
      const T* const numbers = elements.data();
      const auto count = static_cast<size_t>(elements.size());
      return add(
          type, [&] { return pack(type, numbers, count); }, count);
    } else {
      const auto elements = elements_of<T>(data);
      const ByteSpan bytes =
          std::as_bytes(std::span(elements.data(), static_cast<size_t>(elements.size())));
      return add(
          type, [&] { return bytes; }, static_cast<size_t>(elements.size()));
    }
  }

 private:
  template <typename Bytes>
  uint64_t add(DataType type, Bytes&& bytes_of, size_t count) {
    uint64_t offset = 0;
    without_lock([&] {
      const auto bytes = bytes_of();
      const size_t used = count * static_cast<size_t>(mil::bit_width(type)) % 8;
      offset = writer_.add(*mil::blob_type(type), bytes, (8 - used) % 8);
      writer_.flush();
    });
    return offset;
  }

  BlobWriter writer_;
};

class BlobStorageReader {
 public:
  explicit BlobStorageReader(std::string path) : path_(std::move(path)) {}

  template <DataType type, typename T>
  py::array read(uint64_t offset) {
    if (file_ == nullptr) file_ = BlobFile::open(path_);
    const Blob blob = file_->read(offset);
    if (blob.type != mil::blob_type(type)) {
      fail(ErrorCode::InvalidFile, "{}: the blob at offset {} holds {}, not {}", path_, offset,
           to_string(blob.type), to_string(type));
    }
    const auto width = static_cast<size_t>(mil::bit_width(type));
    const size_t bits = blob.data.size() * 8;
    if (width >= 8) {
      py::array_t<T> result(static_cast<py::ssize_t>(bits / width));
      std::copy_n(blob.data.data(), blob.data.size(),
                  reinterpret_cast<std::byte*>(result.mutable_data()));
      return result;
    }
    if (blob.padding_bits > bits || (bits - blob.padding_bits) % width != 0) {
      fail(ErrorCode::InvalidFile, "{}: the blob at offset {} has {} bytes with {} unused bits",
           path_, offset, blob.data.size(), blob.padding_bits);
    }
    const size_t count = (bits - blob.padding_bits) / width;
    py::array_t<T> result(static_cast<py::ssize_t>(count));
    T* const elements = result.mutable_data();
    for (size_t i = 0; i < count; ++i) {
      elements[i] = static_cast<T>(mil::bits_to_int(type, mil::element_bits(type, blob.data, i)));
    }
    return result;
  }

 private:
  const std::string path_;
  std::shared_ptr<const BlobFile> file_;  // opened on the first read
};

// `Given` is the type of the elements passed: int64_t for those that are checked and packed.
template <DataType type, typename Given, typename Read, typename Writer, typename Reader>
void bind_type(Writer& writer, Reader& reader, const std::string& name) {
  writer.def(("write_" + name + "_data").c_str(), &BlobStorageWriter::write<type, Given>,
             py::arg("data"));
  reader.def(("read_" + name + "_data").c_str(), &BlobStorageReader::read<type, Read>,
             py::arg("offset"));
}

}  // namespace

void bind_storage(py::module_& module) {
  py::class_<BlobStorageWriter> writer(
      module, "_BlobStorageWriter",
      "Writes a weight file; each write returns the offset of the blob's header.");
  writer.def(py::init<const std::string&, bool>(), py::arg("file_name"),
             py::arg("truncate_file") = true);
  py::class_<BlobStorageReader> reader(module, "_BlobStorageReader", "Reads a weight file.");
  reader.def(py::init<std::string>(), py::arg("file_name"));
  bind_type<DataType::Int4, int64_t, int8_t>(writer, reader, "int4");
  bind_type<DataType::UInt1, int64_t, uint8_t>(writer, reader, "uint1");
  bind_type<DataType::UInt2, int64_t, uint8_t>(writer, reader, "uint2");
  bind_type<DataType::UInt3, int64_t, uint8_t>(writer, reader, "uint3");
  bind_type<DataType::UInt4, int64_t, uint8_t>(writer, reader, "uint4");
  bind_type<DataType::UInt6, int64_t, uint8_t>(writer, reader, "uint6");
  bind_type<DataType::Int8, int8_t, int8_t>(writer, reader, "int8");
  bind_type<DataType::UInt8, uint8_t, uint8_t>(writer, reader, "uint8");
  bind_type<DataType::Int16, int16_t, int16_t>(writer, reader, "int16");
  bind_type<DataType::UInt16, uint16_t, uint16_t>(writer, reader, "uint16");
  bind_type<DataType::Int32, int32_t, int32_t>(writer, reader, "int32");
  bind_type<DataType::UInt32, uint32_t, uint32_t>(writer, reader, "uint32");
  // float16 values are passed as integers with the same bits.
  bind_type<DataType::Float16, uint16_t, uint16_t>(writer, reader, "fp16");
  bind_type<DataType::Float32, float, float>(writer, reader, "float");
}

}  // namespace pippin::python
