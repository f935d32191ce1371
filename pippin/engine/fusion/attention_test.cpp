// Attention in plans: which forms become one step, which do not, and that values agree with the
// reference interpreter either way.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/engine/plan.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/engine/reference/reference.h"

namespace pippin::engine {
namespace {

using mil::Tensor;
using Shapes = std::vector<std::vector<int64_t>>;

constexpr float kInf = std::numeric_limits<float>::infinity();

// Lines of MIL text.
std::string ints(const std::string& name, const std::vector<int64_t>& values) {
  std::string list;
  for (const int64_t value : values) list += (list.empty() ? "" : ", ") + std::to_string(value);
  const std::string type = fmt::format("tensor<int32, [{}]>", values.size());
  return fmt::format("{} {} = const()[name = string(\"{}\"), val = {}([{}])];\n", type, name, name,
                     type, list);
}
std::string constant(const std::string& type, const std::string& name, const std::string& value) {
  return fmt::format("{} {} = const()[name = string(\"{}\"), val = {}({})];\n", type, name, name,
                     type, value);
}
std::string op(const std::string& shape, const std::string& name, const std::string& call) {
  return fmt::format("tensor<fp32, [{}]> {} = {}[name = string(\"{}\")];\n", shape, name, call,
                     name);
}
std::string common() {
  return constant("bool", "no", "false") + constant("bool", "yes", "true") +
         constant("int32", "last", "-1") + constant("int32", "one", "1") +
         constant("fp32", "scale", "0.375") + constant("fp32", "hidden", "-inf");
}
std::string function(const std::string& inputs, const std::string& body,
                     const std::string& outputs) {
  return "func main<ios18>(" + inputs + ") {\n" + common() + body + "} -> (" + outputs + ");";
}

// Random floats; for an input whose name starts with "mask", 0 for the keys up to the row's and
// -inf for others, along its last two axes, or the two before those for "mask_by_key".
std::vector<float> random_input(const std::string& name, const std::vector<int64_t>& shape,
                                std::mt19937& random) {
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  std::vector<float> values(count);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const bool by_key = name.starts_with("mask_by_key");
  const bool is_mask = name.starts_with("mask") || name.starts_with("allowed");
  for (size_t i = 0; i < count; ++i) {
    values[i] = uniform(random);
    if (!is_mask) continue;
    const int64_t inner = shape.back(), outer = shape[shape.size() - 2];
    const int64_t column = static_cast<int64_t>(i) % inner;
    const int64_t row = static_cast<int64_t>(i) / inner % outer;
    const int64_t key = by_key ? row : column, query = by_key ? column : row;
    const int64_t keys = by_key ? outer : inner, rows = by_key ? inner : outer;
    const bool seen = key <= keys - rows + query - keys / 4;
    values[i] = name.starts_with("allowed") ? (seen ? 1.0f : -1.0f) : seen ? 0.0f : -kInf;
    if (name == "mask_of_nothing" && query == 1) values[i] = -kInf;
  }
  return values;
}

// The plan of a program, after a comparison of its values with the reference's.
std::string checked_plan(const std::string& body, const Shapes& shapes) {
  const mil::Model model = make_model(body);
  const ReferenceInterpreter reference(model.program, "main");
  std::string steps;
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    PlanOptions options;
    options.compute.cpu = cpu;
    ThreadPool pool(2);
    const auto plan = Plan::make(model, "main", options);
    steps = plan->describe();
    SCOPED_TRACE(std::string(level) + "\n" + steps);
    Execution execution(plan, pool);
    State state(model.functions[0].states);
    ReferenceState reference_state;
    std::mt19937 random(3);
    std::map<std::string, Tensor> inputs;
    execution.bind(shapes, state);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Port& port = plan->inputs()[i];
      const std::vector<float> values = random_input(port.name, shapes[i], random);
      std::copy(values.begin(), values.end(), execution.float_input(i).begin());
      Tensor tensor(port.declared, shapes[i]);
      tensor.values.assign(values.begin(), values.end());
      inputs[port.name] = std::move(tensor);
    }
    execution.run();
    const auto expected = reference.run(inputs, reference_state);
    for (size_t i = 0; i < plan->outputs().size(); ++i) {
      const Tensor& want = expected.at(plan->outputs()[i].name);
      EXPECT_EQ(execution.output_shape(i), want.shape);
      const auto got = execution.float_output(i);
      EXPECT_EQ(got.size(), want.values.size());
      for (size_t k = 0; k < got.size() && k < want.values.size(); ++k) {
        if (std::isnan(want.values[k]) && std::isnan(got[k])) continue;
        if (static_cast<double>(got[k]) == want.values[k]) continue;
        if (std::abs(static_cast<double>(got[k]) - want.values[k]) < 1e-5) continue;
        ADD_FAILURE() << plan->outputs()[i].name << "[" << k << "] is " << got[k] << ", not "
                      << want.values[k];
        break;
      }
    }
  }
  return steps;
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

void expect_one_step(const std::string& body, const Shapes& shapes) {
  const std::string steps = checked_plan(body, shapes);
  EXPECT_EQ(count(steps, "attention ("), 1) << steps;
  // Operations that use the result may have to be copied into the order of the plan's output.
  const std::string until_used = steps.substr(0, steps.find("relu"));
  for (const char* other : {"matmul", "einsum", "softmax", "tile", "copy"}) {
    EXPECT_EQ(count(until_used, other), 0) << steps;
  }
}

void expect_no_attention(const std::string& body, const Shapes& shapes) {
  const std::string steps = checked_plan(body, shapes);
  EXPECT_EQ(count(steps, "attention ("), 0) << steps;
  EXPECT_GE(count(steps, "softmax"), 1) << steps;
}

constexpr const char* kInputs =
    "tensor<fp32, [1, 4, 3, 8]> q, tensor<fp32, [1, 2, 20, 8]> k, tensor<fp32, [1, 2, 20, 6]> v, "
    "tensor<fp32, [1, 1, 3, 20]> mask";
const Shapes kShapes = {{1, 4, 3, 8}, {1, 2, 20, 8}, {1, 2, 20, 6}, {1, 1, 3, 20}};

// k and v of two heads as keys and values of four.
std::string repeated() {
  return ints("axes", {2}) + ints("reps", {1, 1, 2, 1, 1}) + ints("k_shape", {1, 4, 20, 8}) +
         ints("v_shape", {1, 4, 20, 6}) +
         op("1, 2, 1, 20, 8", "k5", "expand_dims(axes = axes, x = k)") +
         op("1, 2, 2, 20, 8", "kt", "tile(reps = reps, x = k5)") +
         op("1, 4, 20, 8", "keys", "reshape(shape = k_shape, x = kt)") +
         op("1, 2, 1, 20, 6", "v5", "expand_dims(axes = axes, x = v)") +
         op("1, 2, 2, 20, 6", "vt", "tile(reps = reps, x = v5)") +
         op("1, 4, 20, 6", "values", "reshape(shape = v_shape, x = vt)");
}
const std::string kScores =
    op("1, 4, 3, 20", "products", "matmul(transpose_x = no, transpose_y = yes, x = q, y = keys)");
const std::string kSoftmax = op("1, 4, 3, 20", "weights", "softmax(axis = last, x = scores)");
// The next operation merges the heads of a row.
const std::string kOut = op("1, 4, 3, 6", "attended",
                            "matmul(transpose_x = no, transpose_y = no, x = weights, y = values)") +
                         ints("rows_first", {0, 2, 1, 3}) + ints("merged", {1, 3, 24}) +
                         op("1, 3, 4, 6", "by_row", "transpose(perm = rows_first, x = attended)") +
                         op("1, 3, 24", "out", "reshape(shape = merged, x = by_row)");

TEST(AttentionPlan, ProductsScaleMaskSoftmax) {
  expect_one_step(
      function(kInputs,
               repeated() + kScores + op("1, 4, 3, 20", "scaled", "mul(x = products, y = scale)") +
                   op("1, 4, 3, 20", "scores", "add(x = scaled, y = mask)") + kSoftmax + kOut,
               "out"),
      kShapes);
}

// NaN, like the softmax of -inf alone; other rows are unaffected.
TEST(AttentionPlan, RowsThatSeeNothing) {
  expect_one_step(
      function("tensor<fp32, [1, 4, 3, 8]> q, tensor<fp32, [1, 4, 20, 8]> keys, "
               "tensor<fp32, [1, 4, 20, 6]> values, tensor<fp32, [1, 1, 3, 20]> mask_of_nothing",
               kScores + op("1, 4, 3, 20", "scores", "add(x = products, y = mask_of_nothing)") +
                   kSoftmax + kOut,
               "out"),
      {{1, 4, 3, 8}, {1, 4, 20, 8}, {1, 4, 20, 6}, {1, 1, 3, 20}});
}

// One more score in each row, whose weight is cut off at the end, with one number for each head.
std::string with_sinks(const std::string& sinks, const std::string& begin, int cut) {
  return constant("tensor<fp32, [1, 4, 1, 1]>", "numbers", "[[[[0.5]], [[-1]], [[2]], [[0]]]]") +
         ints("each_row", {1, 1, 3, 1}) + ints("to", {1, 4, 3, cut}) + sinks + begin +
         op("1, 4, 3, 20", "scores", "add(x = products, y = mask)") +
         constant("bool", "unlike", "false") +
         op("1, 4, 3, 21", "longer",
            "concat(axis = last, interleave = unlike, values = (scores, sinks))") +
         op("1, 4, 3, 21", "all", "softmax(axis = last, x = longer)") +
         op("1, 4, 3, 20", "weights", "slice_by_index(begin = from, end = to, x = all)");
}

TEST(AttentionPlan, Sinks) {
  const std::string tiled = op("1, 4, 3, 1", "sinks", "tile(reps = each_row, x = numbers)");
  const std::string steps = checked_plan(
      function(kInputs,
               repeated() + kScores + with_sinks(tiled, ints("from", {0, 0, 0, 0}), 20) + kOut,
               "out"),
      kShapes);
  EXPECT_EQ(count(steps, "attention with sinks"), 1) << steps;
  EXPECT_EQ(count(steps, "softmax"), 0) << steps;
  // The cut removes something other than the sinks, or the sinks differ from row to row.
  const std::string moved = checked_plan(
      function(kInputs,
               repeated() + kScores + with_sinks(tiled, ints("from", {0, 0, 0, 1}), 21) + kOut,
               "out"),
      kShapes);
  EXPECT_EQ(count(moved, "attention with sinks"), 0) << moved;
  const std::string inputs = std::string(kInputs) + ", tensor<fp32, [1, 4, 3, 1]> sinks";
  Shapes shapes = kShapes;
  shapes.push_back({1, 4, 3, 1});
  const std::string rows = checked_plan(
      function(inputs, repeated() + kScores + with_sinks("", ints("from", {0, 0, 0, 0}), 20) + kOut,
               "out"),
      shapes);
  EXPECT_EQ(count(rows, "attention with sinks"), 0) << rows;
}

TEST(AttentionPlan, ScaledQueriesTransposedKeysDivision) {
  expect_one_step(
      function(kInputs,
               repeated() + ints("perm", {0, 1, 3, 2}) +
                   op("1, 4, 3, 8", "sq", "mul(x = scale, y = q)") +
                   op("1, 4, 8, 20", "kT", "transpose(perm = perm, x = keys)") +
                   op("1, 4, 3, 20", "products",
                      "matmul(transpose_x = no, transpose_y = no, x = sq, y = kT)") +
                   op("1, 4, 3, 20", "scaled", "real_div(x = products, y = scale)") +
                   op("1, 4, 3, 20", "scores", "add(x = mask, y = scaled)") + kSoftmax + kOut,
               "out"),
      kShapes);
}

TEST(AttentionPlan, SoftCap) {
  expect_one_step(
      function(kInputs,
               constant("fp32", "less", "0.25") + constant("fp32", "cap", "1.5") + repeated() +
                   kScores + op("1, 4, 3, 20", "scaled", "mul(x = products, y = less)") +
                   op("1, 4, 3, 20", "bent", "tanh(x = scaled)") +
                   op("1, 4, 3, 20", "capped", "mul(x = bent, y = cap)") +
                   op("1, 4, 3, 20", "scores", "add(x = capped, y = mask)") + kSoftmax + kOut,
               "out"),
      kShapes);
}

// Queries of a group as rows of one product.
TEST(AttentionPlan, GroupedRows) {
  const std::string steps = checked_plan(
      function(kInputs,
               ints("rows", {1, 2, 6, 8}) + ints("heads", {1, 4, 3, 20}) +
                   ints("back", {1, 2, 6, 20}) +
                   op("1, 2, 6, 8", "rq", "reshape(shape = rows, x = q)") +
                   op("1, 2, 6, 20", "products",
                      "matmul(transpose_x = no, transpose_y = yes, x = rq, y = k)") +
                   op("1, 2, 6, 20", "scaled", "mul(x = products, y = scale)") +
                   op("1, 4, 3, 20", "by_head", "reshape(shape = heads, x = scaled)") +
                   op("1, 4, 3, 20", "scores", "add(x = by_head, y = mask)") + kSoftmax +
                   op("1, 2, 6, 20", "grouped", "reshape(shape = back, x = weights)") +
                   op("1, 2, 6, 6", "out_rows",
                      "matmul(transpose_x = no, transpose_y = no, x = grouped, y = v)") +
                   ints("out_shape", {1, 4, 3, 6}) +
                   op("1, 4, 3, 6", "out_heads", "reshape(shape = out_shape, x = out_rows)") +
                   op("1, 4, 3, 6", "out", "relu(x = out_heads)"),
               "out"),
      kShapes);
  EXPECT_EQ(count(steps, "attention ("), 1) << steps;
  EXPECT_EQ(count(steps, "matmul") + count(steps, "softmax"), 0) << steps;
}

// Heads merged with the batch, as torch.bmm takes them.
TEST(AttentionPlan, BatchedProducts) {
  const std::string steps = checked_plan(
      function("tensor<fp32, [2, 4, 3, 8]> q, tensor<fp32, [2, 4, 20, 8]> k, "
               "tensor<fp32, [2, 4, 20, 6]> v, tensor<fp32, [2, 1, 3, 20]> mask",
               ints("q3", {8, 3, 8}) + ints("k3", {8, 20, 8}) + ints("v3", {8, 20, 6}) +
                   ints("s4", {2, 4, 3, 20}) + ints("s3", {8, 3, 20}) +
                   op("8, 3, 8", "bq", "reshape(shape = q3, x = q)") +
                   op("8, 20, 8", "bk", "reshape(shape = k3, x = k)") +
                   op("8, 20, 6", "bv", "reshape(shape = v3, x = v)") +
                   op("8, 3, 20", "products",
                      "matmul(transpose_x = no, transpose_y = yes, x = bq, y = bk)") +
                   op("2, 4, 3, 20", "four", "reshape(shape = s4, x = products)") +
                   op("2, 4, 3, 20", "masked", "add(x = four, y = mask)") +
                   op("8, 3, 20", "scores", "reshape(shape = s3, x = masked)") +
                   op("8, 3, 20", "weights", "softmax(axis = last, x = scores)") +
                   op("8, 3, 6", "out",
                      "matmul(transpose_x = no, transpose_y = no, x = weights, y = bv)"),
               "out"),
      {{2, 4, 3, 8}, {2, 4, 20, 8}, {2, 4, 20, 6}, {2, 1, 3, 20}});
  EXPECT_EQ(count(steps, "attention ("), 1) << steps;
  EXPECT_EQ(count(steps, "softmax"), 0) << steps;
}

TEST(AttentionPlan, Einsum) {
  expect_one_step(
      function("tensor<fp32, [2, 3, 4, 8]> q, tensor<fp32, [2, 20, 4, 8]> k, "
               "tensor<fp32, [2, 20, 4, 6]> v, tensor<fp32, [1, 1, 3, 20]> mask",
               constant("string", "qk", "\"bqhd,bkhd->bhqk\"") +
                   constant("string", "wv", "\"bhqk, bkhd -> bqhd\"") +
                   op("2, 4, 3, 20", "products", "einsum(equation = qk, values = (q, k))") +
                   op("2, 4, 3, 20", "scaled", "mul(x = products, y = scale)") +
                   op("2, 4, 3, 20", "scores", "add(x = scaled, y = mask)") +
                   op("2, 4, 3, 20", "weights", "softmax(axis = last, x = scores)") +
                   op("2, 3, 4, 6", "out", "einsum(equation = wv, values = (weights, v))"),
               "out"),
      {{2, 3, 4, 8}, {2, 20, 4, 8}, {2, 20, 4, 6}, {1, 1, 3, 20}});
}

// One head at a time, positions last, softmax along the second axis: the Neural Engine's form.
std::string heads_one_by_one(int heads, int group, bool own_masks) {
  std::string body = constant("string", "qk", "\"bkhc,bchq->bkhq\"") +
                     constant("string", "wv", "\"bchk,bkhq->bchq\"") + ints("axes", {2}) +
                     ints("turn", {0, 2, 1}) + ints("turn_mask", {0, 2, 1, 3}) +
                     constant("tensor<bool, [4]>", "one_head", "[false, true, false, false]") +
                     constant("tensor<bool, [4]>", "rest", "[true, false, true, true]");
  const auto head_of = [&](const std::string& x, int head, const std::string& shape) {
    const std::string name = x + std::to_string(head);
    body += ints(name + "_begin", {0, head, 0, 0}) + ints(name + "_end", {1, head + 1, 0, 0}) +
            op(shape, name,
               fmt::format("slice_by_index(begin = {0}_begin, end = {0}_end, end_mask = rest, "
                           "squeeze_mask = one_head, x = {1})",
                           name, x));
    return name;
  };
  std::string all;
  for (int head = 0; head < heads; ++head) {
    const std::string n = std::to_string(head), g = std::to_string(head / group);
    if (head % group == 0) {
      const std::string key = head_of("k", head / group, "1, 8, 20");
      const std::string value = head_of("v", head / group, "1, 8, 20");
      body += op("1, 20, 8", "turned" + g, "transpose(perm = turn, x = " + key + ")") +
              op("1, 20, 1, 8", "key" + g, "expand_dims(axes = axes, x = turned" + g + ")") +
              op("1, 8, 1, 20", "value" + g, "expand_dims(axes = axes, x = " + value + ")");
    }
    if (own_masks || head == 0) {
      const std::string mask = own_masks ? head_of("mask_by_key", head, "1, 20, 5") : "mask_by_key";
      if (own_masks) {
        body += op("1, 20, 1, 5", "added" + n, "expand_dims(axes = axes, x = " + mask + ")");
      } else {
        body += op("1, 20, 1, 5", "added0", "transpose(perm = turn_mask, x = mask_by_key)");
      }
    }
    const std::string query = head_of("q", head, "1, 8, 5");
    body += op("1, 8, 1, 5", "query" + n, "expand_dims(axes = axes, x = " + query + ")") +
            op("1, 20, 1, 5", "products" + n,
               fmt::format("einsum(equation = qk, values = (key{}, query{}))", g, n)) +
            op("1, 20, 1, 5", "scaled" + n, "mul(x = products" + n + ", y = scale)") +
            op("1, 20, 1, 5", "scores" + n,
               fmt::format("add(x = scaled{}, y = added{})", n, own_masks ? n : "0")) +
            op("1, 20, 1, 5", "weights" + n, "softmax(axis = one, x = scores" + n + ")") +
            op("1, 8, 1, 5", "head" + n,
               fmt::format("einsum(equation = wv, values = (value{}, weights{}))", g, n));
    all += (all.empty() ? "head" : ", head") + n;
  }
  body += op(fmt::format("1, {}, 1, 5", heads * 8), "attended",
             fmt::format("concat(axis = one, interleave = no, values = ({}))", all)) +
          op(fmt::format("1, {}, 1, 5", heads * 8), "out", "relu(x = attended)");
  return function(
      fmt::format("tensor<fp32, [1, {0}, 8, 5]> q, tensor<fp32, [1, {1}, 8, 20]> k, "
                  "tensor<fp32, [1, {1}, 8, 20]> v, tensor<fp32, [1, {2}, 20, 5]> mask_by_key",
                  heads, heads / group, own_masks ? heads : 1),
      body, "out");
}

TEST(AttentionPlan, HeadsOneByOne) {
  for (const int group : {1, 2, 4}) {
    expect_one_step(heads_one_by_one(4, group, false),
                    {{1, 4, 8, 5}, {1, 4 / group, 8, 20}, {1, 4 / group, 8, 20}, {1, 1, 20, 5}});
  }
  expect_one_step(heads_one_by_one(4, 2, true),
                  {{1, 4, 8, 5}, {1, 2, 8, 20}, {1, 2, 8, 20}, {1, 4, 20, 5}});
}

TEST(AttentionPlan, KeysRepeatedByConcat) {
  expect_one_step(
      function(
          kInputs,
          constant("int32", "two", "2") + ints("axes", {2}) + ints("k_shape", {1, 4, 20, 8}) +
              ints("v_shape", {1, 4, 20, 6}) +
              op("1, 2, 1, 20, 8", "k5", "expand_dims(axes = axes, x = k)") +
              op("1, 2, 2, 20, 8", "kt", "concat(axis = two, interleave = no, values = (k5, k5))") +
              op("1, 4, 20, 8", "keys", "reshape(shape = k_shape, x = kt)") +
              op("1, 2, 1, 20, 6", "v5", "expand_dims(axes = axes, x = v)") +
              op("1, 2, 2, 20, 6", "vt", "concat(axis = two, interleave = no, values = (v5, v5))") +
              op("1, 4, 20, 6", "values", "reshape(shape = v_shape, x = vt)") + kScores +
              op("1, 4, 3, 20", "scores", "add(x = products, y = mask)") + kSoftmax + kOut,
          "out"),
      kShapes);
}

TEST(AttentionPlan, SelectedScores) {
  const std::string inputs =
      "tensor<fp32, [1, 4, 3, 8]> q, tensor<fp32, [1, 2, 20, 8]> k, tensor<fp32, [1, 2, 20, 6]> v, "
      "tensor<fp32, [1, 1, 3, 20]> allowed";
  expect_one_step(
      function(inputs,
               constant("fp32", "nothing", "0") + repeated() + kScores +
                   "tensor<bool, [1, 1, 3, 20]> seen = greater(x = allowed, y = nothing)[name = "
                   "string(\"seen\")];\n" +
                   op("1, 4, 3, 20", "scores", "select(a = products, b = hidden, cond = seen)") +
                   kSoftmax + kOut,
               "out"),
      kShapes);
}

// Sizes that are known only at run time, no mask, one KV head for all.
TEST(AttentionPlan, FlexibleSizes) {
  const std::string body = function(
      "tensor<fp32, [1, 4, ?, 8]> q, tensor<fp32, [1, 1, ?, 8]> k, tensor<fp32, [1, 1, ?, 8]> v",
      op("1, 4, ?, ?", "products", "matmul(transpose_x = no, transpose_y = yes, x = q, y = k)") +
          op("1, 4, ?, ?", "weights", "softmax(axis = last, x = products)") +
          op("1, 4, ?, 8", "out", "matmul(transpose_x = no, transpose_y = no, x = weights, y = v)"),
      "out");
  const std::string steps = checked_plan(body, {{1, 4, 7, 8}, {1, 1, 33, 8}, {1, 1, 33, 8}});
  EXPECT_EQ(count(steps, "attention ("), 1) << steps;
}

// Layers share the summary of a mask.
TEST(AttentionPlan, OneSummaryOfAMask) {
  const std::string steps = checked_plan(
      function("tensor<fp32, [1, 4, 3, 8]> q, tensor<fp32, [1, 4, 20, 8]> k, "
               "tensor<fp32, [1, 1, 3, 20]> mask",
               op("1, 4, 3, 8", "once",
                  "scaled_dot_product_attention(query = q, key = k, value = k, attn_mask = mask)") +
                   op("1, 4, 3, 8", "out",
                      "scaled_dot_product_attention(query = once, key = k, value = k, attn_mask = "
                      "mask)"),
               "out"),
      {{1, 4, 3, 8}, {1, 4, 20, 8}, {1, 1, 3, 20}});
  EXPECT_EQ(count(steps, "attention ("), 2) << steps;
  EXPECT_EQ(count(steps, "mask summary"), 1) << steps;
}

TEST(AttentionPlan, ScoresThatOthersReadStay) {
  const std::string body = repeated() + kScores +
                           op("1, 4, 3, 20", "scores", "add(x = products, y = mask)") + kSoftmax +
                           kOut;
  for (const char* other : {"products", "scores", "weights"}) {
    const std::string steps =
        checked_plan(function(kInputs, body, std::string("out, ") + other), kShapes);
    EXPECT_EQ(count(steps, "attention ("), 0) << steps;
    EXPECT_EQ(count(steps, "softmax"), 1) << steps;
  }
  // Read by an operation.
  expect_no_attention(
      function(kInputs, body + op("1, 4, 3, 20", "more", "relu(x = weights)"), "out, more"),
      kShapes);
}

TEST(AttentionPlan, OtherThingsStay) {
  // Softmax along the rows.
  expect_no_attention(
      function(kInputs,
               constant("int32", "rows", "2") + repeated() + kScores +
                   op("1, 4, 3, 20", "scores", "mul(x = products, y = scale)") +
                   op("1, 4, 3, 20", "weights", "softmax(axis = rows, x = scores)") + kOut,
               "out"),
      {kShapes[0], kShapes[1], kShapes[2], kShapes[3]});
  // Not only the softmax.
  expect_no_attention(
      function(kInputs,
               repeated() + kScores + op("1, 4, 3, 20", "scores", "add(x = products, y = mask)") +
                   op("1, 4, 3, 20", "soft", "softmax(axis = last, x = scores)") +
                   op("1, 4, 3, 20", "weights", "relu(x = soft)") + kOut,
               "out"),
      kShapes);
}

TEST(AttentionPlan, AMaskThatMultipliesStays) {
  const std::string inputs =
      "tensor<fp32, [1, 4, 3, 8]> q, tensor<fp32, [1, 2, 20, 8]> k, tensor<fp32, [1, 2, 20, 6]> v, "
      "tensor<fp32, [1, 1, 3, 20]> factors";
  expect_no_attention(
      function(inputs,
               repeated() + kScores +
                   op("1, 4, 3, 20", "scores", "mul(x = products, y = factors)") + kSoftmax + kOut,
               "out"),
      kShapes);
}

// Weights from the wrong operand: the keys of the last product are not those of the softmax.
TEST(AttentionPlan, OtherAxesStay) {
  expect_no_attention(
      function("tensor<fp32, [1, 4, 6, 8]> q, tensor<fp32, [1, 4, 6, 8]> k, "
               "tensor<fp32, [1, 4, 6, 5]> v",
               op("1, 4, 6, 6", "products",
                  "matmul(transpose_x = no, transpose_y = yes, x = q, y = k)") +
                   op("1, 4, 6, 6", "weights", "softmax(axis = last, x = products)") +
                   op("1, 4, 6, 5", "out",
                      "matmul(transpose_x = yes, transpose_y = no, x = weights, y = v)"),
               "out"),
      {{1, 4, 6, 8}, {1, 4, 6, 8}, {1, 4, 6, 5}});
}

}  // namespace
}  // namespace pippin::engine
