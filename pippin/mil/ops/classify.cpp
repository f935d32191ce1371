// The op that turns a model into a classifier.
#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

Infos infer_classify(InferContext& context) {
  const ValueInfo &probabilities = context.input("probabilities"),
                  &classes = context.input("classes");
  if (!classes.length || !classes.shape.empty() ||
      (classes.type != DataType::String && classes.type != DataType::Int64)) {
    context.reject("classes must be a constant list of strings or int64 numbers");
  }
  context.require_equal(num_elements(probabilities.shape), *classes.length,
                        "as many probabilities as classes");
  context.require_at_least(*classes.length, Dim(1), "the number of classes");
  ValueInfo dictionary = tensor_info(DataType::Float64, {*classes.length});
  dictionary.kind = ValueType::Kind::Dictionary;
  dictionary.key_type = classes.type;
  return {tensor_info(classes.type, {}), std::move(dictionary)};
}

Tensors evaluate_classify(EvalContext& context) {
  const Tensor &probabilities = context.input("probabilities"), &classes = context.input("classes");
  const auto count = static_cast<int64_t>(classes.items.size());
  if (probabilities.size() != count || count == 0) {
    context.reject("{} probabilities for {} classes", probabilities.size(), count);
  }
  Tensor keys(classes.type, {count});
  size_t best = 0;
  for (size_t i = 0; i < classes.items.size(); ++i) {
    const Tensor& label = *classes.items[i];
    if (classes.type == DataType::String) {
      keys.strings[i] = label.strings.at(0);
    } else {
      keys.values[i] = label.values.at(0);
    }
    if (probabilities.values[i] > probabilities.values[best]) best = i;
  }
  Tensor label = *classes.items[best];
  Tensor values(DataType::Float64, {count});
  values.values = probabilities.values;
  return {std::move(label), Tensor::dictionary(std::move(keys), std::move(values))};
}

}  // namespace

std::vector<OpDef> classify_ops() {
  return {
      {.name = "classify",
       .parameters = {tensor("probabilities", "f"), constant("classes", "l")},
       .infer = infer_classify,
       .evaluate = evaluate_classify,
       .doc = "The class with the largest probability (of equals the first), and a dictionary from "
              "every class to its probability.",
       .num_outputs = 2},
  };
}

}  // namespace pippin::mil
