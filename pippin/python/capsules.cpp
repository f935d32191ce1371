// DLPack's capsules, which are Python's form of its structures.
#include <utility>

#include "pippin/api/dlpack.h"
#include "pippin/base/error.h"
#include "pippin/python/buffers.h"
#include "pippin/python/errors.h"
#include "pippin/python/lock.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// The names of a capsule, before and after it is taken.
template <typename Managed>
struct Names;
template <>
struct Names<DLManagedTensor> {
  static constexpr const char *kFresh = "dltensor", *kTaken = "used_dltensor";
};
template <>
struct Names<DLManagedTensorVersioned> {
  static constexpr const char *kFresh = "dltensor_versioned", *kTaken = "used_dltensor_versioned";
};

// Those who made it may be Python.
template <typename Managed>
void end(Managed* managed) {
  if (managed->deleter == nullptr || Py_IsInitialized() == 0) return;
  const Locked lock;
  managed->deleter(managed);
}

template <typename Managed>
Tensor take(py::handle capsule, bool is_writable) {
  auto* const managed =
      static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Names<Managed>::kFresh));
  Tensor tensor = dlpack::wrap(managed->tensor, is_writable, [managed] { end(managed); });
  PyCapsule_SetName(capsule.ptr(), Names<Managed>::kTaken);
  return tensor;
}

template <typename Managed>
py::object capsule_of(Managed* managed) {
  PyObject* const capsule = PyCapsule_New(managed, Names<Managed>::kFresh, [](PyObject* self) {
    if (PyCapsule_IsValid(self, Names<Managed>::kFresh) == 0) return;  // somebody has it
    auto* const left = static_cast<Managed*>(PyCapsule_GetPointer(self, Names<Managed>::kFresh));
    left->deleter(left);
  });
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(capsule);
}

// Asks for what says whether it is read-only; the older protocol has no such argument.
py::object exported(const py::object& method) {
  try {
    return method(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();
}

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
  const auto is = [&](const char* name) { return PyCapsule_IsValid(capsule.ptr(), name) != 0; };
  if (is(Names<DLManagedTensorVersioned>::kFresh)) {
    const auto* managed = static_cast<DLManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), Names<DLManagedTensorVersioned>::kFresh));
    if (managed->version.major != 1) {
      fail(ErrorCode::Unsupported, "a DLPack tensor of version {}.{}", managed->version.major,
           managed->version.minor);
    }
    return take<DLManagedTensorVersioned>(capsule, (managed->flags & dlpack::kReadOnly) == 0);
  }
  if (is(Names<DLManagedTensor>::kFresh)) return take<DLManagedTensor>(capsule, true);
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
