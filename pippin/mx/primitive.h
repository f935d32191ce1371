// What an operation is to the graph: how it computes, and how it is written as MIL.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "pippin/mx/array.h"
#include "pippin/mx/node.h"

namespace pippin::mx {

class Recorder;  // recorder.h

class Primitive : public Counted {
 public:
  virtual ~Primitive() = default;
  static void destroy(const Primitive* primitive) noexcept { delete primitive; }

  // As errors and packages call it: "add".
  virtual std::string_view name() const noexcept = 0;

  // Gives `out` its storage and computes it. All inputs are available. An exception leaves the node
  // as it was recorded.
  virtual void eval(Node& out) const = 0;

  // Writes the operation into the function that `recorder` records. By default refuses:
  // Unsupported, with the operation's name.
  virtual void record(Recorder& recorder, const Node& out) const;

 protected:
  Primitive() = default;
};

// An array that `primitive` will compute.
array make(Ref<const Primitive> primitive, Dtype dtype, Shape shape,
           std::initializer_list<const array*> inputs);
array make(Ref<const Primitive> primitive, Dtype dtype, Shape shape, std::span<const array> inputs);

// One primitive for all its uses: those without parameters.
template <typename P, auto... kValues>
const Ref<const Primitive>& shared_primitive() {
  static const auto* const instance = new Ref<const Primitive>(new P(kValues...));
  return *instance;
}

template <typename P, typename... Args>
Ref<const Primitive> new_primitive(Args&&... args) {
  return Ref<const Primitive>(new P(std::forward<Args>(args)...));
}

// Several results of one operation. Each array computes all of them, once.
struct Output {
  Dtype dtype;
  Shape shape;
};
std::vector<array> make_several(Ref<const Primitive> primitive, std::span<const Output> outputs,
                                std::span<const array> inputs);

// An array of which only views are taken: computed at once where the input is there already.
// P has `void eval(Node& out)`, which looks at strides only.
array make_view(Ref<const Primitive> primitive, Dtype dtype, Shape shape, const array& input);

}  // namespace pippin::mx
