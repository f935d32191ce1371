// DLPack's capsules, which are Python's form of its structures.
#pragma once

#include <memory>
#include <utility>

#include <pybind11/pybind11.h>

#include "pippin/api/dlpack.h"
#include "pippin/base/error.h"
#include "pippin/python/lock.h"

namespace pippin::python {

// The names of a capsule, before and after it is taken.
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

// Gives back what a capsule held. Those who made it may be Python.
template <typename Managed>
void release(Managed* managed) {
  if (managed->deleter == nullptr || Py_IsInitialized() == 0) return;
  const Locked lock;
  managed->deleter(managed);
}

// A capsule that owns `managed` until somebody takes it.
template <typename Managed>
pybind11::object capsule_of(Managed* managed) {
  PyObject* const capsule =
      PyCapsule_New(managed, CapsuleNames<Managed>::kFresh, [](PyObject* self) {
        if (PyCapsule_IsValid(self, CapsuleNames<Managed>::kFresh) == 0) return;  // somebody has it
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

// What __dlpack__ (`method`) gives, asked for what says whether it is read-only; the older protocol
// has no such argument.
pybind11::object exported(const pybind11::object& method);

// Calls take(managed, is_writable) with what a capsule holds, a DLManagedTensorVersioned* or a
// DLManagedTensor*, which is the caller's where it returns true. False for what is no capsule of a
// tensor. Throws Unsupported for versions that are not known.
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
