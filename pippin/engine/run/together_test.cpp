// Sequences that run together against the same ones alone, and the profile of a run.
#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/engine/run/cpu_plan.h"
#include "pippin/engine/run/profile.h"
#include "pippin/io/json.h"

namespace pippin::engine {
namespace {

constexpr int64_t kWidth = 64;

std::string numbers(int64_t count, int low, int high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> values(static_cast<size_t>(count));
  for (int& value : values) {
    value = low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string halves(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> values;
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(64 + random() % 64) / 4096;
    values.push_back(fmt::format("{:a}", random() % 2 == 0 ? -value : value));
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

// A weight [64, 64] of some form.
std::string weight(const std::string& form, const std::string& name, uint32_t seed) {
  if (form == "int4") {
    return fmt::format(
        "tensor<fp16, [64, 64]> {} = constexpr_blockwise_shift_scale(data = tensor<int4, [64, "
        "64]>([{}]), scale = tensor<fp16, [64, 2]>([{}]))[name = string(\"{}\")];\n",
        name, numbers(kWidth * kWidth, -8, 7, seed), halves(128, seed), name);
  }
  if (form == "palette") {
    return fmt::format(
        "tensor<fp16, [64, 64]> {} = constexpr_lut_to_dense(indices = tensor<uint4, [64, "
        "64]>([{}]), lut = tensor<fp16, [1, 1, 16, 1]>([{}]))[name = string(\"{}\")];\n",
        name, numbers(kWidth * kWidth, 0, 15, seed), halves(16, seed), name);
  }
  return fmt::format(
      "tensor<fp16, [64, 64]> {} = const()[name = string(\"{}\"), val = tensor<fp16, [64, "
      "64]>([{}])];\n",
      name, name, halves(kWidth * kWidth, seed));
}

// A layer of a language model: a product with weights, rows [past, end) of a cache, attention to
// rows [0, end), a residual, another product.
std::string layer(const std::string& form) {
  return "func main<ios18>(tensor<fp16, [1, ?, 64]> x, tensor<fp16, [?, ?]> mask, "
         "state<tensor<fp16, [1, 64, 64]>> cache) {\n" +
         weight(form, "w1", 1) + weight(form, "w2", 2) +
         R"(
    tensor<int32, [2]> mask_shape = shape(x = mask)[name = string("mask_shape")];
    int32 zero = const()[name = string("zero"), val = int32(0)];
    int32 one = const()[name = string("one"), val = int32(1)];
    int32 q = gather(x = mask_shape, indices = zero, axis = zero)[name = string("q")];
    int32 end = gather(x = mask_shape, indices = one, axis = zero)[name = string("end")];
    int32 past = sub(x = end, y = q)[name = string("past")];
    int32 width = const()[name = string("width"), val = int32(64)];
    bool no = const()[name = string("no"), val = bool(false)];
    tensor<fp16, [1, ?, 64]> h = linear(x = x, weight = w1)[name = string("h")];
    tensor<int32, [3]> begin = concat(values = (zero, past, zero), axis = zero, interleave = no)[name = string("begin")];
    tensor<int32, [3]> stop = concat(values = (one, end, width), axis = zero, interleave = no)[name = string("stop")];
    tensor<fp16, [1, 64, 64]> before = read_state(input = cache)[name = string("before")];
    tensor<fp16, [1, 64, 64]> after = slice_update(x = before, update = h, begin = begin, end = stop)[name = string("after")];
    write_state(input = cache, data = after)[name = string("write")];
    tensor<fp16, [1, 64, 64]> now = read_state(input = cache)[name = string("now")];
    tensor<int32, [3]> first = concat(values = (zero, zero, zero), axis = zero, interleave = no)[name = string("first")];
    tensor<fp16, [1, ?, 64]> keys = slice_by_index(x = now, begin = first, end = stop)[name = string("keys")];
    tensor<fp16, [1, ?, 64]> a = scaled_dot_product_attention(query = h, key = keys, value = keys, attn_mask = mask)[name = string("a")];
    tensor<fp16, [1, ?, 64]> r = add(x = a, y = x)[name = string("r")];
    tensor<fp16, [1, ?, 64]> y = linear(x = r, weight = w2)[name = string("y")];
  } -> (y);)";
}

PlanOptions rows_options(int64_t rows) {
  PlanOptions options;
  options.compute.batch_invariant = true;
  options.input_ranges["x"] = {{1, 1}, {rows, rows}, {kWidth, kWidth}};
  options.input_ranges["mask"] = {{rows, rows}, {rows, 64}};
  return options;
}

// One sequence: its state and its position.
struct Sequence {
  explicit Sequence(const mil::Model& model, uint32_t seed)
      : state(model.functions[0].states), random(seed) {}

  // Binds, writes the inputs, and advances.
  void prepare(Execution& execution, size_t lane, int64_t rows) {
    end += rows;
    execution.bind({{1, rows, kWidth}, {rows, end}}, state, lane);
    std::normal_distribution<float> normal;
    for (float& value : execution.float_input(0, lane)) value = normal(random);
    const auto mask = execution.float_input(1, lane);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < end; ++k) {
        mask[static_cast<size_t>(i * end + k)] = k <= end - rows + i ? 0.0F : -INFINITY;
      }
    }
  }
  State state;
  std::mt19937 random;
  int64_t end = 0;
};

// Sequences of different lengths, some steps together, against the same alone.
void compare(const mil::Model& model, const PlanOptions& options, int threads, int64_t rows,
             const std::vector<size_t>& lanes) {
  ThreadPool pool(threads);
  const auto plan = Plan::make(model, "main", options);
  Execution together(plan, pool), alone(plan, pool);
  together.reserve_lanes(*std::max_element(lanes.begin(), lanes.end()) + 1);
  std::vector<Sequence> own, same;
  for (uint32_t i = 0; i < lanes.size(); ++i) {
    own.emplace_back(model, i);
    same.emplace_back(model, i);
  }
  const auto run_alone = [&](size_t i) {
    same[i].prepare(alone, 0, rows);
    alone.run();
    return alone.float_output(0);
  };
  for (size_t i = 0; i < lanes.size(); ++i) {
    for (size_t before = 0; before < i % 3; ++before) {
      own[i].prepare(together, lanes[i], rows);
      together.run(lanes[i]);
      run_alone(i);
    }
  }
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < lanes.size(); ++i) own[i].prepare(together, lanes[i], rows);
    together.run_together(lanes);
    for (size_t i = 0; i < lanes.size(); ++i) {
      const auto want = run_alone(i);
      const auto have = together.float_output(0, lanes[i]);
      ASSERT_EQ(have.size(), want.size());
      for (size_t k = 0; k < want.size(); ++k) {
        ASSERT_EQ(have[k], want[k]) << "sequence " << i << ", step " << step;
      }
    }
  }
}

