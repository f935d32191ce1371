// A prepared prediction that runs many times, from the same memory into the same memory.
//
//   pippin::Call call = function.prepare({{"x", Tensor::wrap(...)}}, {{"y", Tensor::wrap(...)}});
//   call.run(state);  // reads the memory of x, writes that of y
#pragma once

#include <memory>

#include "pippin/api/tensor.h"
#include "pippin/base/export.h"
#include "pippin/base/threads/cancel.h"

namespace pippin {

class State;  // api/model.h

// Made by Function::prepare(). Keeps the parts of the function and its model that it needs alive.
// Any thread may use a call, but only one at a time: run() throws InvalidArgument while another
// thread is in it. Calls of one model run one after another.
class PIPPIN_API Call {
 public:
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;
  ~Call();

  // Predicts like Function::predict() and writes the prepared outputs after all of them are
  // computed: after an Error they are unchanged, though the state may have changed. Throws the
  // errors of predict(), and InvalidArgument for a call that is in use and for an output whose
  // shape differs from its tensor's.
  //
  // A planned call allocates nothing from its second run with a state on, except where an operation
  // has no kernel (Function::describe() of a prediction says "reference").
  void run(State& state);
  void run(State& state, const CancelToken& cancel);
  // Uses an internal state, zeroed at the start of each run.
  void run();
  // Function::predict() with the call's inputs: returns all outputs in new tensors, or writes those
  // in `outputs` into its tensors, which may be others each time. The prepared outputs are not
  // touched. Uses the plan if the call was prepared without outputs.
  Values predict(State& state);
  void predict(State& state, Values& outputs);

  // The prepared values; must not be used during a run. Inputs may be replaced; with one of another
  // accepted type or shape, the call runs without the plan.
  Values& inputs();
  // The prepared outputs; must not be used during a run.
  const Values& outputs() const;

  // Whether it has a plan for these shapes, and memory for it. Functions that cannot be planned
  // (control flow, lists, strings, images, pipelines, LoadOptions::trace and Precision::Reference)
  // run as in Function::predict(), which allocates.
  bool is_planned() const;

 private:
  friend class Function;
  struct Impl;
  explicit Call(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pippin
