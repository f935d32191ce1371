// Lists, also in while loops, and the dictionary of classify.
#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

Tensor make_list(const Arguments& arguments) {
  return run_one("make_list", arguments);
}
const Tensor kTwoZeros = make_list({{"init_length", {integer(2)}}, {"elem_shape", {integer(2)}}});

Tensor read(const Tensor& list, int64_t index) {
  return run_one("list_read", {{"ls", {list}}, {"index", {integer(index)}}});
}

// Operations on a literal list, which has no gaps and whose type cannot grow.
TEST(List, MadeOfZeros) {
  EXPECT_EQ(kTwoZeros.kind, ValueType::Kind::List);
  EXPECT_EQ(kTwoZeros.items.size(), 2u);
  const Tensor ints = make_list({{"dtype", {text("int32")}}});
  EXPECT_EQ(ints.type, DataType::Int32);
  EXPECT_EQ(ints.items.size(), 1u);
  EXPECT_TRUE(ints.shape.empty());
  EXPECT_EQ(error_code_of([] {
              make_list({{"init_length", {integer(-1)}}});
            }),
            ErrorCode::LimitExceeded);
  const ElementLimit limit(1000);
  EXPECT_EQ(error_code_of([] {
              make_list({{"init_length", {integer(1001)}}});
            }),
            ErrorCode::LimitExceeded);
}

Tensor list_of(std::vector<Tensor> items) {
  Tensor list = Tensor::list(items.at(0).type, items[0].shape);
  for (Tensor& item : items) list.items.push_back(std::make_shared<const Tensor>(std::move(item)));
  return list;
}

TEST(List, ReadsAndWrites) {
  const Tensor list = list_of({floats({2}, {1, 2}), floats({2}, {3, 4})});
  expect_tensor(read(list, 1), {2}, {3, 4});
  EXPECT_EQ(error_code_of([&] { read(list, 2); }), ErrorCode::InvalidFile);
  EXPECT_EQ(error_code_of([&] { read(list, -1); }), ErrorCode::InvalidFile);
  const Tensor longer = run_one(
      "list_write", {{"ls", {list}}, {"index", {integer(2)}}, {"value", {floats({2}, {5, 6})}}});
  EXPECT_EQ(longer.items.size(), 3u);
  expect_tensor(read(longer, 2), {2}, {5, 6});
  EXPECT_EQ(list.items.size(), 2u);
  expect_tensor(run_one("list_gather", {{"ls", {longer}}, {"indices", {ints({2, 0})}}}), {2, 2},
                {5, 6, 1, 2});
  expect_tensor(run_one("list_gather", {{"ls", {longer}}, {"indices", {ints({})}}}), {0, 2}, {});
  expect_tensor(run_one("list_length", {{"ls", {longer}}}), {}, {3});
}

TEST(List, RefusesWrongElements) {
  const Tensor list = list_of({floats({2}, {1, 2})});
  for (const Tensor& value : {floats({3}, {1, 2, 3}), ints({2}, {1, 2}), floats({}, {1})}) {
    EXPECT_EQ(
        error_code_of([&] {
          run_one("list_write", {{"ls", {list}}, {"index", {integer(0)}}, {"value", {value}}});
        }),
        ErrorCode::InvalidFile);
  }
  // Other ops do not accept lists, and these ops do not accept tensors.
  EXPECT_EQ(error_code_of([&] { run_one("relu", {{"x", {list}}}); }), ErrorCode::InvalidFile);
  EXPECT_EQ(error_code_of([&] {
              run_one("list_length", {{"ls", {floats({}, {1})}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(List, Scatters) {
  const Tensor list = list_of({floats({}, {1}), floats({}, {2})});
  const Tensor result = run_one(
      "list_scatter",
      {{"ls", {list}}, {"indices", {ints({2, 0, 2})}}, {"value", {floats({3}, {7, 8, 9})}}});
  ASSERT_EQ(result.items.size(), 3u);
  expect_tensor(read(result, 0), {}, {8});
  expect_tensor(read(result, 1), {}, {2});
  expect_tensor(read(result, 2), {}, {9});
  EXPECT_EQ(
      error_code_of([&] {
        run_one("list_scatter",
                {{"ls", {list}}, {"indices", {ints({2, 0, 2})}}, {"value", {floats({2}, {7, 8})}}});
      }),
      ErrorCode::InvalidFile);
}

Tensor labels(const std::vector<std::string>& names) {
  std::vector<Tensor> items;
  for (const std::string& name : names) items.push_back(text(name));
  return list_of(std::move(items));
}

TEST(Classify, GivesLabelAndProbabilities) {
  const Arguments arguments = {{"probabilities", {floats({1, 3}, {0.25, 0.5, 0.5})}},
                               {"classes", {labels({"cat", "dog", "ant"})}}};
  const std::vector<Tensor> outputs = run_op("classify", arguments);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].strings, std::vector<std::string>{"dog"});
  EXPECT_EQ(outputs[1].kind, ValueType::Kind::Dictionary);
  ASSERT_EQ(outputs[1].items.size(), 2u);
  EXPECT_EQ(outputs[1].items[0]->strings, (std::vector<std::string>{"cat", "dog", "ant"}));
  expect_tensor(*outputs[1].items[1], {3}, {0.25, 0.5, 0.5});
}

TEST(Classify, NumbersAreLabelsToo) {
  std::vector<Tensor> classes;
  for (const double label : {7, 9}) classes.push_back(Tensor::scalar(DataType::Int64, label));
  const std::vector<Tensor> outputs = run_op(
      "classify",
      {{"probabilities", {floats({2}, {0.1, 0.9})}}, {"classes", {list_of(std::move(classes))}}});
  EXPECT_EQ(outputs.at(0).type, DataType::Int64);
  expect_tensor(outputs.at(0), {}, {9});
}

TEST(Classify, RefusesWrongClasses) {
  const Tensor two = floats({2}, {0.1, 0.9});
  EXPECT_EQ(error_code_of([&] {
              run_op("classify", {{"probabilities", {two}}, {"classes", {labels({"one"})}}});
            }),
            ErrorCode::InvalidFile);
  EXPECT_EQ(
      error_code_of([&] {
        run_op("classify", {{"probabilities", {two}}, {"classes", {list_of({floats({}, {1})})}}});
      }),
      ErrorCode::InvalidFile);
}

}  // namespace
}  // namespace pippin::mil