std::vector<size_t> first_lanes(size_t count) {
  std::vector<size_t> lanes(count);
  for (size_t i = 0; i < count; ++i) lanes[i] = i;
  return lanes;
}

TEST(Together, GivesWhatEachGivesAlone) {
  for (const std::string form : {"int4", "palette", "fp16"}) {
    const mil::Model model = make_model(layer(form));
    for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
      PlanOptions options = rows_options(1);
      options.compute.cpu = cpu;
      for (const Precision precision : {Precision::Fast, Precision::Exact}) {
        options.compute.precision = precision;
        for (const size_t count : {2, 3, 5, 16, 17}) {
          SCOPED_TRACE(fmt::format("{}, {}, {}, {} sequences", form, level,
                                   precision == Precision::Fast ? "fast" : "exact", count));
          compare(model, options, count % 2 == 0 ? 1 : 3, 1, first_lanes(count));
        }
      }
    }
  }
}

TEST(Together, SeatsMayLieAnywhere) {
  const mil::Model model = make_model(layer("int4"));
  for (const std::vector<size_t>& lanes :
       std::vector<std::vector<size_t>>{{0, 2, 3}, {3, 1}, {4, 2, 0}, {5, 0, 1, 7}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(lanes, " ")));
    compare(model, rows_options(1), 2, 1, lanes);
  }
}

TEST(Together, SequencesMayHaveSeveralRows) {
  for (const std::string form : {"int4", "fp16"}) {
    const mil::Model model = make_model(layer(form));
    // 16 rows are computed with others, 17 sequences of them in two parts.
    for (const auto& [rows, count] : {std::pair(2, 2), {4, 3}, {6, 9}}) {
      SCOPED_TRACE(fmt::format("{}: {} rows of {} sequences", form, rows, count));
      compare(model, rows_options(rows), 2, rows, first_lanes(static_cast<size_t>(count)));
    }
    compare(model, rows_options(12), 3, 12, first_lanes(23));
  }
}

