#include "pippin/python/capsules.h"

#include <utility>

#include "pippin/python/buffers.h"
#include "pippin/python/errors.h"

namespace pippin::python {

namespace py = pybind11;

py::object exported(const py::object& method) {
  try {
    return method(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();
}

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw py::buffer_error(why);
}

bool wants_version(const py::object& max_version) {
  if (max_version.is_none()) return false;
  return max_version.cast<std::pair<int, int>>().first >= 1;
}

}  // namespace

std::optional<Tensor> wrap_dlpack(py::handle object) {
  if (!py::hasattr(object, "__dlpack__")) return std::nullopt;
  py::object capsule;
  try {
    const auto device = object.attr("__dlpack_device__")().cast<std::pair<int, int>>();
    if (device.first != dlpack::kCpu) {
      fail(ErrorCode::Unsupported, "a {} on device {} of DLPack, not in main memory ({})",
           type_name(object), device.first, dlpack::kCpu);
    }
    capsule = exported(object.attr("__dlpack__"));
  } catch (py::error_already_set& error) {
    fail(ErrorCode::InvalidArgument, "the {} gives no DLPack tensor: {}", type_name(object),
         first_line(error));
  } catch (const py::cast_error&) {
    fail(ErrorCode::InvalidArgument, "the {} tells no DLPack device", type_name(object));
  }
  std::optional<Tensor> result;
  const bool is_taken = take_capsule(capsule, [&](auto* managed, bool is_writable) {
    result = dlpack::wrap(managed->tensor, is_writable, [managed] { release(managed); });
    return true;
  });
  if (is_taken) return result;
  fail(ErrorCode::InvalidArgument, "__dlpack__() of the {} gives no capsule of a tensor",
       type_name(object));
}

py::object to_dlpack(const Tensor& tensor, const py::object& stream, const py::object& max_version,
                     const py::object& device, const py::object& copy) {
  if (!stream.is_none()) refuse("stream: main memory has none");
  const auto here = py::make_tuple(dlpack::kCpu, 0);
  if (!device.is_none() && !device.equal(here)) {
    refuse("dl_device: the tensor is in main memory, (1, 0)");
  }
  const bool is_copy = !copy.is_none() && copy.cast<bool>();
  try {
    Tensor given = is_copy ? tensor.copy() : tensor;
    if (wants_version(max_version)) {
      return capsule_of(dlpack::give_versioned(std::move(given), is_copy));
    }
    return capsule_of(dlpack::give(std::move(given)));
  } catch (const Error& error) {
    refuse(error.what());
  }
}

}  // namespace pippin::python
