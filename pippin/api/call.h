// A prepared prediction that runs many times, from the same memory into the same memory.
//
//   pippin::Call call = function.prepare({{"x", Tensor::wrap(...)}}, {{"y", Tensor::wrap(...)}});
//   call.run(state);  // reads the memory of x, writes that of y
#pragma once

#include <memory>

#include "pippin/api/tensor.h"
#include "pippin/base/cancel.h"
#include "pippin/base/export.h"

namespace pippin {

class State;  // api/model.h

// Made by Function::prepare(). It keeps what it needs of the function and its model alive. Any
// thread may use a call, but only one at a time: run() throws InvalidArgument while another thread
// is in it. Calls of one model run one after the other.
class PIPPIN_API Call {
 public:
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;
  ~Call();

  // Predicts as Function::predict() and writes the outputs that it was prepared with, once all of
  // them are computed: after an Error they are unchanged, though the state may have changed. Throws
  // what predict() throws, and InvalidArgument for a call that is in use and for an output whose
  // shape differs from its tensor's.
  //
  // A planned call allocates nothing from its second run with a state on, except where an operation
  // has no kernel (Function::describe() of a prediction says "reference").
  void run(State& state);
  void run(State& state, const CancelToken& cancel);
  // With a state of its own, which is zeros at the start of each run.
  void run();
  // Function::predict() of its inputs: all outputs in new tensors, or those that `outputs` names in
  // its tensors, which may be others each time. The outputs that it was prepared with are left
  // alone. It is planned where it was prepared without outputs.
  Values predict(State& state);
  void predict(State& state, Values& outputs);

  // What it was prepared with; not to be used while it runs. Inputs may be replaced; with one of
  // another type or shape that the model accepts, the call runs as if it were not planned.
  Values& inputs();
  const Values& outputs() const;

  // Whether it has a plan for these shapes and memory of its own. What cannot be planned (control
  // flow, lists, strings, images, pipelines, LoadOptions::trace and Precision::Reference) runs as
  // by Function::predict(), which allocates.
  bool is_planned() const;

 private:
  friend class Function;
  struct Impl;
  explicit Call(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pippin
