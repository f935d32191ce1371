// Operations of the graph: their evaluation, and their form in MIL.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <tuple>

#include "pippin/mx/core/array.h"
#include "pippin/mx/core/node.h"

namespace pippin::mx {

class Recorder;  // recorder.h

class Primitive : public Counted {
 public:
  virtual ~Primitive() = default;
  static void destroy(const Primitive* primitive) noexcept { delete primitive; }

  // The name in errors and packages: "add".
  virtual std::string_view name() const noexcept = 0;

  // Allocates `out`'s storage and computes it. All inputs are available. If it throws, the node
  // stays recorded.
  virtual void eval(Node& out) const = 0;

  // Called before `out` and its inputs are evaluated: may replace its primitive and inputs by
  // others that compute the same faster. Inputs that only `out` owned are then not evaluated.
  virtual void rewrite(Node& /*out*/) const {}

  // Whether nodes of this primitive and of `other` (which may be the same primitive) are better
  // evaluated together if their first input is the same; eval_together() does so for all of `outs`.
  virtual bool goes_with(const Primitive& /*other*/) const { return false; }
  virtual void eval_together(std::span<Node* const> outs) const;

  // Writes the operation into the function that `recorder` records. By default throws Unsupported,
  // with the operation's name.
  virtual void record(Recorder& recorder, const Node& out) const;

  // Whether another primitive of this class has the same parameters.
  virtual bool same_as(const Primitive& other) const { return this == &other; }
  // Whether record() takes the numbers that differ between recordings for several sizes from all of
  // them (Recorder::dim). Otherwise such numbers are rejected.
  virtual bool records_numbers() const { return false; }
  // Whether record() uses its inputs' values; false if it looks at the operations that made them.
  virtual bool records_inputs() const { return true; }

 protected:
  Primitive() = default;
};

// A primitive with parameters, which `auto members() const` of P returns as references (std::tie).
template <typename P>
class PrimitiveWith : public Primitive {
 public:
  bool same_as(const Primitive& other) const final {
    return static_cast<const P&>(*this).members() == static_cast<const P&>(other).members();
  }
};

// Makes an array that `primitive` will compute.
array make(Ref<const Primitive> primitive, Dtype dtype, Shape shape,
           std::initializer_list<const array*> inputs);
array make(Ref<const Primitive> primitive, Dtype dtype, Shape shape, std::span<const array> inputs);

// A shared instance of a primitive without parameters.
template <typename P, auto... kValues>
const Ref<const Primitive>& shared_primitive() {
  static const auto* const instance = new Ref<const Primitive>(new P(kValues...));
  return *instance;
}

template <typename P, typename... Args>
Ref<const Primitive> new_primitive(Args&&... args) {
  return Ref<const Primitive>(new P(std::forward<Args>(args)...));
}

// Several results of one operation. Computing one of them computes all, once.
struct Output {
  Dtype dtype;
  Shape shape;
};
std::vector<array> make_several(Ref<const Primitive> primitive, std::span<const Output> outputs,
                                std::span<const array> inputs);

// An array made by a view primitive: computed immediately if the input is available. P has `void
// eval(Node& out)`, which uses only strides.
array make_view(Ref<const Primitive> primitive, Dtype dtype, Shape shape, const array& input);

}  // namespace pippin::mx
