// Python capsules that hold DLPack structures.
#pragma once

#include <memory>
#include <utility>

#include <pybind11/pybind11.h>

#include "pippin/api/dlpack.h"
#include "pippin/base/error.h"
#include "pippin/python/lock.h"

namespace pippin::python {

// The names of a capsule before and after it is consumed.
template <typename Managed>
struct CapsuleNames;
template <>
struct CapsuleNames<DLManagedTensor> {
  static constexpr const char *kFresh = "dltensor", *kTaken = "used_dltensor";
};
template <>
struct CapsuleNames<DLManagedTensorVersioned> {
  static constexpr const char *kFresh = "dltensor_versioned", *kTaken = "used_dltensor_versioned";
};

// Deletes the structure of a capsule. Its deleter may run Python code.
template <typename Managed>
void release(Managed* managed) {
  if (managed->deleter == nullptr || Py_IsInitialized() == 0) return;
  const Locked lock;
  managed->deleter(managed);
}

// Returns a capsule that owns `managed` until it is consumed.
template <typename Managed>
pybind11::object capsule_of(Managed* managed) {
  PyObject* const capsule =
      PyCapsule_New(managed, CapsuleNames<Managed>::kFresh, [](PyObject* self) {
        if (PyCapsule_IsValid(self, CapsuleNames<Managed>::kFresh) == 0) return;  // consumed
        auto* const left =
            static_cast<Managed*>(PyCapsule_GetPointer(self, CapsuleNames<Managed>::kFresh));
        left->deleter(left);
      });
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw pybind11::error_already_set();
  }
  return pybind11::reinterpret_steal<pybind11::object>(capsule);
}

// Calls __dlpack__ (`method`), with the version of the protocol that marks read-only memory;
// methods of the older protocol do not have that argument.
pybind11::object exported(const pybind11::object& method);

// Calls take(managed, is_writable) with the capsule's structure, a DLManagedTensorVersioned* or a
// DLManagedTensor*. Returning true transfers its ownership. Returns false for objects that are not
// capsules of a tensor. Throws Unsupported for unknown versions.
template <typename Take>
bool take_capsule(pybind11::handle capsule, const Take& take) {
  const auto taken = [&]<typename Managed>(Managed* managed, bool is_writable) {
    if (take(managed, is_writable)) {
      PyCapsule_SetName(capsule.ptr(), CapsuleNames<Managed>::kTaken);
    }
    return true;
  };
  const auto held = [&](const char* name) {
    return PyCapsule_IsValid(capsule.ptr(), name) == 0 ? nullptr
                                                       : PyCapsule_GetPointer(capsule.ptr(), name);
  };
  if (void* const found = held(CapsuleNames<DLManagedTensorVersioned>::kFresh)) {
    auto* const managed = static_cast<DLManagedTensorVersioned*>(found);
    if (managed->version.major != 1) {
      fail(ErrorCode::Unsupported, "a DLPack tensor of version {}.{}", managed->version.major,
           managed->version.minor);
    }
    return taken(managed, (managed->flags & dlpack::kReadOnly) == 0);
  }
  if (void* const found = held(CapsuleNames<DLManagedTensor>::kFresh)) {
    return taken(static_cast<DLManagedTensor*>(found), true);
  }
  return false;
}

}  // namespace pippin::python
