// Lists of tensors: the form of TensorFlow's TensorArray in MIL.
#include <algorithm>
#include <span>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

const ValueInfo& list_input(InferContext& context) {
  const ValueInfo& list = context.input("ls");
  if (list.kind != ValueType::Kind::List) context.reject("ls is not a list");
  return list;
}

// Sizes that are known only from a list's elements become data-dependent sizes of this operation.
Shape element_shape(InferContext& context, const ValueInfo& list) {
  Shape shape;
  for (size_t i = 0; i < list.shape.size(); ++i) {
    const Dim& size = list.shape[i];
    shape.push_back(size.is_constant()
                        ? size
                        : context.data_dependent(fmt::format("element{}", i), Dim(INT64_MAX)));
  }
  return shape;
}

void check_element(InferContext& context, const ValueInfo& list, DataType type,
                   std::span<const Dim> shape) {
  bool fits = type == list.type && shape.size() == list.shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    fits = known_equal(shape[i], list.shape[i]) != false;
  }
  if (!fits) {
    context.reject("a {} {} into a list of {} {}", to_string(type),
                   to_string(Shape(shape.begin(), shape.end())), to_string(list.type),
                   to_string(list.shape));
  }
}

Infos infer_make(InferContext& context) {
  ValueInfo list;
  list.kind = ValueType::Kind::List;
  list.type = data_type_param(context, "dtype");
  const auto sizes =
      context.has("elem_shape") ? context.inputs("elem_shape") : std::vector<const ValueInfo*>{};
  for (const ValueInfo* size : sizes) {
    if (size->type == DataType::String) {  // the name of an unknown size
      list.shape.push_back(
          context.data_dependent(fmt::format("element{}", list.shape.size()), Dim(INT64_MAX)));
      continue;
    }
    if (!size->elements) context.reject("elem_shape must be constant");
    for (const Dim& dim : *size->elements) {
      context.require_at_least(dim, Dim(0), "a size");
      list.shape.push_back(dim);
    }
  }
  if (static_cast<int64_t>(list.shape.size()) > kMaxRank) {
    context.reject("elements of rank {}", list.shape.size());
  }
  if (!context.bool_param("dynamic_length")) {
    if (!context.has("init_length")) {
      list.length = Dim(1);
    } else if (const auto length = context.known("init_length"); length && length->size() == 1) {
      list.length = length->front();
    }
  }
  return one(std::move(list));
}

Tensors evaluate_make(EvalContext& context) {
  Dims shape;
  if (context.has("elem_shape")) {
    for (const Tensor* size : context.inputs("elem_shape")) {
      if (size->type == DataType::String) {
        shape.push_back(kUnknownDim);
      } else {
        for (const double dim : size->values) shape.push_back(static_cast<int64_t>(dim));
      }
    }
  }
  Tensor list = Tensor::list(data_type_param(context, "dtype"), std::move(shape));
  const int64_t length = context.int_param("init_length");
  check_element_count(length);
  list.items.resize(static_cast<size_t>(length));
  list.can_grow = context.bool_param("dynamic_length");
  return one(std::move(list));
}

Infos infer_length(InferContext& context) {
  const ValueInfo& list = list_input(context);
  ValueInfo info = tensor_info(DataType::Int32, {});
  if (list.length) info.elements = {*list.length};
  return one(std::move(info));
}
Tensors evaluate_length(EvalContext& context) {
  const auto length = static_cast<double>(context.input("ls").items.size());
  return one(Tensor::scalar(DataType::Int32, length));
}

// Elements that were never written are zeros.
std::shared_ptr<const Tensor> read(const EvalContext& context, const Tensor& list, double index) {
  if (index < 0 || index >= static_cast<double>(list.items.size())) {
    context.reject("index {} of a list of {}", index, list.items.size());
  }
  const auto& item = list.items[static_cast<size_t>(index)];
  if (item != nullptr) return item;
  if (std::find(list.shape.begin(), list.shape.end(), kUnknownDim) != list.shape.end()) {
    context.reject("element {} was never written, so its size is unknown", index);
  }
  return std::make_shared<const Tensor>(list.type, list.shape);
}

void write(const EvalContext& context, Tensor& list, double index, Tensor value) {
  const auto fits = [](int64_t size, int64_t own) { return own == kUnknownDim || own == size; };
  if (!std::equal(value.shape.begin(), value.shape.end(), list.shape.begin(), list.shape.end(),
                  fits)) {
    context.reject("an element of shape {} into a list of {}", value.shape, list.shape);
  }
  if (index < 0 || (!list.can_grow && index >= static_cast<double>(list.items.size()))) {
    context.reject("index {} of a list of {}", index, list.items.size());
  }
  const auto place = static_cast<size_t>(index);
  if (place >= list.items.size()) {
    check_element_count(static_cast<int64_t>(place) + 1);
    list.items.resize(place + 1);
  }
  value.type = list.type;
  list.items[place] = std::make_shared<const Tensor>(std::move(value));
}

