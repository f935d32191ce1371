#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

std::vector<double> product(const array& a, const array& b, const Shape& shape) {
  const std::vector<double> x = numbers(a), y = numbers(b);
  std::vector<double> result;
  each_index(shape, [&](const Shape& index) {
    Shape left = index, right = index;
    double total = 0;
    for (int64_t k = 0; k < a.shape(-1); ++k) {
      left.back() = k;
      right[right.size() - 2] = k;
      total += x[place_of(a.shape(), left)] * y[place_of(b.shape(), right)];
    }
    result.push_back(total);
  });
  return result;
}

TEST(Matmul, AgreesInShapesLayoutsAndTypes) {
  const std::pair<Shape, Shape> cases[] = {
      {{1, 7}, {7, 1}},          {{3, 5}, {5, 4}},    {{1, 33}, {33, 70}},
      {{17, 40}, {40, 9}},       {{2, 3, 8}, {8, 5}}, {{2, 3, 8}, {2, 8, 5}},
      {{4, 1, 2, 6}, {3, 6, 5}}, {{5, 0}, {0, 3}},    {{2, 1, 9}, {2, 9, 300}}};
  for (const Dtype dtype : {float32, float16, bfloat16, float64}) {
    for (const auto& [left, right] : cases) {
      const array a = normal_array(left, dtype, 1), b = normal_array(right, dtype, 2);
      Shape shape = broadcast_shapes("test", Shape(left.begin(), left.end() - 2),
                                     Shape(right.begin(), right.end() - 2));
      shape.push_back(left[left.size() - 2]);
      shape.push_back(right.back());
      const std::vector<double> expected = product(a, b, shape);
      for (const array& x : layouts(a)) {
        for (const array& y : layouts(b)) {
          const array z = matmul(x, y);
          ASSERT_EQ(z.shape(), shape);
          ASSERT_EQ(z.dtype(), dtype);
          expect_numbers(z, expected, tolerance(dtype),
                         std::string(to_string(dtype)) + to_string(left) + to_string(right),
                         tolerance(dtype) * 4);
        }
      }
    }
  }
}

TEST(Matmul, TakesVectorsAndRefusesWhatCannotBe) {
  EXPECT_EQ(matmul(array({1.0f, 2.0f}), array({3.0f, 4.0f})).item<float>(), 11);
  EXPECT_EQ(matmul(ones({2, 3}), ones({3})).shape(), Shape({2}));
  EXPECT_EQ(matmul(ones({3}), ones({4, 3, 2})).shape(), Shape({4, 2}));
  EXPECT_EQ(matmul(ones({2, 2}, float16), ones({2, 2})).dtype(), float32);
  EXPECT_ERROR(matmul(ones({2, 3}), ones({2, 3})), ErrorCode::InvalidArgument, "[matmul]");
  EXPECT_ERROR(matmul(ones({2, 3}, int32), ones({3, 2}, int32)), ErrorCode::InvalidArgument,
               "[matmul]");
  EXPECT_ERROR(matmul(array(1.0f), ones({1, 1})), ErrorCode::InvalidArgument, "[matmul]");
}

TEST(Matmul, SpreadsNaN) {
  array a = ones({2, 2});
  a = slice_update(a, array({std::nanf("")}, {1, 1}), {0, 0}, {1, 1});
  const std::vector<float> y = matmul(a, ones({2, 3})).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[2]));
  EXPECT_EQ(y[3], 2);
}

// The columns of b are strided and are transposed by all threads, a piece each.
TEST(Matmul, TurnsLongColumns) {
  const array x = reshape(astype(remainder(arange(300000), array(7)), float32), {100000, 3});
  const array found = matmul(transpose(x), x);
  const auto values = x.to_vector<float>();
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (size_t k = 0; k < values.size(); k += 3) {
        sum += double{values[k + static_cast<size_t>(i)]} * values[k + static_cast<size_t>(j)];
      }
      EXPECT_NEAR(found.to_vector<float>()[static_cast<size_t>(3 * i + j)], sum, 1e-4 * sum);
    }
  }
}

