// A prediction that is made over and over, from the same memory into the same memory.
//
//   pippin::Call call = function.prepare({{"x", Tensor::wrap(...)}}, {{"y", Tensor::wrap(...)}});
//   call.run(state);  // reads what x's memory has now, writes y's
//
// Part of the public interface.
#pragma once

#include <memory>

#include "pippin/api/tensor.h"
#include "pippin/base/cancel.h"
#include "pippin/base/export.h"

namespace pippin {

class State;  // api/model.h

// Made by Function::prepare(). It keeps what it needs of the function and its model. Any thread may
// use a call, one at a time: while one is in run(), another one's throws InvalidArgument. Calls of
// one model run one after the other.
class PIPPIN_API Call {
 public:
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;
  ~Call();

  // Predicts as Function::predict() and writes the outputs that it was prepared with. Outputs are
  // written when all of them are computed: after an Error they have what they had before, but a
  // state may have changed. Beside what predict() throws: InvalidArgument for a call that is in
  // use, and for an output that has another shape than the tensor for it.
  //
  // A planned call takes no memory from its second run with a state on, but where an operation has
  // no kernel (Function::describe() of a prediction says "reference").
  void run(State& state);
  void run(State& state, const CancelToken& cancel);
  // With a state of the call's own that is zeros each time.
  void run();

  // What it was prepared with; not while it runs. An input may be replaced: by one of another type
  // or shape, where the model takes it, the run is made as if the call were not planned.
  Values& inputs();
  const Values& outputs() const;

  // Whether it runs a plan that was made for these shapes, with memory of its own. What cannot be
  // planned (control flow, lists, strings, images, pipelines, LoadOptions::trace and
  // Precision::Reference) is predicted as by Function::predict(), and takes memory.
  bool is_planned() const;

 private:
  friend class Function;
  struct Impl;
  explicit Call(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pippin
