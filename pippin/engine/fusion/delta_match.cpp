// The delta rule among products that decay: the term that a token adds depends on the state and on
// the terms of earlier tokens in the same pass. Those terms form a triangular matrix, whose inverse
// the program computes from the inverses of its blocks.
#include "pippin/engine/fusion/match.h"
#include "pippin/engine/fusion/recurrence_match.h"
#include "pippin/engine/fusion/recurrence_parts.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

// Indices of the blocks of that many tokens, along an axis of [rows, columns].
bool are_blocks(Builder& builder, const Var* var, size_t axis, const Dim& tokens, int64_t size) {
  const Operation* division = var == nullptr ? nullptr : producer(unreshaped(var), "floor_div");
  if (division == nullptr || !is_integer(*division, "y", size) ||
      !are_places(division->input_var("x"))) {
    return false;
  }
  Shape shape = {1, 1};
  shape[axis] = tokens;
  return builder.info(var).shape == shape;
}

// Bools [tokens, tokens]: true if the row is in the block of `half` tokens after the column's,
// which has an even index.
bool are_halves(Builder& builder, const Var* var, const Dim& tokens, int64_t half) {
  return either_order(producer(var, "logical_and"), [&](const Var* next, const Var* even) {
    const Operation* zero = producer(even, "equal");
    if (zero == nullptr || !is_integer(*zero, "y", 0)) return false;
    const Operation* rest = producer(zero->input_var("x"), "mod");
    if (rest == nullptr || !is_integer(*rest, "y", 2) ||
        !are_blocks(builder, rest->input_var("x"), 1, tokens, half)) {
      return false;
    }
    return either_order(producer(next, "equal"), [&](const Var* row, const Var* after) {
      const Operation* sum = producer(after, "add");
      return sum != nullptr && is_integer(*sum, "y", 1) &&
             are_blocks(builder, sum->input_var("x"), 1, tokens, half) &&
             are_blocks(builder, row, 0, tokens, half);
    });
  });
}

// Ones where the column's token equals the row's. Does not compare views: for a plan of one token,
// these bools are known numbers, which have no memory in common.
bool is_identity(Builder& builder, const Var* var, const Dim& tokens) {
  return either_order(producer(var, "logical_and"), [&](const Var* lower, const Var* upper) {
    const Operation* turn = producer(upper, "transpose");
    if (turn == nullptr || !is_no_later(builder, lower, tokens) ||
        !is_no_later(builder, turn->input_var("x"), tokens)) {
      return false;
    }
    const auto order = ints_param(builder, *turn, "perm");
    return order.size() == 2 && normalize_axis(order[0], 2) == 1;
  });
}

// The value rule's bools as numbers: a cast that producer() does not skip.
const Var* from_bools(const Var* var) {
  const Operation* cast = var == nullptr ? nullptr : var->producer;
  return cast != nullptr && cast->type() == "cast" ? cast->input_var("x") : nullptr;
}

class DeltaWalk {
 public:
  DeltaWalk(Builder& builder, const DecayedMatch& decayed)
      : builder_(builder), decayed_(decayed), tokens_(builder.info(decayed.x).shape[2]) {}

  std::optional<DeltaMatch> match() {
    const Var* x = uncast(decayed_.x);
    if (const auto product = matrices(builder_, x, false, false)) {
      if (!match_lacking(product->y) || !is_inverse(product->x)) return std::nullopt;
    } else if (!match_lacking(x) || tokens_.upper() > 1) {
      return std::nullopt;
    }
    return found_;
  }

 private:
  bool has_shape(const Var* var, const Shape& shape) const {
    return builder_.info(var).shape == shape;
  }

  // (values - known * since) * rates.
  bool match_lacking(const Var* var) {
    return either_order(producer(var, "mul"), [&](const Var* lacking, const Var* rates) {
      const auto parts = operands(lacking, "sub");
      if (!parts || !has_shape(rates, builder_.info(decayed_.column).shape) ||
          !has_shape(parts->x, builder_.info(decayed_.x).shape)) {
        return false;
      }
      found_ = {parts->x, rates};
      return either_order(producer(parts->y, "mul"), [&](const Var* known, const Var* since) {
        const Var* column = argument_of(since, "exp");
        const auto product = matrices(builder_, known, false, true);
        return column != nullptr && same_value(builder_, column, decayed_.column) && product &&
               same_value(builder_, product->x, decayed_.keys) &&
               uncast(product->y) == uncast(decayed_.state);
      });
    });
  }

  // The part of a token's input that earlier tokens determine: products of keys, decayed, times the
  // token's rate.
  bool is_taken(const Var* var) {
    return either_order(producer(var, "mul"), [&](const Var* both, const Var* rates) {
      if (!same_value(builder_, rates, found_.rates)) return false;
      return either_order(producer(both, "mul"), [&](const Var* left, const Var* alike) {
        const auto product = matrices(builder_, alike, false, true);
        return product && same_value(builder_, product->x, decayed_.keys) &&
               same_value(builder_, product->y, decayed_.keys) &&
               is_left(builder_, left, decayed_.column, tokens_);
      });
    });
  }

  // The part below a block of `half` tokens, 0 elsewhere.
  bool is_below(const Var* var, int64_t half) {
    const Operation* chosen = producer(var, "select");
    return chosen != nullptr && builder_.number(*chosen, "b") == 0 &&
           is_taken(chosen->input_var("a")) &&
           are_halves(builder_, chosen->input_var("cond"), tokens_, half);
  }

  // The inverse of blocks of 2 * half tokens, from those of half.
  bool is_level(const Var* var, int64_t half) {
    const auto parts = operands(var, "sub");
    if (!parts) return false;
    if (half == 1) {
      const Var* same = from_bools(parts->x);
      return same != nullptr && is_identity(builder_, same, tokens_) && is_below(parts->y, 1);
    }
    const auto outer = matrices(builder_, parts->y, false, false);
    const auto inner = outer ? matrices(builder_, outer->x, false, false) : std::nullopt;
    return inner && same_value(builder_, outer->y, parts->x) &&
           same_value(builder_, inner->x, parts->x) && is_below(inner->y, half) &&
           is_level(parts->x, half / 2);
  }

  // Programs may be made for more tokens than the plan.
  bool is_inverse(const Var* var) {
    int64_t half = 1;
    while (2 * half < tokens_.upper()) half *= 2;
    for (; half <= (int64_t{1} << 24); half *= 2) {
      if (is_level(var, half)) return true;
    }
    return false;
  }

  Builder& builder_;
  const DecayedMatch& decayed_;
  const Dim tokens_;
  DeltaMatch found_;
};

}  // namespace

std::optional<DeltaMatch> match_delta(Builder& builder, const DecayedMatch& decayed) {
  return DeltaWalk(builder, decayed).match();
}

}  // namespace pippin::engine
