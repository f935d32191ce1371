// What an operation is to the graph: how it computes, and how it is written as MIL.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <tuple>

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

  // Before `out` and what it needs are evaluated: may give it another primitive and other inputs,
  // which compute the same better. Inputs that only `out` owns are then not evaluated.
  virtual void rewrite(Node& /*out*/) const {}

  // Whether nodes of this primitive and of `other`, itself among them, are better evaluated at once
  // where their first input is the same; and does so, for all of `outs`.
  virtual bool goes_with(const Primitive& /*other*/) const { return false; }
  virtual void eval_together(std::span<Node* const> outs) const;

  // Writes the operation into the function that `recorder` records. By default refuses:
  // Unsupported, with the operation's name.
  virtual void record(Recorder& recorder, const Node& out) const;

  // Whether another primitive of this class is the same in all of its numbers.
  virtual bool same_as(const Primitive& other) const { return this == &other; }
  // Whether record() takes the numbers that differ between recordings for several sizes from all of
  // them (Recorder::dim). Where it does not, such numbers are refused.
  virtual bool records_numbers() const { return false; }
  // Whether record() asks for its inputs' values; not where it looks at what made them.
  virtual bool records_inputs() const { return true; }

 protected:
  Primitive() = default;
};

// same_as() for members that std::tie can hold:
//   return equal_members(*this, other, [](const auto& p) { return std::tie(p.axis_, p.mode_); });
template <typename P, typename Members>
bool equal_members(const P& primitive, const Primitive& other, Members members) {
  return members(primitive) == members(static_cast<const P&>(other));
}

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
