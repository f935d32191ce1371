#include "pippin/python/core/dlpack.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pippin/api/dlpack.h"
#include "pippin/mx/shape_ops.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/object.h"
#include "pippin/python/lock.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

using mx::Dtype;

// DLPack's codes of kinds of types.
constexpr uint8_t kSigned = 0, kPlain = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;

constexpr dlpack::Type kTypes[mx::kNumDtypes] = {
    {kBool, 8, 1},   {kPlain, 8, 1},   {kPlain, 16, 1},  {kPlain, 32, 1},   {kPlain, 64, 1},
    {kSigned, 8, 1}, {kSigned, 16, 1}, {kSigned, 32, 1}, {kSigned, 64, 1},  {kFloat, 16, 1},
    {kFloat, 32, 1}, {kFloat, 64, 1},  {kBfloat, 16, 1}, {kComplex, 64, 1},
};

std::optional<Dtype> dtype_of(const dlpack::Type& type) {
  for (int i = 0; i < mx::kNumDtypes; ++i) {
    const dlpack::Type& mine = kTypes[i];
    if (mine.code == type.code && mine.bits == type.bits && type.lanes == 1) {
      return static_cast<Dtype>(i);
    }
  }
  return std::nullopt;
}

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
std::optional<mx::array> take(PyObject* capsule) {
  auto* const managed =
      static_cast<Managed*>(PyCapsule_GetPointer(capsule, Names<Managed>::kFresh));
  const dlpack::View& view = managed->tensor;
  if (view.device.type != dlpack::kCpu) {
    throw py::value_error("[convert] The DLPack tensor is on device " +
                          std::to_string(view.device.type) + ", not in main memory (1).");
  }
  const auto dtype = dtype_of(view.type);
  if (!dtype && view.type.code == kComplex && view.type.bits == 128) return std::nullopt;
  if (!dtype) {
    throw py::value_error("[convert] A DLPack type of code " + std::to_string(view.type.code) +
                          " and " + std::to_string(view.type.bits) + " bits is none of arrays.");
  }
  if (view.ndim < 0) throw py::value_error("[convert] A DLPack tensor of less than no axes.");
  mx::Shape shape(view.shape, view.shape + view.ndim);
  const int64_t size = mx::num_elements(shape);  // throws for sizes that cannot be
  mx::Strides strides = view.strides == nullptr
                            ? mx::row_major_strides(shape)
                            : mx::Strides(view.strides, view.strides + view.ndim);
  static std::byte empty{};
  void* const data = size == 0 ? static_cast<void*>(&empty)
                               : static_cast<std::byte*>(view.data) + view.byte_offset;
  PyCapsule_SetName(capsule, Names<Managed>::kTaken);
  return mx::array::borrow(
      data, *dtype, std::move(shape), std::move(strides), [managed] { end(managed); }, false);
}

// What a capsule of ours keeps.
struct Kept {
  mx::array value;
  mx::Shape shape;
  mx::Strides strides;
};

template <typename Managed>
PyObject* capsule_of(const mx::array& a) {
  auto kept = std::make_unique<Kept>(Kept{a, a.shape(), a.strides()});
  auto managed = std::make_unique<Managed>();
  dlpack::View& view = managed->tensor;
  view.data = const_cast<std::byte*>(a.bytes());
  view.device = {dlpack::kCpu, 0};
  view.ndim = static_cast<int32_t>(a.ndim());
  view.type = kTypes[static_cast<int>(a.dtype())];
  view.shape = kept->shape.data();
  view.strides = kept->strides.data();
  view.byte_offset = 0;
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    managed->version = {1, 0};
    managed->flags = 0;
  }
  managed->deleter = [](Managed* self) {
    delete static_cast<Kept*>(self->context);
    delete self;
  };
  managed->context = kept.get();
  PyObject* const capsule =
      PyCapsule_New(managed.get(), Names<Managed>::kFresh, [](PyObject* self) {
        if (PyCapsule_IsValid(self, Names<Managed>::kFresh) == 0) return;  // somebody has it
        auto* const left =
            static_cast<Managed*>(PyCapsule_GetPointer(self, Names<Managed>::kFresh));
        left->deleter(left);
      });
  if (capsule == nullptr) throw py::error_already_set();
  static_cast<void>(kept.release());
  static_cast<void>(managed.release());
  return capsule;
}

bool given(PyObject* object) {
  return object != nullptr && object != Py_None;
}

}  // namespace

std::optional<mx::array> share_dlpack(PyObject* object) {
  const py::handle handle(object);
  if (PyType_Check(object) != 0 || !py::hasattr(handle, "__dlpack__")) return std::nullopt;
  const auto device = handle.attr("__dlpack_device__")().cast<std::pair<int, int>>();
  if (device.first != dlpack::kCpu) {
    throw py::value_error("[convert] The array is on DLPack's device " +
                          std::to_string(device.first) + ", not in main memory (1).");
  }
  py::object capsule;
  try {
    capsule = handle.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    if (error.matches(PyExc_BufferError)) return std::nullopt;
    if (!error.matches(PyExc_TypeError)) throw;
    try {
      capsule = handle.attr("__dlpack__")();
    } catch (py::error_already_set& again) {
      if (again.matches(PyExc_BufferError)) return std::nullopt;
      throw;
    }
  }
  if (PyCapsule_IsValid(capsule.ptr(), Names<DLManagedTensorVersioned>::kFresh) != 0) {
    return take<DLManagedTensorVersioned>(capsule.ptr());
  }
  if (PyCapsule_IsValid(capsule.ptr(), Names<DLManagedTensor>::kFresh) != 0) {
    return take<DLManagedTensor>(capsule.ptr());
  }
  throw py::value_error("[convert] __dlpack__() gave no capsule of a tensor.");
}

PyObject* give_dlpack(const mx::array& a, PyObject* max_version, PyObject* device, bool is_copy) {
  if (given(device) && !py::handle(device).equal(py::make_tuple(dlpack::kCpu, 0))) {
    throw py::buffer_error("The array is in main memory, DLPack's device (1, 0), and nowhere else");
  }
  evaluate(a);
  const mx::array packed = is_copy ? mx::contiguous(a) : a;
  evaluate(packed);
  const mx::array value =
      is_copy ? mx::array(packed.bytes(), a.dtype(), a.shape(), a.dtype()) : packed;
  const bool has_version =
      given(max_version) && py::handle(max_version).cast<std::pair<int, int>>().first >= 1;
  return has_version ? capsule_of<DLManagedTensorVersioned>(value)
                     : capsule_of<DLManagedTensor>(value);
}

}  // namespace pippin::python::core