TEST(Together, SequencesJoinAndLeave) {
  const mil::Model model = make_model(layer("int4"));
  ThreadPool pool(2);
  const auto plan = Plan::make(model, "main", rows_options(1));
  Execution together(plan, pool), alone(plan, pool);
  std::vector<Sequence> own, same;
  for (uint32_t i = 0; i < 6; ++i) {
    own.emplace_back(model, i);
    same.emplace_back(model, i);
  }
  // The sequences of each step; lanes are assigned anew every time.
  for (const std::vector<size_t>& step : std::vector<std::vector<size_t>>{
           {0}, {0, 1}, {1, 2, 0}, {2, 3, 4, 5}, {5, 2}, {0, 1, 2, 3, 4, 5}, {3}}) {
    together.reserve_lanes(step.size());
    for (size_t i = 0; i < step.size(); ++i) own[step[i]].prepare(together, i, 1);
    together.run_together(first_lanes(step.size()));
    for (size_t i = 0; i < step.size(); ++i) {
      same[step[i]].prepare(alone, 0, 1);
      alone.run();
      const auto want = alone.float_output(0), have = together.float_output(0, i);
      ASSERT_TRUE(std::equal(want.begin(), want.end(), have.begin(), have.end()));
    }
  }
}

// A new state may have the address of a former one that a lane knew.
TEST(Together, ANewStateIsNotTakenForAnOldOne) {
  const mil::Model model = make_model(layer("fp16"));
  ThreadPool pool(1);
  Execution execution(Plan::make(model, "main", rows_options(1)), pool);
  std::vector<float> first;
  for (int i = 0; i < 3; ++i) {
    auto sequence = std::make_unique<Sequence>(model, 1);
    sequence->prepare(execution, 0, 1);
    execution.run();
    const auto have = execution.float_output(0);
    if (i == 0) first.assign(have.begin(), have.end());
    ASSERT_TRUE(std::equal(first.begin(), first.end(), have.begin(), have.end()));
    if (i == 1) sequence->prepare(execution, 0, 1);
  }
}

TEST(Together, InputsStayWhereSeatsAreAdded) {
  const mil::Model model = make_model(layer("fp16"));
  ThreadPool pool(1);
  Execution execution(Plan::make(model, "main", rows_options(1)), pool);
  EXPECT_EQ(execution.lanes(), 1U);
  Sequence sequence(model, 1), same(model, 1);
  sequence.prepare(execution, 0, 1);
  execution.reserve_lanes(3);
  EXPECT_GE(execution.lanes(), 3U);
  same.prepare(execution, 2, 1);
  const auto a = execution.float_input(0, 0), b = execution.float_input(0, 2);
  ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  execution.run();
  execution.run(2);
  const auto y = execution.float_output(0, 0), z = execution.float_output(0, 2);
  EXPECT_TRUE(std::equal(y.begin(), y.end(), z.begin(), z.end()));
}

TEST(Together, RefusesOneSequenceTwice) {
  const mil::Model model = make_model(layer("fp16"));
  ThreadPool pool(1);
  Execution execution(Plan::make(model, "main", rows_options(1)), pool);
  execution.reserve_lanes(2);
  Sequence one(model, 1), two(model, 2);
  one.prepare(execution, 0, 1);
  two.prepare(execution, 1, 1);
  EXPECT_ERROR(execution.run_together(std::vector<size_t>{0, 0}), ErrorCode::InvalidArgument,
               "lane 0 or its state is there twice");
  one.prepare(execution, 1, 1);
  EXPECT_ERROR(execution.run_together(std::vector<size_t>{0, 1}), ErrorCode::InvalidArgument,
               "lane 1 or its state is there twice");
  execution.run_together({});
}

// A step that takes several sequences at once and fails.
class FaultyStep : public Step {
 public:
  explicit FaultyStep(const Step& like) : axis_(like.row_axis()) {
    views = like.views;
    num_written = like.num_written;
  }
  void run(const StepContext& context) const noexcept override {
    leave_errors(context, [] { fail(ErrorCode::InvalidFile, "index 9 is out of range"); });
  }
  int row_axis() const override { return axis_; }

 private:
  int axis_;
};

