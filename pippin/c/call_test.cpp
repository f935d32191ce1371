// Models, functions, states and calls.
#include <atomic>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "pippin/base/allocations_testing.h"
#include "pippin/base/files/output.h"
#include "pippin/c/c_testing.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/text/text.h"

namespace pippin::c {
namespace {

// main: a running sum of x; loop: n iterations.
constexpr std::string_view kProgram = R"(program(1.3)
{
  func main<ios18>(tensor<fp32, [2, 3]> x, state<tensor<fp16, [2, 3]>> total) {
    tensor<fp16, [2, 3]> before = read_state(input = total)[name = string("before")];
    tensor<fp16, [2, 3]> half = cast(dtype = string("fp16"), x = x)[name = string("half")];
    tensor<fp16, [2, 3]> more = add(x = before, y = half)[name = string("more")];
    write_state(data = more, input = total)[name = string("write")];
    tensor<fp32, [2, 3]> y = cast(dtype = string("fp32"), x = more)[name = string("y")];
    tensor<fp32, [2, 3]> z = mul(x = y, y = x)[name = string("z")];
  } -> (y, z);
  func loop<ios18>(tensor<fp32, [2]> x, int32 n) {
    int32 zero = const()[name = string("zero"), val = int32(0)];
    int32 one = const()[name = string("one"), val = int32(1)];
    int32 i, tensor<fp32, [2]> y = while_loop(loop_vars = (zero, x))[name = string("loop")]
    (int32 j, tensor<fp32, [2]> a) { bool c = less(x = j, y = n)[name = string("c")]; } -> (c)
    (int32 k, tensor<fp32, [2]> b) { int32 m = add(x = k, y = one)[name = string("m")]; tensor<fp32, [2]> d = add(x = b, y = x)[name = string("d")]; } -> (m, d);
  } -> (y);
}
)";

using Floats = std::vector<float>;

class CCalls : public testing::Test {
 protected:
  CCalls() {
    mil::Model described = mil::describe_program(mil::parse_text(kProgram, "test"));
    described.default_function = "main";
    described.metadata.author = "somebody";
    described.metadata.user_defined["key"] = "value";
    mil::write_package(described, path_);
  }
  ~CCalls() override {
    for (pippin_tensor* tensor : tensors_) pippin_tensor_free(tensor);
    pippin_call_free(call_);
    pippin_state_free(state_);
    pippin_function_free(function_);
    pippin_model_free(model_);
  }

  void open(const char* function, const pippin_options* options = nullptr) {
    ASSERT_WORKS(pippin_model_load(path_.c_str(), options, &model_, &error));
    ASSERT_WORKS(pippin_function_open(model_, function, &function_, &error));
    ASSERT_WORKS(pippin_state_new(function_, &state_, &error));
    ASSERT_WORKS(pippin_call_new(function_, &call_, &error));
  }

  pippin_tensor* floats(Floats& memory, std::vector<int64_t> shape) {
    pippin_tensor* tensor = nullptr;
    EXPECT_EQ(pippin_tensor_wrap(PIPPIN_FLOAT32, static_cast<int32_t>(shape.size()), shape.data(),
                                 nullptr, memory.data(), nullptr, nullptr, &tensor, nullptr),
              PIPPIN_OK);
    tensors_.push_back(tensor);
    return tensor;
  }

  Floats output(const char* name) {
    pippin_tensor* tensor = nullptr;
    pippin_error* error = nullptr;
    if (pippin_call_output(call_, name, &tensor, &error) != PIPPIN_OK) {
      ADD_FAILURE() << taken(error);
      return {};
    }
    tensors_.push_back(tensor);
    const auto* const data = static_cast<const float*>(pippin_tensor_const_data(tensor));
    return {data, data + pippin_tensor_size(tensor)};
  }

