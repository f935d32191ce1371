// pippin.State.
#pragma once

#include <mutex>
#include <utility>

#include <pybind11/pybind11.h>

#include "pippin/api/model.h"
#include "pippin/base/threads/fork.h"

namespace pippin::python {

// A state that one call at a time may use.
struct PyState {
  explicit PyState(State made) : state(std::move(made)) {}

  // Throws InvalidArgument while another thread uses it. Always free in a child of fork().
  std::unique_lock<ForkMutex> use();

  State state;
  ForkMutex mutex;
};

// The state in the argument `state`, or null for None. Throws TypeError.
PyState* find_state(pybind11::handle argument);

}  // namespace pippin::python
