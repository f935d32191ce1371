#include "pippin/engine/fusion/recurrence_match.h"

#include <cmath>
#include <utility>

#include "pippin/engine/fusion/match.h"
#include "pippin/engine/fusion/recurrence_parts.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

// The last position along an axis.
bool is_last(Builder& builder, const Var* part, const Var* whole, size_t axis) {
  if (!builder.is_lowered(part) || !builder.is_lowered(whole)) return false;
  View expected = builder.view(whole);
  expected.offset = expected.offset + (expected.shape[axis] - 1) * expected.strides[axis];
  expected.shape[axis] = 1;
  const View view = builder.view(part);
  if (view.shape != expected.shape) return false;
  expected.strides[axis] = view.strides[axis];  // of one place
  return same_elements(view, expected);
}

// Given a sum of logarithms over tokens, [..., tokens, 1]: the logarithms.
const Var* summed(Builder& builder, const Var* column) {
  const Operation* sum = producer(unreshaped(column), "cumsum");
  if (sum == nullptr || bool_param(builder, *sum, "exclusive") ||
      bool_param(builder, *sum, "reverse") ||
      normalize_axis(int_param(builder, *sum, "axis"), 3) != 2) {
    return nullptr;
  }
  const Var* logs = sum->input_var("x");
  if (logs == nullptr || builder.info(logs).shape.size() != 3) return nullptr;
  Shape shape = builder.info(logs).shape;
  shape.emplace_back(1);
  return builder.info(column).shape == shape ? logs : nullptr;
}

// The results of the pass's own tokens, from keys and queries.
bool is_own(Builder& builder, const Var* var, const Var* column, const DecayedMatch& match) {
  const Dim tokens = builder.info(match.x).shape[2];
  const auto product = matrices(builder, var, false, false);
  if (!product || !same_value(builder, product->y, match.x)) return false;
  return either_order(producer(product->x, "mul"), [&](const Var* left, const Var* scores) {
    if (!is_left(builder, left, column, tokens)) return false;
    const auto of = matrices(builder, scores, false, true);
    return of && same_value(builder, of->x, match.queries) &&
           same_value(builder, of->y, match.keys);
  });
}

// The sum of those and of the results of the state before the pass.
const Operation* find_results(Builder& builder, const Var* column, DecayedMatch& match) {
  for (const Operation* product : builder.users(match.state)) {
    const auto from = product->outputs().size() == 1
                          ? matrices(builder, product->output(), false, true)
                          : std::nullopt;
    if (!from || uncast(from->y) != uncast(match.state)) continue;
    match.queries = from->x;
    for (const Operation* scaled : builder.users(product->output())) {
      const bool fits =
          scaled->type() == "mul" && either_order(scaled, [&](const Var* a, const Var* b) {
            const Var* log = argument_of(b, "exp");
            return a == product->output() && log != nullptr && same_value(builder, log, column);
          });
      if (!fits) continue;
      for (const Operation* sum : builder.users(scaled->output())) {
        const bool complete =
            sum->type() == "add" && builder.is_lowered(sum->output()) &&
            either_order(sum, [&](const Var* own, const Var* before) {
              return before == scaled->output() && is_own(builder, own, column, match);
            });
        if (complete) return sum;
      }
    }
  }
  return nullptr;
}

bool shapes_fit(Builder& builder, const DecayedMatch& match) {
  const auto shape = [&](const Var* var) -> const Shape& { return builder.info(var).shape; };
  const Shape &state = shape(match.state), &x = shape(match.x), &keys = shape(match.keys);
  return state.size() == 4 && x.size() == 4 && keys.size() == 4 && keys == shape(match.queries) &&
         keys[0] == state[0] && keys[1] == Dim(1) && keys[2] == x[2] && keys[3] == state[3] &&
         x[0] == state[0] && x[1] == state[1] && x[3] == state[2] &&
         shape(match.log_decay) == Shape{x[0], x[1], x[2]};
}

}  // namespace

std::optional<DecayedMatch> match_decayed(Builder& builder, const Var* update) {
  std::optional<DecayedMatch> found;
  // The retained part of the state, and the terms that the tokens add to it.
  either_order(producer(update, "add"), [&](const Var* kept, const Var* added) {
    const auto product = matrices(builder, added, true, false);
    if (!product) return false;
    return either_order(producer(kept, "mul"), [&](const Var* state, const Var* whole) {
      const Var* end = argument_of(whole, "exp");
      if (end == nullptr) return false;
      return either_order(producer(product->x, "mul"), [&](const Var* x, const Var* until) {
        const Var* rest = argument_of(until, "exp");
        const auto difference = rest == nullptr ? std::nullopt : operands(rest, "sub");
        if (!difference || !same_value(builder, difference->x, end)) return false;
        const Var* column = difference->y;
        DecayedMatch match;
        match.state = state;
        match.x = x;
        match.keys = product->y;
        match.column = column;
        match.log_decay = summed(builder, column);
        if (match.log_decay == nullptr || !is_last(builder, end, column, 2)) return false;
        match.results = find_results(builder, column, match);
        if (match.results == nullptr || !shapes_fit(builder, match)) return false;
        found = match;
        return true;
      });
    });
  });
  return found;
}