  TempDir folder_;
  std::filesystem::path path_ = folder_ / "x.mlpackage";
  pippin_model* model_ = nullptr;
  pippin_function* function_ = nullptr;
  pippin_state* state_ = nullptr;
  pippin_call* call_ = nullptr;
  std::vector<pippin_tensor*> tensors_;
};

TEST_F(CCalls, ModelsSayWhatTheyDeclare) {
  open(nullptr);
  EXPECT_EQ(pippin_model_function_count(model_), 2);
  EXPECT_STREQ(pippin_model_function_name(model_, 0), "loop");
  EXPECT_EQ(pippin_model_function_name(model_, 2), nullptr);
  EXPECT_EQ(pippin_model_function_name(model_, -1), nullptr);
  EXPECT_STREQ(pippin_model_default_function(model_), "main");
  EXPECT_STREQ(pippin_model_metadata(model_, "author"), "somebody");
  EXPECT_STREQ(pippin_model_metadata(model_, "key"), "value");
  EXPECT_EQ(pippin_model_metadata(model_, "none"), nullptr);
  EXPECT_EQ(pippin_model_metadata(model_, nullptr), nullptr);
  EXPECT_EQ(pippin_model_metadata_count(model_), 2);
  EXPECT_STREQ(pippin_model_metadata_key(model_, 1), "key");
  EXPECT_EQ(pippin_model_metadata_key(model_, 2), nullptr);

  EXPECT_STREQ(pippin_function_name(function_), "main");
  EXPECT_EQ(pippin_function_feature_count(function_, PIPPIN_INPUT), 1);
  EXPECT_EQ(pippin_function_feature_count(function_, PIPPIN_OUTPUT), 2);
  EXPECT_EQ(pippin_function_feature_count(function_, 3), 0);
  EXPECT_EQ(pippin_function_feature(function_, PIPPIN_INPUT, 1), nullptr);
  const pippin_feature* x = pippin_function_feature(function_, PIPPIN_INPUT, 0);
  EXPECT_STREQ(pippin_feature_name(x), "x");
  EXPECT_STREQ(pippin_feature_text(x), "float32 [2, 3]");
  EXPECT_STREQ(pippin_feature_description(x), "");
  EXPECT_EQ(pippin_feature_kind(x), PIPPIN_KIND_MULTI_ARRAY);
  EXPECT_EQ(pippin_feature_type(x), PIPPIN_FLOAT32);
  EXPECT_EQ(pippin_feature_rank(x), 2);
  EXPECT_EQ(pippin_feature_shape(x)[1], 3);
  EXPECT_EQ(pippin_feature_range(x, 0, nullptr, nullptr), 0);
  EXPECT_EQ(pippin_feature_shape_count(x), 0);
  EXPECT_EQ(pippin_feature_is_optional(x), 0);
  EXPECT_STREQ(pippin_function_label_name(function_), "");
  EXPECT_STREQ(pippin_function_probabilities_name(function_), "");
}

TEST_F(CCalls, RunOverAndOver) {
  open("main");
  Floats x = {1, 2, 3, 4, 5, 6}, y(6);
  ASSERT_WORKS(pippin_call_set_input(call_, "x", floats(x, {2, 3}), &error));
  ASSERT_WORKS(pippin_call_set_state(call_, state_, &error));
  ASSERT_WORKS(pippin_call_run(call_, nullptr, &error));
  EXPECT_EQ(output("y"), x);
  EXPECT_EQ(output("z"), (Floats{1, 4, 9, 16, 25, 36}));
  // From here on into the caller's memory.
  ASSERT_WORKS(pippin_call_set_output(call_, "y", floats(y, {2, 3}), &error));
  ASSERT_WORKS(pippin_call_run(call_, nullptr, &error));
  EXPECT_EQ(y, (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(output("y"), y);
  pippin_tensor* dropped = nullptr;
  EXPECT_FAILS(pippin_call_output(call_, "z", &dropped, &error), PIPPIN_ERROR_NOT_FOUND,
               "the call has no output 'z'");
  EXPECT_FAILS(pippin_call_output_keys(call_, "y", &dropped, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "'y' is not a dictionary");

  ASSERT_WORKS(pippin_call_run(call_, nullptr, &error));
  pippin_cancel* cancel = nullptr;
  ASSERT_WORKS(pippin_cancel_new(&cancel, &error));
  const int64_t before = allocations();
  for (int i = 0; i < 3; ++i) {
    x.assign(6, static_cast<float>(i));
    ASSERT_EQ(pippin_call_run(call_, cancel, nullptr), PIPPIN_OK);
  }
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(y, (Floats{6, 9, 12, 15, 18, 21}));
  pippin_cancel_free(cancel);
  // Without a state, each run starts with zeros; an input may be another tensor.
  Floats other = {7, 7, 7, 7, 7, 7};
  ASSERT_WORKS(pippin_call_set_input(call_, "x", floats(other, {2, 3}), &error));
  ASSERT_WORKS(pippin_call_set_state(call_, nullptr, &error));
  for (int i = 0; i < 2; ++i) {
    ASSERT_WORKS(pippin_call_run(call_, nullptr, &error));
    EXPECT_EQ(y, other);
  }
  ASSERT_WORKS(pippin_call_clear(call_, &error));
  EXPECT_FAILS(pippin_call_run(call_, nullptr, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "x");
}

TEST_F(CCalls, OutlivesWhatItCameFrom) {
  open("main");
  const int64_t shape[] = {2, 3};
  pippin_tensor* x = nullptr;
  ASSERT_WORKS(pippin_tensor_new(PIPPIN_FLOAT32, 2, shape, &x, &error));
  static_cast<float*>(pippin_tensor_data(x))[5] = 3;
  ASSERT_WORKS(pippin_call_set_input(call_, "x", x, &error));
  ASSERT_WORKS(pippin_call_set_state(call_, state_, &error));
  pippin_tensor_free(x);
  pippin_state_free(state_);
  pippin_function_free(function_);
  pippin_model_free(model_);
  state_ = nullptr;
  function_ = nullptr;
  model_ = nullptr;
  for (int i = 1; i < 3; ++i) {
    ASSERT_WORKS(pippin_call_run(call_, nullptr, &error));
    EXPECT_EQ(output("y").back(), 3 * i);
  }
  const Floats kept = output("y");
  pippin_call_free(call_);
  call_ = nullptr;
  EXPECT_EQ(static_cast<const float*>(pippin_tensor_const_data(tensors_.back()))[5], kept[5]);
}

TEST_F(CCalls, StatesAreSavedAndLoaded) {
  open("main");
  const std::string file = (path_.parent_path() / "state.npz").string();
  const std::vector<uint16_t> ones(6, 0x3C00);
  ASSERT_WORKS(pippin_state_write(state_, "total", ones.data(), 12, &error));
  ASSERT_WORKS(pippin_state_save(state_, file.c_str(), &error));
  ASSERT_WORKS(pippin_state_reset(state_, &error));
  ASSERT_WORKS(pippin_state_load(state_, file.c_str(), &error));
  std::vector<uint16_t> found(6);
  ASSERT_WORKS(pippin_state_read(state_, "total", found.data(), 12, &error));
  EXPECT_EQ(found, ones);

  EXPECT_FAILS(pippin_state_save(nullptr, file.c_str(), &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "state is NULL");
  EXPECT_FAILS(pippin_state_load(state_, nullptr, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "path is NULL");
  EXPECT_FAILS(pippin_state_load(state_, "/none.npz", &error), PIPPIN_ERROR_NOT_FOUND, "/none.npz");
  write_file(file, "no archive");
  EXPECT_FAILS(pippin_state_load(state_, file.c_str(), &error), PIPPIN_ERROR_INVALID_FILE,
               "state.npz");
  ASSERT_WORKS(pippin_state_read(state_, "total", found.data(), 12, &error));
  EXPECT_EQ(found, ones);
}

TEST_F(CCalls, StatesAreReadAndWritten) {
  open("main");
  EXPECT_EQ(pippin_state_feature_count(state_), 1);
  EXPECT_STREQ(pippin_feature_name(pippin_state_feature(state_, 0)), "total");
  EXPECT_EQ(pippin_state_feature(state_, 1), nullptr);
  const std::vector<uint16_t> ones(6, 0x3C00);
  ASSERT_WORKS(pippin_state_write(state_, "total", ones.data(), 12, &error));
  pippin_state* clone = nullptr;
  ASSERT_WORKS(pippin_state_clone(state_, &clone, &error));
  ASSERT_WORKS(pippin_state_reset(state_, &error));
  std::vector<uint16_t> found(6, 1);
  ASSERT_WORKS(pippin_state_read(state_, "total", found.data(), 12, &error));
  EXPECT_EQ(found, std::vector<uint16_t>(6));
  ASSERT_WORKS(pippin_state_read(clone, "total", found.data(), 12, &error));
  EXPECT_EQ(found, ones);
  pippin_state_free(clone);
  pippin_state* whole = nullptr;
  ASSERT_WORKS(pippin_state_new_for_model(model_, &whole, &error));
  EXPECT_EQ(pippin_state_feature_count(whole), 1);
  pippin_state_free(whole);

  EXPECT_FAILS(pippin_state_read(state_, "total", found.data(), 11, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "state 'total' has 12 bytes; 11 were given");
  EXPECT_FAILS(pippin_state_write(state_, "total", ones.data(), 24, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "24 were given");
  EXPECT_FAILS(pippin_state_read(state_, "total", nullptr, 12, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "data is NULL");
  EXPECT_FAILS(pippin_state_write(state_, "none", ones.data(), 12, &error), PIPPIN_ERROR_NOT_FOUND,
               "no state 'none'");
  EXPECT_FAILS(pippin_state_read(state_, "none", found.data(), 12, &error), PIPPIN_ERROR_NOT_FOUND,
               "no state 'none'");
}

TEST_F(CCalls, RefuseWhatDoesNotFit) {
  open("main");
  Floats x(6), y(4);
  constexpr pippin_code kWrong = PIPPIN_ERROR_INVALID_ARGUMENT;
  pippin_function* none = function_;
  EXPECT_FAILS(pippin_function_open(model_, "none", &none, &error), PIPPIN_ERROR_NOT_FOUND,
               "no function 'none'; the model's functions: loop, main");
  EXPECT_EQ(none, nullptr);
  EXPECT_FAILS(pippin_call_run(call_, nullptr, &error), kWrong, "x");
  EXPECT_FAILS(pippin_call_set_input(call_, nullptr, floats(x, {2, 3}), &error), kWrong,
               "name is NULL");
  EXPECT_FAILS(pippin_call_set_input(call_, "x", nullptr, &error), kWrong, "tensor is NULL");
  ASSERT_WORKS(pippin_call_set_input(call_, "x", floats(x, {3, 2}), &error));
  EXPECT_FAILS(pippin_call_run(call_, nullptr, &error), kWrong, "expected float32 [2, 3]");
  ASSERT_WORKS(pippin_call_set_input(call_, "x", floats(x, {2, 3}), &error));
  ASSERT_WORKS(pippin_call_set_output(call_, "y", floats(y, {2, 2}), &error));
  EXPECT_FAILS(pippin_call_run(call_, nullptr, &error), kWrong, "y");
  pippin_model* absent = nullptr;
  EXPECT_FAILS(pippin_model_load("/none.mlpackage", nullptr, &absent, &error),
               PIPPIN_ERROR_NOT_FOUND, "no such package");
}

// A run that would not terminate.
class CLoop : public CCalls {
 protected:
  CLoop() {
    pippin_options* options = nullptr;
    EXPECT_EQ(pippin_options_new(&options, nullptr), PIPPIN_OK);
    EXPECT_EQ(pippin_options_set(options, "max_iterations", "1000000000000", nullptr), PIPPIN_OK);
    open("loop", options);
    pippin_options_free(options);
    EXPECT_EQ(pippin_call_set_input(call_, "x", floats(x_, {2}), nullptr), PIPPIN_OK);
    pippin_tensor* n = nullptr;
    const int64_t shape[] = {1};
    EXPECT_EQ(
        pippin_tensor_wrap(PIPPIN_INT32, 1, shape, nullptr, &turns_, nullptr, nullptr, &n, nullptr),
        PIPPIN_OK);
    tensors_.push_back(n);
    EXPECT_EQ(pippin_call_set_input(call_, "n", n, nullptr), PIPPIN_OK);
    EXPECT_EQ(pippin_cancel_new(&cancel_, nullptr), PIPPIN_OK);
  }
  ~CLoop() override { pippin_cancel_free(cancel_); }

  Floats x_ = {1, 2};
  int32_t turns_ = INT32_MAX;
  pippin_cancel* cancel_ = nullptr;
};

TEST_F(CLoop, IsCancelledFromAnotherThread) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    // The call is in use until then.
    EXPECT_FAILS(pippin_call_run(call_, nullptr, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
                 "one thread at a time");
    EXPECT_FAILS(pippin_call_clear(call_, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "in use");
    pippin_cancel_trigger(cancel_);
  });
  EXPECT_FAILS(pippin_call_run(call_, cancel_, &error), PIPPIN_ERROR_CANCELLED, "cancelled");
  other.join();
  pippin_cancel_reset(cancel_);
  turns_ = 3;
  ASSERT_WORKS(pippin_call_run(call_, cancel_, &error));
  EXPECT_EQ(output("y"), (Floats{4, 8}));
}

pippin_cancel* of_signal = nullptr;

TEST_F(CLoop, IsCancelledFromASignalHandler) {
  of_signal = cancel_;
  const auto before = std::signal(SIGUSR1, [](int) { pippin_cancel_trigger(of_signal); });
  std::thread other([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::raise(SIGUSR1);
  });
  EXPECT_FAILS(pippin_call_run(call_, cancel_, &error), PIPPIN_ERROR_CANCELLED, "cancelled");
  other.join();
  std::signal(SIGUSR1, before);
}

TEST_F(CCalls, LogsWhereTheCallerSays) {
  std::vector<std::string> lines;
  ASSERT_WORKS(pippin_set_log(
      [](void* user, int32_t level, const char* line) {
        static_cast<std::vector<std::string>*>(user)->push_back(std::to_string(level) + line);
      },
      &lines, PIPPIN_LOG_DEBUG, &error));
  testing::internal::CaptureStderr();
  open("main");
  Floats x(6);
  ASSERT_WORKS(pippin_call_set_input(call_, "x", floats(x, {2, 3}), &error));
  ASSERT_WORKS(pippin_call_run(call_, nullptr, &error));
  EXPECT_FALSE(lines.empty());
  ASSERT_WORKS(pippin_set_log(nullptr, nullptr, PIPPIN_LOG_WARN, &error));
  const size_t count = lines.size();
  pippin_model* second = nullptr;
  ASSERT_WORKS(pippin_model_load(path_.c_str(), nullptr, &second, &error));
  pippin_model_free(second);
  EXPECT_EQ(lines.size(), count);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FAILS(pippin_set_log(nullptr, nullptr, 5, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "level is 5");
}

TEST_F(CCalls, SayHowTheyWereComputed) {
  pippin_options* options = nullptr;
  ASSERT_WORKS(pippin_options_new(&options, &error));
  ASSERT_WORKS(pippin_options_set(options, "trace", "true", &error));
  open("main", options);
  pippin_options_free(options);
  Floats x(6);
  ASSERT_WORKS(pippin_call_set_input(call_, "x", floats(x, {2, 3}), &error));
  ASSERT_WORKS(pippin_call_run(call_, nullptr, &error));
  char* text = nullptr;
  ASSERT_WORKS(pippin_function_describe(function_, &text, &error));
  EXPECT_NE(std::string(text).find("add"), std::string::npos) << text;
  pippin_free(text);
}

}  // namespace
}  // namespace pippin::c