TEST(Matmul, WorksOnLargeMatrices) {
  const array a = normal_array({130, 515}, float32, 3), b = normal_array({515, 260}, float32, 4);
  const std::vector<double> expected = product(a, b, {130, 260});
  expect_numbers(matmul(a, b), expected, 1e-5, "row-major", 1e-4);
  expect_numbers(matmul(a, transpose(contiguous(transpose(b)))), expected, 1e-5, "turned", 1e-4);
  expect_numbers(matmul(astype(a, float16), astype(b, float16)), expected, 1e-2, "halves", 0.1);
}

TEST(Matmul, AddsRowsAndMatrices) {
  const array a = normal_array({3, 4}, float32, 1), b = normal_array({4, 5}, float32, 2);
  const array row = normal_array({5}, float32, 3), whole = normal_array({3, 5}, float32, 4);
  expect_numbers(addmm(row, a, b), numbers(add(matmul(a, b), row)), 1e-6, "row", 1e-6);
  expect_numbers(addmm(whole, a, b, 2, 3),
                 numbers(add(multiply(matmul(a, b), array(2.0f)), multiply(whole, array(3.0f)))),
                 1e-6, "whole", 1e-6);
}

TEST(Matmul, ChoosesMatrices) {
  const array a = normal_array({2, 3, 4}, float32, 1), b = normal_array({5, 4, 6}, float32, 2);
  const array left({1, 0, 1}), right({4, 2, 0});
  expect_numbers(gather_mm(a, b, left, right), numbers(matmul(take(a, left, 0), take(b, right, 0))),
                 1e-5, "gather_mm", 1e-5);
  EXPECT_ERROR(eval(gather_mm(a, b, array({2}), array({0}))), ErrorCode::InvalidArgument,
               "[gather_mm] Index 2");
}

TEST(Contract, FollowsSubscripts) {
  const array a = normal_array({3, 4}, float32, 1), b = normal_array({4, 5}, float32, 2);
  const array c = normal_array({5, 3}, float32, 3);
  expect_numbers(einsum("ij,jk", {a, b}), numbers(matmul(a, b)), 1e-5, "product", 1e-6);
  expect_numbers(einsum("ij->ji", {a}), numbers(transpose(a)), 0, "transpose");
  expect_numbers(einsum("ij,jk,ki->", {a, b, c}), numbers(trace(matmul(matmul(a, b), c))), 1e-4,
                 "trace", 1e-5);
  expect_numbers(einsum("ii->i", {matmul(a, transpose(a))}),
                 numbers(diagonal(matmul(a, transpose(a)))), 1e-5, "diagonal");
  expect_numbers(einsum("i,j->ij", {sum(a, 1), sum(b, 0)}), numbers(outer(sum(a, 1), sum(b, 0))),
                 1e-5, "outer", 1e-6);
  const array x = normal_array({2, 3, 4}, float32, 5), y = normal_array({2, 4, 3}, float32, 6);
  expect_numbers(einsum("...ij,...jk->...ik", {x, y}), numbers(matmul(x, y)), 1e-5, "batches",
                 1e-5);
  EXPECT_EQ(einsum("ij,jk", {ones({2, 2}, int32), ones({2, 2}, int32)}).to_vector<int>(),
            std::vector<int>({2, 2, 2, 2}));
  EXPECT_ERROR(einsum("ij,jk", {a, c}), ErrorCode::InvalidArgument, "[einsum]");
  EXPECT_ERROR(einsum("ij->k", {a}), ErrorCode::InvalidArgument, "[einsum]");
  EXPECT_EQ(einsum_path("ij,jk,kl", {zeros({5, 8}), zeros({8, 10}), zeros({10, 7})}).first,
            (std::vector<std::vector<int>>{{1, 2}, {0, 1}}));
  expect_numbers(tensordot(x, y, {2, 1}, {1, 2}), numbers(einsum("aij,bji->ab", {x, y})), 1e-5,
                 "tensordot", 1e-5);
  expect_numbers(inner(a, a), numbers(matmul(a, transpose(a))), 1e-5, "inner", 1e-6);
  EXPECT_EQ(kron(array({1, 2}), array({1, 10})).to_vector<int>(), std::vector<int>({1, 10, 2, 20}));
}

}  // namespace
}  // namespace pippin::mx