Infos infer_read(InferContext& context) {
  const ValueInfo& list = list_input(context);
  return one(tensor_info(list.type, element_shape(context, list)));
}
Tensors evaluate_read(EvalContext& context) {
  const auto index = static_cast<double>(context.int_param("index"));
  return one(*read(context, context.input("ls"), index));
}

Infos infer_write(InferContext& context) {
  const ValueInfo &list = list_input(context), &value = context.input("value");
  check_element(context, list, value.type, value.shape);
  return one(list);
}
Tensors evaluate_write(EvalContext& context) {
  Tensor list = context.input("ls");
  const auto index = static_cast<double>(context.int_param("index"));
  write(context, list, index, context.input("value"));
  return one(std::move(list));
}

const Dim& index_count(InferContext& context) {
  const Shape& indices = context.input("indices").shape;
  if (indices.size() != 1) context.reject("indices of rank {}", indices.size());
  return indices[0];
}

Infos infer_list_gather(InferContext& context) {
  const ValueInfo& list = list_input(context);
  Shape shape = element_shape(context, list);
  shape.insert(shape.begin(), index_count(context));
  return one(tensor_info(list.type, std::move(shape)));
}
Tensors evaluate_list_gather(EvalContext& context) {
  const Tensor &list = context.input("ls"), &indices = context.input("indices");
  Tensor result;
  result.shape = list.shape;
  for (int64_t& size : result.shape) size = std::max<int64_t>(size, 0);
  for (size_t i = 0; i < indices.values.size(); ++i) {
    const auto item = read(context, list, indices.values[i]);
    if (i == 0) {
      result.shape = item->shape;
      Dims all = item->shape;
      all.push_back(indices.size());
      check_element_count(num_elements(all));
    }
    if (item->shape != result.shape) {
      context.reject("elements of shapes {} and {}", result.shape, item->shape);
    }
    result.values.insert(result.values.end(), item->values.begin(), item->values.end());
  }
  result.type = list.type;
  result.shape.insert(result.shape.begin(), indices.size());
  return one(std::move(result));
}

Infos infer_list_scatter(InferContext& context) {
  const ValueInfo &list = list_input(context), &value = context.input("value");
  if (value.shape.empty()) context.reject("value has rank 0");
  context.require_equal(value.shape[0], index_count(context), "values and indices");
  check_element(context, list, value.type, std::span(value.shape).subspan(1));
  return one(list);
}
Tensors evaluate_list_scatter(EvalContext& context) {
  Tensor list = context.input("ls");
  const Tensor &indices = context.input("indices"), &value = context.input("value");
  const Dims shape(value.shape.begin() + 1, value.shape.end());
  const auto size = static_cast<ptrdiff_t>(num_elements(shape));
  if (value.shape[0] != indices.size()) {
    context.reject("{} values for {} indices", value.shape[0], indices.size());
  }
  auto next = value.values.begin();
  for (const double index : indices.values) {
    Tensor element(value.type, shape);
    element.values.assign(next, next + size);
    next += size;
    write(context, list, index, std::move(element));
  }
  return one(std::move(list));
}

}  // namespace

std::vector<OpDef> list_ops() {
  const Parameter list = tensor("ls", "l"), index = tensor("index", "i"),
                  indices = tensor("indices", "i");
  Parameter element_sizes = tuple("elem_shape", "is");
  element_sizes.optional = true;
  return {
      {.name = "make_list",
       .parameters = {optional_tensor("init_length", "i", int64_t{1}),
                      optional_constant("dynamic_length", "b", true), element_sizes,
                      optional_constant("dtype", "s", "fp32")},
       .infer = infer_make,
       .evaluate = evaluate_make,
       .doc = "A list of init_length tensors of shape elem_shape, all zeros. A size that is a "
              "string is told by the elements. With dynamic_length, writes behind the end make it "
              "longer."},
      {.name = "list_length",
       .parameters = {list},
       .infer = infer_length,
       .evaluate = evaluate_length,
       .doc = "The number of elements, int32."},
      {.name = "list_read",
       .parameters = {list, index},
       .infer = infer_read,
       .evaluate = evaluate_read,
       .doc = "The element at index, which must be in range."},
      {.name = "list_write",
       .parameters = {list, index, tensor("value")},
       .infer = infer_write,
       .evaluate = evaluate_write,
       .doc = "The list with value at index; behind the end, zeros fill the gap."},
      {.name = "list_gather",
       .parameters = {list, indices},
       .infer = infer_list_gather,
       .evaluate = evaluate_list_gather,
       .doc = "The elements at the indices, stacked along a new first axis."},
      {.name = "list_scatter",
       .parameters = {list, indices, tensor("value")},
       .infer = infer_list_scatter,
       .evaluate = evaluate_list_scatter,
       .doc = "The list with value[i] at indices[i], in this order."},
  };
}

}  // namespace pippin::mil
