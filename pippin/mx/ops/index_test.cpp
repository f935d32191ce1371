#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

TEST(Index, TakesAlongEveryAxisOfEveryLayout) {
  const Shape shape{3, 4, 5};
  const array indices({2, 0, -1, 2, 1, -2}, {2, 3});
  const std::vector<int> places = indices.to_vector<int>();
  for (const Dtype dtype : {int32, float16, uint8, float64}) {
    const array a = ugly(shape, dtype, 2);
    const std::vector<double> values = numbers(a);
    for (int axis = 0; axis < 3; ++axis) {
      const auto at = static_cast<size_t>(axis);
      std::vector<double> expected;
      Shape whole(shape.begin(), shape.begin() + axis);
      whole.push_back(2);
      whole.push_back(3);
      for (size_t i = at + 1; i < 3; ++i) whole.push_back(shape[i]);
      each_index(whole, [&](const Shape& index) {
        Shape from(index.begin(), index.begin() + axis);
        const int place = places[static_cast<size_t>(index[at] * 3 + index[at + 1])];
        from.push_back(place < 0 ? place + shape[at] : place);
        for (size_t i = at + 2; i < index.size(); ++i) from.push_back(index[i]);
        expected.push_back(values[place_of(shape, from)]);
      });
      for (const array& x : layouts(a)) {
        const array y = take(x, indices, axis);
        EXPECT_EQ(y.shape(), whole);
        expect_numbers(y, expected, 0, "take");
      }
    }
  }
  EXPECT_EQ(take(counted({2, 3}), array({5, -6})).to_vector<int>(), std::vector<int>({5, 0}));
  EXPECT_EQ(take(counted({2, 3}), -1, 1).to_vector<int>(), std::vector<int>({2, 5}));
  EXPECT_ERROR(eval(take(counted({3}), array({3}))), ErrorCode::InvalidArgument,
               "[take] Index 3 is out of bounds for an axis of size 3.");
  EXPECT_ERROR(take(counted({3}), array({0.0f})), ErrorCode::InvalidArgument,
               "Indices are integers");
}

TEST(Index, GathersSlices) {
  const array a = counted({4, 5, 6});
  const array rows({0, 3}, {2, 1}), columns({1, 2, 0}, {1, 3});
  for (const array& x : layouts(a)) {
    const array y = gather(x, {rows, columns}, {0, 2}, {1, 5, 2});
    EXPECT_EQ(y.shape(), Shape({2, 3, 1, 5, 2}));
    std::vector<double> expected;
    each_index(y.shape(), [&](const Shape& i) {
      const int64_t row = std::vector<int64_t>{0, 3}[static_cast<size_t>(i[0])];
      const int64_t column = std::vector<int64_t>{1, 2, 0}[static_cast<size_t>(i[1])] + i[4];
      expected.push_back(static_cast<double>(row * 30 + i[3] * 6 + column));
    });
    expect_numbers(y, expected, 0, "gather");
  }
  EXPECT_ERROR(eval(gather(a, {array({5})}, {2}, {4, 5, 2})), ErrorCode::InvalidArgument,
               "[gather] A slice of 2 elements from 5 on does not fit");
}

TEST(Index, ScattersWithEveryMode) {
  const array updates({1, 2, 3}, {3, 1});
  const array places({1, 1, -1});
  const auto result = [&](UpdateMode mode) {
    return scatter(full({4}, 10), {places}, updates, {0}, mode).to_vector<int>();
  };
  EXPECT_EQ(result(UpdateMode::None), std::vector<int>({10, 2, 10, 3}));
  EXPECT_EQ(result(UpdateMode::Add), std::vector<int>({10, 13, 10, 13}));
  EXPECT_EQ(result(UpdateMode::Multiply), std::vector<int>({10, 20, 10, 30}));
  EXPECT_EQ(result(UpdateMode::Maximum), std::vector<int>({10, 10, 10, 10}));
  EXPECT_EQ(result(UpdateMode::Minimum), std::vector<int>({10, 1, 10, 3}));
  const array a = zeros({2, 3}, float16);
  const array rows = scatter(a, {array({1, 0})}, counted({2, 1, 3}), {0}, UpdateMode::Add);
  EXPECT_EQ(numbers(rows), std::vector<double>({3, 4, 5, 0, 1, 2}));
  EXPECT_ERROR(eval(scatter(a, {array({2})}, zeros({1, 1, 3}), {0})), ErrorCode::InvalidArgument,
               "[scatter] Index 2");
  EXPECT_EQ(scatter_add_axis(zeros({2, 2}), array({0, 0}, {2, 1}), ones({1}), 1).to_vector<float>(),
            std::vector<float>({1, 0, 1, 0}));
}

TEST(Index, UpdatesSlicesInPlaceWhereNobodyElseLooks) {
  array cache = zeros({2, 8, 3});
  eval(cache);
  const std::byte* memory = cache.bytes();
  cache = slice_update(cache, ones({2, 2, 3}), {0, 3, 0}, {2, 5, 3});
  eval(cache);
  EXPECT_EQ(cache.bytes(), memory);
  const array kept = cache;
  cache = slice_update(cache, full({3}, 2.0f), {0, 0, 0}, {1, 1, 3});
  eval(cache);
  EXPECT_NE(cache.bytes(), memory);
  EXPECT_EQ(sum(kept).item<float>(), 12);
  EXPECT_EQ(sum(cache).item<float>(), 18);
  const array backwards = slice_update(counted({5}), array({7, 8}), Shape{4}, Shape{0}, Shape{-2});
  EXPECT_EQ(backwards.to_vector<int>(), std::vector<int>({0, 1, 8, 3, 7}));
  EXPECT_EQ(slice_update(counted({4}), array({9, 9}), array({1}), {0}).to_vector<int>(),
            std::vector<int>({0, 9, 9, 3}));
  EXPECT_EQ(
      slice_update(broadcast_to(array(1), {3}), array({5}), Shape{1}, Shape{2}).to_vector<int>(),
      std::vector<int>({1, 5, 1}));
  EXPECT_ERROR(slice_update(cache, zeros({4}), {0, 0, 0}, {1, 1, 3}), ErrorCode::InvalidArgument,
               "[slice_update]");
}

TEST(Index, PutsAlongAxesAndByMasks) {
  const array a = counted({2, 3});
  for (const array& x : layouts(a)) {
    EXPECT_EQ(take_along_axis(x, array({2, 0, 1, 1}, {2, 2}), 1).to_vector<int>(),
              std::vector<int>({2, 0, 4, 4}));
    EXPECT_EQ(put_along_axis(x, array({2, -2}, {2, 1}), array(-1), 1).to_vector<int>(),
              std::vector<int>({0, 1, -1, 3, -1, 5}));
    EXPECT_EQ(masked_scatter(x, greater(x, array(3)), array({10, 20})).to_vector<int>(),
              std::vector<int>({0, 1, 2, 3, 10, 20}));
    EXPECT_EQ(masked_scatter(x, array({true, false}), array(7)).to_vector<int>(),
              std::vector<int>({7, 7, 7, 3, 4, 5}));
  }
  EXPECT_ERROR(eval(masked_scatter(a, ones({2, 3}, bool_), array({1}))), ErrorCode::InvalidArgument,
               "takes 6 elements, there are 1");
}

}  // namespace
}  // namespace pippin::mx
