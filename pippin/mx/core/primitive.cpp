#include "pippin/mx/core/primitive.h"

#include <utility>

#include "pippin/base/error.h"

namespace pippin::mx {
namespace {

// One result of a primitive with several.
class Part final : public Primitive {
 public:
  explicit Part(size_t index) : index_(index) {}
  std::string_view name() const noexcept override { return "part"; }
  void eval(Node& out) const override {
    const Node& part = *(*out.inputs[0]->parts)[index_];
    out.view(part, part.strides);
  }

 private:
  size_t index_;
};

}  // namespace

void Primitive::eval_together(std::span<Node* const> outs) const {
  for (Node* out : outs) out->primitive->eval(*out);
}

void Primitive::record(Recorder&, const Node&) const {
  fail(ErrorCode::Unsupported, "export: {} cannot be written as MIL", name());
}

array make(Ref<const Primitive> primitive, Dtype dtype, Shape shape,
           std::initializer_list<const array*> inputs) {
  Ref<Node> node(new Node(dtype, std::move(shape)));
  node->primitive = std::move(primitive);
  node->inputs.reserve(inputs.size());
  for (const array* input : inputs) node->inputs.push_back(input->node());
  return array(std::move(node));
}

array make(Ref<const Primitive> primitive, Dtype dtype, Shape shape,
           std::span<const array> inputs) {
  Ref<Node> node(new Node(dtype, std::move(shape)));
  node->primitive = std::move(primitive);
  node->inputs.reserve(inputs.size());
  for (const array& input : inputs) node->inputs.push_back(input.node());
  return array(std::move(node));
}

std::vector<array> make_several(Ref<const Primitive> primitive, std::span<const Output> outputs,
                                std::span<const array> inputs) {
  const array whole = make(std::move(primitive), bool_, Shape(), inputs);
  whole.node()->parts = std::make_unique<std::vector<Ref<Node>>>();
  std::vector<array> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    whole.node()->parts->emplace_back(new Node(outputs[i].dtype, outputs[i].shape));
    result.push_back(make(new_primitive<Part>(i), outputs[i].dtype, outputs[i].shape, {&whole}));
  }
  return result;
}

array make_view(Ref<const Primitive> primitive, Dtype dtype, Shape shape, const array& input) {
  array result = make(std::move(primitive), dtype, std::move(shape), {&input});
  if (input.is_available()) {
    Node& node = *result.node();
    node.primitive->eval(node);
    node.inputs.clear();
    node.primitive.reset();
    node.is_available.store(true, std::memory_order_release);
  }
  return result;
}

}  // namespace pippin::mx