TEST(Together, AJointStepMayFail) {
  const mil::Model model = make_model(layer("fp16"));
  ThreadPool pool(2);
  // One row of each sequence, which are evenly spaced, and three, which are copied together.
  for (const int64_t rows : {1, 3}) {
    const auto plan = Plan::make(model, "main", rows_options(rows));
    auto& steps = const_cast<CpuPlan&>(dynamic_cast<const CpuPlan&>(*plan)).steps;
    const auto product = std::find_if(steps.begin(), steps.end(),
                                      [](const auto& step) { return step->row_axis() >= 0; });
    ASSERT_NE(product, steps.end());
    *product = std::make_unique<FaultyStep>(**product);
    Execution execution(plan, pool);
    execution.reserve_lanes(3);
    std::vector<Sequence> sequences;
    for (uint32_t i = 0; i < 3; ++i) sequences.emplace_back(model, i);
    for (int times = 0; times < 2; ++times) {
      for (size_t i = 0; i < 3; ++i) sequences[i].prepare(execution, i, rows);
      EXPECT_ERROR(execution.run_together(first_lanes(3)), ErrorCode::InvalidFile,
                   "index 9 is out of range");
    }
  }
}

TEST(Profile, TellsEveryStepOfARun) {
  const mil::Model model = make_model(layer("int4"));
  ThreadPool pool(2);
  const auto plan = Plan::make(model, "main", rows_options(1));
  Execution execution(plan, pool);
  execution.reserve_lanes(4);
  std::vector<Sequence> sequences;
  for (uint32_t i = 0; i < 4; ++i) sequences.emplace_back(model, i);
  const auto run = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) sequences[i].prepare(execution, i, 1);
    execution.run_together(first_lanes(count));
  };
  run(4);
  const auto recorded = std::make_shared<Profile>();
  const Profile& profile = *recorded;
  EXPECT_EQ(active_profile(), nullptr);
  {
    const ProfileScope scope(recorded);
    run(1);
    run(4);
  }
  EXPECT_EQ(active_profile(), nullptr);
  run(1);  // not recorded
  const auto events = profile.events();
  int64_t linear = 0, attention = 0, runs = 0;
  for (const Profile::Event& event : events) {
    EXPECT_GE(event.duration, 0);
    if (!event.is_step) {
      ++runs;
      EXPECT_EQ(event.name, "main");
      // The steps of the caller lie inside a run, and their times do not exceed it.
      double inside = 0;
      for (const Profile::Event& step : events) {
        const bool within = step.is_step && step.thread == 0 && step.start >= event.start &&
                            step.start + step.duration <= event.start + event.duration + 0.01;
        if (within) inside += step.duration;
      }
      EXPECT_GT(inside, 0);
      EXPECT_LE(inside, event.duration + 0.01);
      continue;
    }
    if (event.name.starts_with("linear int4")) {
      ++linear;
      EXPECT_EQ(event.weight_bytes, 64 * 64 / 2 + 128 * 2);
      EXPECT_EQ(event.sequences, linear <= 2 ? 1 : 4);
    }
    if (event.name.starts_with("attention")) ++attention;
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(linear, 4);     // two per run, whatever the number of sequences
  EXPECT_EQ(attention, 5);  // one for each sequence

  const Json trace = Json::parse(profile.chrome_trace(), "trace");
  ASSERT_EQ(trace.at("traceEvents").size(), events.size());
  for (const Json& event : trace.at("traceEvents").elements()) {
    EXPECT_EQ(event.get_string("ph"), "X");
    EXPECT_EQ(event.get_int("pid"), 1);
    EXPECT_GE(event.get_int("tid"), 0);
    EXPECT_GE(event.get_float("ts"), 0);
    EXPECT_GE(event.get_float("dur"), 0);
    if (event.get_string("name").starts_with("linear int4")) {
      EXPECT_GT(event.at("args").get_float("GB/s"), 0);
      EXPECT_NE(event.at("args").get_string("shapes").find(" <- f32 [1, 64]"), std::string::npos)
          << event.at("args").get_string("shapes");
    }
  }
  double seconds = 0, steps = 0;
  for (const Profile::Kind& kind : profile.kinds()) {
    seconds += kind.seconds;
    steps += static_cast<double>(kind.count);
  }
  EXPECT_EQ(steps, static_cast<double>(events.size()) - 2);
  EXPECT_GT(seconds, 0);
  EXPECT_NE(profile.table().find("linear int4"), std::string::npos) << profile.table();
}

}  // namespace
}  // namespace pippin::engine
