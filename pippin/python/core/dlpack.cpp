#include "pippin/python/core/dlpack.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pippin/mx/ops/shape_ops.h"
#include "pippin/python/capsules.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/memory.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

using mx::Dtype;

// DLPack's type codes.
constexpr uint8_t kSigned = 0, kPlain = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;

constexpr dlpack::Type kTypes[mx::kNumDtypes] = {
    {kBool, 8, 1},   {kPlain, 8, 1},   {kPlain, 16, 1},  {kPlain, 32, 1},   {kPlain, 64, 1},
    {kSigned, 8, 1}, {kSigned, 16, 1}, {kSigned, 32, 1}, {kSigned, 64, 1},  {kFloat, 16, 1},
    {kFloat, 32, 1}, {kFloat, 64, 1},  {kBfloat, 16, 1}, {kComplex, 64, 1},
};

std::optional<Dtype> to_dtype(const dlpack::Type& type) {
  for (int i = 0; i < mx::kNumDtypes; ++i) {
    const dlpack::Type& mine = kTypes[i];
    if (mine.code == type.code && mine.bits == type.bits && type.lanes == 1) {
      return static_cast<Dtype>(i);
    }
  }
  return std::nullopt;
}

// An array over a tensor's memory, released by `end`; empty for complex128.
std::optional<mx::array> borrowed(const dlpack::View& view, std::function<void()> end) {
  if (view.device.type != dlpack::kCpu) {
    throw py::value_error("[convert] The DLPack tensor is on device " +
                          std::to_string(view.device.type) + ", not in main memory (1).");
  }
  const auto dtype = to_dtype(view.type);
  if (!dtype && view.type.code == kComplex && view.type.bits == 128) return std::nullopt;
  if (!dtype) {
    throw py::value_error("[convert] A DLPack type of code " + std::to_string(view.type.code) +
                          " and " + std::to_string(view.type.bits) + " bits is none of arrays.");
  }
  if (view.ndim < 0) throw py::value_error("[convert] A DLPack tensor of less than no axes.");
  mx::Shape shape(view.shape, view.shape + view.ndim);
  const int64_t size = mx::num_elements(shape);  // throws for impossible sizes
  mx::Strides strides = view.strides == nullptr
                            ? mx::row_major_strides(shape)
                            : mx::Strides(view.strides, view.strides + view.ndim);
  static std::byte empty{};
  void* const data = size == 0 ? static_cast<void*>(&empty)
                               : static_cast<std::byte*>(view.data) + view.byte_offset;
  return mx::array::borrow(data, *dtype, std::move(shape), std::move(strides), std::move(end),
                           false);
}

// The data that an exported capsule keeps alive.
struct Kept {
  mx::array value;
  mx::Shape shape;
  mx::Strides strides;
};

template <typename Managed>
PyObject* managed_capsule(const mx::array& a, bool is_copy) {
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
    managed->flags = (is_writable(a) ? 0 : dlpack::kReadOnly) | (is_copy ? dlpack::kIsCopied : 0);
  }
  managed->deleter = [](Managed* self) {
    delete static_cast<Kept*>(self->context);
    delete self;
  };
  managed->context = kept.release();
  return capsule_of(managed.release()).release().ptr();
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
    capsule = exported(handle.attr("__dlpack__"));
  } catch (py::error_already_set& error) {
    if (error.matches(PyExc_BufferError)) return std::nullopt;
    throw;
  }
  std::optional<mx::array> result;
  const bool is_tensor = take_capsule(capsule, [&](auto* managed, bool) {
    result = borrowed(managed->tensor, [managed] { release(managed); });
    return result.has_value();
  });
  if (is_tensor) return result;
  throw py::value_error("[convert] __dlpack__() gave no capsule of a tensor.");
}

PyObject* give_dlpack(const mx::array& a, PyObject* max_version, PyObject* device,
                      std::optional<bool> copy) {
  if (given(device) && !py::handle(device).equal(py::make_tuple(dlpack::kCpu, 0))) {
    throw py::buffer_error("The array is in main memory, DLPack's device (1, 0), and nowhere else");
  }
  evaluate(a);
  const bool has_version =
      given(max_version) && py::handle(max_version).cast<std::pair<int, int>>().first >= 1;
  const bool needs_copy = !has_version && !is_writable(a);
  if (needs_copy && copy == false) {
    throw py::buffer_error(
        "The array is read-only, which DLPack says from max_version=(1, 0) on; before, it takes a "
        "copy, and copy=False forbids one");
  }
  if (!copy.value_or(needs_copy)) {
    return has_version ? managed_capsule<DLManagedTensorVersioned>(a, false)
                       : managed_capsule<DLManagedTensor>(a, false);
  }
  const mx::array packed = mx::contiguous(a);
  evaluate(packed);
  const mx::array own(packed.bytes(), a.dtype(), a.shape(), a.dtype());
  return has_version ? managed_capsule<DLManagedTensorVersioned>(own, true)
                     : managed_capsule<DLManagedTensor>(own, true);
}

}  // namespace pippin::python::core