namespace {

// x if `var` is x shifted by some tokens, with `first` in front: a padded value, cut to its length.
const Var* earlier(Builder& builder, const Var* var, int64_t distance, double first) {
  const Var* longer = argument_of(var, "slice_by_index");
  const Operation* padded = longer == nullptr ? nullptr : producer(longer, "pad");
  const Var* x = padded == nullptr ? nullptr : padded->input_var("x");
  if (x == nullptr || string_param(builder, *padded, "mode") != "constant" ||
      float_param(builder, *padded, "constant_val") != first) {
    return nullptr;
  }
  std::vector<int64_t> expected(2 * builder.info(x).shape.size(), 0);
  if (expected.size() < 4) return nullptr;
  expected[2] = distance;
  if (ints_param(builder, *padded, "pad") != expected) return nullptr;
  View part = builder.view(longer);
  part.shape = builder.info(x).shape;
  return builder.info(var).shape == part.shape && same_elements(builder.view(var), part) ? x
                                                                                         : nullptr;
}

// One distance of the scan: sum and factor are computed from those of the previous level.
struct Level {
  const Var *sum, *factor;
};
std::optional<Level> level_before(Builder& builder, const Level& level, int64_t distance) {
  std::optional<Level> result;
  either_order(producer(level.sum, "add"), [&](const Var* carried, const Var* sum) {
    return either_order(producer(carried, "mul"), [&](const Var* factor, const Var* moved) {
      const Var* moved_sum = earlier(builder, moved, distance, 0);
      if (moved_sum == nullptr || !same_value(builder, moved_sum, sum)) return false;
      return either_order(producer(level.factor, "mul"), [&](const Var* own, const Var* other) {
        const Var* moved_factor = earlier(builder, other, distance, 1);
        if (moved_factor == nullptr || !same_value(builder, own, factor) ||
            !same_value(builder, moved_factor, factor)) {
          return false;
        }
        result = Level{sum, factor};
        return true;
      });
    });
  });
  return result;
}

}  // namespace

std::optional<LinearMatch> match_linear(Builder& builder, const Var* update) {
  const Var* results = argument_of(update, "slice_by_index");
  if (results == nullptr || builder.info(results).shape.size() < 3 ||
      !(builder.info(results).shape[0] == Dim(1)) || !is_last(builder, update, results, 1)) {
    return std::nullopt;
  }
  const Shape& shape = builder.info(results).shape;
  std::optional<LinearMatch> found;
  either_order(producer(results, "add"), [&](const Var* kept, const Var* sum) {
    return either_order(producer(kept, "mul"), [&](const Var* factor, const Var* state) {
      if (builder.info(factor).shape != shape || builder.info(sum).shape != shape ||
          builder.info(state).shape != builder.info(update).shape) {
        return false;
      }
      Level level = {sum, factor};
      int64_t reach = 1;  // the sum includes all smaller distances
      // The largest distance so far.
      int64_t widest = 0;
      for (int64_t distance = 1; distance <= (int64_t{1} << 24); distance *= 2) {
        if (level_before(builder, level, distance)) widest = distance;
      }
      for (int64_t distance = widest; distance >= 1; distance /= 2) {
        const auto before = level_before(builder, level, distance);
        if (!before) return false;
        level = *before;
        reach = std::max(reach, 2 * distance);
      }
      if (shape[1].upper() > reach) return false;
      found = LinearMatch{state, level.factor, level.sum, producer(results)};
      return true;
    });
  });
  return found;
}

std::optional<SelectiveMatch> match_selective(Builder& builder, const LinearMatch& linear) {
  const Shape& shape = builder.info(linear.x).shape;
  if (shape.size() != 4) return std::nullopt;
  const Shape by_feature = {shape[0], shape[1], shape[2], 1};
  const Shape by_number = {shape[0], shape[1], 1, shape[3]};
  const auto has = [&](const Var* var, const Shape& wanted) {
    return builder.info(var).shape == wanted;
  };
  SelectiveMatch match;
  const Var* exponent = argument_of(linear.decay, "exp");
  const bool decays = exponent != nullptr &&
                      either_order(producer(exponent, "mul"), [&](const Var* a, const Var* b) {
                        match.steps = a;
                        match.rates = b;
                        return has(a, by_feature) && has(b, {shape[2], shape[3]});
                      });
  const bool adds = either_order(producer(linear.x, "mul"), [&](const Var* a, const Var* b) {
    match.inputs = a;
    match.keys = b;
    return has(a, by_feature) && has(b, by_number);
  });
  if (!decays || !adds) return std::nullopt;
  for (const Operation* product : builder.users(linear.results->output())) {
    const bool multiplies =
        product->type() == "mul" && either_order(product, [&](const Var* a, const Var* b) {
          match.queries = b;
          return a == linear.results->output() && has(b, by_number);
        });
    if (!multiplies) continue;
    for (const Operation* sum : builder.users(product->output())) {
      if (sum->type() != "reduce_sum" || !builder.is_lowered(sum->output())) continue;
      const auto axes = ints_param(builder, *sum, "axes");
      if (axes.size() == 1 && normalize_axis(axes[0], 4) == 3) {
        match.results = sum;
        return match;
      }
    }
  }
  return std::nullopt;
}

}  // namespace pippin::engine
