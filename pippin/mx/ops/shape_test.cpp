#include <numeric>

#include "pippin/base/testing.h"
#include "pippin/mx/mx_testing.h"

namespace pippin::mx {
namespace {

TEST(Shapes, ReshapesEveryLayout) {
  const array a = counted({2, 3, 4});
  const std::vector<int> expected = a.to_vector<int>();
  for (const array& x : layouts(a)) {
    for (const Shape& shape : {Shape{6, 4}, Shape{24}, Shape{2, 12}, Shape{4, 3, 2},
                               Shape{1, 2, 3, 1, 4}, Shape{2, -1}, Shape{3, 8, 1}}) {
      EXPECT_EQ(reshape(x, shape).to_vector<int>(), expected) << to_string(shape);
    }
  }
  EXPECT_EQ(reshape(a, {-1, 4}).shape(), Shape({6, 4}));
  EXPECT_EQ(flatten(a, 1).shape(), Shape({2, 12}));
  EXPECT_EQ(unflatten(a, -1, {2, -1}).shape(), Shape({2, 3, 2, 2}));
  EXPECT_EQ(squeeze(expand_dims(a, {0, 2})).shape(), a.shape());
  EXPECT_ERROR(reshape(a, {5, 5}), ErrorCode::InvalidArgument,
               "[reshape] An array of shape (2,3,4) does not become (5,5).");
  EXPECT_ERROR(squeeze(a, 0), ErrorCode::InvalidArgument, "[squeeze]");
  EXPECT_EQ(reshape(zeros({0, 3}), {3, 0}).size(), 0);
}

TEST(Shapes, ViewsShareMemory) {
  const array a = counted({4, 6});
  eval(a);
  const array t = transpose(a);
  const array s = slice(a, {1, 4}, {3, -7}, {1, -2});
  EXPECT_TRUE(t.is_available());
  EXPECT_EQ(t.bytes(), a.bytes());
  EXPECT_EQ(s.to_vector<int>(), std::vector<int>({10, 8, 6, 16, 14, 12}));
  EXPECT_EQ(diagonal(a, 1).to_vector<int>(), std::vector<int>({1, 8, 15, 22}));
  EXPECT_EQ(diagonal(a, -3).to_vector<int>(), std::vector<int>({18}));
  EXPECT_EQ(as_strided(a, {3, 2}, {1, 2}, 5).to_vector<int>(),
            std::vector<int>({5, 7, 6, 8, 7, 9}));
  EXPECT_ERROR(as_strided(a, {3}, {12}, 0), ErrorCode::InvalidArgument, "[as_strided]");
}

TEST(Shapes, SlicesAsPython) {
  const array a = counted({7});
  const auto part = [&](int64_t start, int64_t stop, int64_t step) {
    return slice(a, Shape{start}, Shape{stop}, Shape{step}).to_vector<int>();
  };
  EXPECT_EQ(part(1, 5, 2), std::vector<int>({1, 3}));
  EXPECT_EQ(part(-3, 99, 1), std::vector<int>({4, 5, 6}));
  EXPECT_EQ(part(5, 2, 1), std::vector<int>());
  EXPECT_EQ(part(99, -99, -3), std::vector<int>({6, 3, 0}));
  EXPECT_EQ(part(6, -8, -1), std::vector<int>({6, 5, 4, 3, 2, 1, 0}));
  EXPECT_ERROR(slice(a, Shape{0}, Shape{1}, Shape{0}), ErrorCode::InvalidArgument, "stride");
  EXPECT_EQ(slice(counted({3, 4}), array({1}), {1}, {3, 2}).to_vector<int>(),
            std::vector<int>({1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(slice(a, array({100}), {0}, {3}).to_vector<int>(), std::vector<int>({4, 5, 6}));
}

TEST(Shapes, Joins) {
  const array a = counted({2, 3}), b = add(counted({2, 1}), array(100));
  for (const array& x : layouts(a)) {
    EXPECT_EQ(concatenate({x, b}, 1).to_vector<int>(),
              std::vector<int>({0, 1, 2, 100, 3, 4, 5, 101}));
    EXPECT_EQ(stack({x, x}, -1).to_vector<int>(),
              std::vector<int>({0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
    EXPECT_EQ(repeat(x, 2, 0).to_vector<int>(),
              std::vector<int>({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
    EXPECT_EQ(tile(x, {2, 1}).shape(), Shape({4, 3}));
    EXPECT_EQ(roll(x, {1}, std::vector<int>{1}).to_vector<int>(),
              std::vector<int>({2, 0, 1, 5, 3, 4}));
    EXPECT_EQ(roll(x, {-1}).to_vector<int>(), std::vector<int>({1, 2, 3, 4, 5, 0}));
    EXPECT_EQ(pad(x, {{0, 1}, {1, 0}}, array(9)).to_vector<int>(),
              std::vector<int>({9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9}));
    const array row({1, 2, 3});
    EXPECT_EQ(pad(row, {{4, 3}}, array(0), "reflect").to_vector<int>(),
              (std::vector<int>{1, 2, 3, 2, 1, 2, 3, 2, 1, 2}));
    EXPECT_EQ(pad(row, {{2, 2}}, array(0), "symmetric").to_vector<int>(),
              (std::vector<int>{2, 1, 1, 2, 3, 3, 2}));
    EXPECT_EQ(pad(array({5}), {{1, 2}}, array(0), "reflect").to_vector<int>(),
              (std::vector<int>{5, 5, 5, 5}));
    EXPECT_EQ(
        pad(x, {{1, 1}, {2, 1}}, array(0), "edge").to_vector<int>(),
        std::vector<int>({0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 5, 5, 3, 3, 3, 4, 5, 5}));
  }
  EXPECT_EQ(concatenate({a, array({1.5f, 2.5f, 3.5f}, {1, 3})}, 0).dtype(), float32);
  EXPECT_EQ(split(counted({6}), 3)[1].to_vector<int>(), std::vector<int>({2, 3}));
  EXPECT_EQ(diag(array({1, 2}), 1).to_vector<int>(), std::vector<int>({0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(trace(counted({3, 3})).item<int>(), 12);
  EXPECT_ERROR(concatenate({a, b}, 0), ErrorCode::InvalidArgument, "[concatenate]");
  EXPECT_ERROR(stack({a, b}), ErrorCode::InvalidArgument, "[stack]");
}

TEST(Shapes, Creates) {
  EXPECT_EQ(arange(5).to_vector<int>(), std::vector<int>({0, 1, 2, 3, 4}));
  EXPECT_EQ(arange(1.0, 2.0, 0.25).to_vector<float>(), std::vector<float>({1, 1.25f, 1.5f, 1.75f}));
  EXPECT_EQ(arange(5, 0, -2).to_vector<int>(), std::vector<int>({5, 3, 1}));
  EXPECT_EQ(arange(3, 3).size(), 0);
  EXPECT_EQ(linspace(0, 1, 3).to_vector<float>(), std::vector<float>({0, 0.5f, 1}));
  EXPECT_EQ(eye(2, 3, 1).to_vector<float>(), std::vector<float>({0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(tril(ones({2, 2})).to_vector<float>(), std::vector<float>({1, 0, 1, 1}));
  EXPECT_EQ(triu(ones({2, 2}), 1).to_vector<float>(), std::vector<float>({0, 1, 0, 0}));
  EXPECT_EQ(full({2, 2}, array({1, 2})).to_vector<int>(), std::vector<int>({1, 2, 1, 2}));
  EXPECT_EQ(meshgrid({array({1, 2}), array({3, 4, 5})})[0].shape(), Shape({3, 2}));
  EXPECT_ERROR(arange(0.0, 1.0, 0.0), ErrorCode::InvalidArgument, "[arange] The step is 0.");
  EXPECT_ERROR(arange(0.0, 1e18, 1.0), ErrorCode::InvalidArgument, "[arange]");
  EXPECT_ERROR(zeros({1 << 30, 1 << 30, 1 << 30}), ErrorCode::LimitExceeded, "too many");
  EXPECT_ERROR(zeros({-1}), ErrorCode::InvalidArgument, "not a size");
}

// A growing cache, as in models.
TEST(Append, WritesOnlyWhatIsNew) {
  for (const Shape& shape : {Shape{1, 3, 1, 4}, Shape{1, 1, 1, 4}, Shape{2, 2, 1, 1}}) {
    array cache = zeros(shape, float16);
    std::vector<array> all = {cache}, kept;
    int moves = 0;
    const std::byte* before = nullptr;
    for (int step = 1; step < 300; ++step) {
      const array next = full(shape, step, float16);
      all.push_back(next);
      cache = concatenate({cache, next}, 2);
      moves += cache.bytes() != before ? 1 : 0;
      before = cache.bytes();
      if (step % 50 == 0) kept.push_back(cache);
    }
    EXPECT_LT(moves, 20);
    EXPECT_EQ(numbers(cache), numbers(concatenate(all, 2)));
    for (const array& old : kept) {  // earlier arrays stay unchanged
      const std::vector<array> part(all.begin(), all.begin() + old.shape(2));
      EXPECT_EQ(numbers(old), numbers(concatenate(part, 2)));
    }
  }
}

TEST(Append, GivesRoomToOneOnly) {
  array cache = zeros({2, 4});
  for (int i = 1; i < 5; ++i) cache = concatenate({cache, full({2, 1}, float(i))}, 1);
  eval(cache);
  const array one = concatenate({cache, full({2, 1}, 7.0f)}, 1);
  const array two = concatenate({cache, full({2, 1}, 8.0f)}, 1);
  const array part = concatenate({slice(cache, {0, 0}, {1, 8}), full({1, 1}, 9.0f)}, 1);
  eval({one, two, part});
  EXPECT_EQ(slice(one, {0, 8}, {2, 9}).to_vector<float>(), std::vector<float>({7, 7}));
  EXPECT_EQ(slice(two, {0, 8}, {2, 9}).to_vector<float>(), std::vector<float>({8, 8}));
  EXPECT_EQ(slice(part, {0, 8}, {1, 9}).to_vector<float>(), std::vector<float>({9}));
}

}  // namespace
}  // namespace pippin::mx
