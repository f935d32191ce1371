// Errors, cancelling, options and tensors.
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "pippin/c/c_testing.h"

namespace pippin::c {
namespace {

TEST(CErrors, AreObjectsThatTheCallerMayIgnore) {
  pippin_options* options = nullptr;
  ASSERT_EQ(pippin_options_new(&options, nullptr), PIPPIN_OK);
  EXPECT_EQ(pippin_options_set(options, "none", "1", nullptr), PIPPIN_ERROR_NOT_FOUND);
  // The result does not depend on the previous value.
  auto* error = reinterpret_cast<pippin_error*>(options);
  EXPECT_EQ(pippin_options_set(options, "threads", "1", &error), PIPPIN_OK);
  EXPECT_EQ(error, nullptr);
  EXPECT_EQ(pippin_options_set(options, "none", "1", &error), PIPPIN_ERROR_NOT_FOUND);
  EXPECT_EQ(pippin_error_code(error), PIPPIN_ERROR_NOT_FOUND);
  EXPECT_STREQ(pippin_error_message(error), "unknown option 'none'");
  pippin_error_free(error);
  pippin_options_free(options);
}

TEST(CErrors, NothingIsFreedAndSaidOfNull) {
  pippin_error_free(nullptr);
  pippin_free(nullptr);
  pippin_cancel_free(nullptr);
  pippin_options_free(nullptr);
  pippin_tensor_free(nullptr);
  pippin_model_free(nullptr);
  pippin_function_free(nullptr);
  pippin_state_free(nullptr);
  pippin_call_free(nullptr);
  EXPECT_EQ(pippin_error_code(nullptr), PIPPIN_OK);
  EXPECT_STREQ(pippin_error_message(nullptr), "");
  EXPECT_EQ(pippin_tensor_type(nullptr), -1);
  EXPECT_EQ(pippin_tensor_rank(nullptr), 0);
  EXPECT_EQ(pippin_tensor_shape(nullptr), nullptr);
  EXPECT_EQ(pippin_tensor_strides(nullptr), nullptr);
  EXPECT_EQ(pippin_tensor_size(nullptr), 0);
  EXPECT_EQ(pippin_tensor_data(nullptr), nullptr);
  EXPECT_EQ(pippin_tensor_const_data(nullptr), nullptr);
  EXPECT_EQ(pippin_tensor_string(nullptr, 0), nullptr);
  EXPECT_EQ(pippin_feature_name(nullptr), nullptr);
  EXPECT_EQ(pippin_feature_description(nullptr), nullptr);
  EXPECT_EQ(pippin_feature_text(nullptr), nullptr);
  EXPECT_EQ(pippin_feature_kind(nullptr), -1);
  EXPECT_EQ(pippin_feature_type(nullptr), -1);
  EXPECT_EQ(pippin_feature_rank(nullptr), 0);
  EXPECT_EQ(pippin_feature_shape(nullptr), nullptr);
  EXPECT_EQ(pippin_feature_range(nullptr, 0, nullptr, nullptr), 0);
  EXPECT_EQ(pippin_feature_shape_count(nullptr), 0);
  EXPECT_EQ(pippin_feature_enumerated_shape(nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(pippin_feature_is_optional(nullptr), 0);
  EXPECT_EQ(pippin_feature_default_value(nullptr), 0);
  EXPECT_EQ(pippin_model_function_count(nullptr), 0);
  EXPECT_EQ(pippin_model_function_name(nullptr, 0), nullptr);
  EXPECT_EQ(pippin_model_default_function(nullptr), nullptr);
  EXPECT_EQ(pippin_model_metadata(nullptr, "author"), nullptr);
  EXPECT_EQ(pippin_model_metadata_count(nullptr), 0);
  EXPECT_EQ(pippin_model_metadata_key(nullptr, 0), nullptr);
  EXPECT_EQ(pippin_function_name(nullptr), nullptr);
  EXPECT_EQ(pippin_function_feature_count(nullptr, PIPPIN_INPUT), 0);
  EXPECT_EQ(pippin_function_feature(nullptr, PIPPIN_INPUT, 0), nullptr);
  EXPECT_EQ(pippin_function_label_name(nullptr), nullptr);
  EXPECT_EQ(pippin_function_probabilities_name(nullptr), nullptr);
  EXPECT_EQ(pippin_state_feature_count(nullptr), 0);
  EXPECT_EQ(pippin_state_feature(nullptr, 0), nullptr);
  EXPECT_EQ(pippin_language_model_context(nullptr), 0);
  EXPECT_EQ(pippin_language_model_vocab_size(nullptr), 0);
  EXPECT_EQ(pippin_language_model_has_chat_template(nullptr), 0);
  EXPECT_EQ(pippin_language_model_is_end(nullptr, 0), 0);
  EXPECT_EQ(pippin_session_position(nullptr), 0);
  EXPECT_EQ(pippin_session_logits(nullptr, nullptr), nullptr);
  EXPECT_EQ(pippin_completion_text(nullptr, nullptr), nullptr);
  EXPECT_EQ(pippin_completion_ids(nullptr, nullptr), nullptr);
  EXPECT_EQ(pippin_completion_reason(nullptr), -1);
  EXPECT_EQ(pippin_completion_number(nullptr, "prompt_tokens", nullptr), 0);
  pippin_language_model_free(nullptr);
  pippin_session_free(nullptr);
  pippin_sampler_free(nullptr);
  pippin_completion_free(nullptr);
  pippin_cancel_trigger(nullptr);
  pippin_cancel_reset(nullptr);
  EXPECT_EQ(pippin_cancel_is_triggered(nullptr), 0);
}

TEST(CErrors, NullIsNamed) {
  constexpr pippin_code kWrong = PIPPIN_ERROR_INVALID_ARGUMENT;
  EXPECT_FAILS(pippin_cancel_new(nullptr, &error), kWrong, "cancel is NULL");
  EXPECT_FAILS(pippin_options_new(nullptr, &error), kWrong, "options is NULL");
  EXPECT_FAILS(pippin_options_set(nullptr, "threads", "1", &error), kWrong, "options is NULL");
  pippin_options* options = nullptr;
  ASSERT_WORKS(pippin_options_new(&options, &error));
  EXPECT_FAILS(pippin_options_set(options, nullptr, "1", &error), kWrong, "name is NULL");
  EXPECT_FAILS(pippin_options_set(options, "threads", nullptr, &error), kWrong, "value is NULL");
  pippin_options_free(options);

  int64_t shape[] = {1};
  pippin_tensor* tensor = nullptr;
  EXPECT_FAILS(pippin_tensor_new(PIPPIN_INT8, 1, shape, nullptr, &error), kWrong, "tensor is NULL");
  EXPECT_FAILS(pippin_tensor_new(PIPPIN_INT8, 1, nullptr, &tensor, &error), kWrong,
               "shape is NULL");
  EXPECT_FAILS(pippin_tensor_new_strings(1, shape, nullptr, &tensor, &error), kWrong,
               "strings is NULL");
  const char* strings[] = {nullptr};
  EXPECT_FAILS(pippin_tensor_new_strings(1, shape, strings, &tensor, &error), kWrong,
               "an element of strings is NULL");
  EXPECT_FAILS(pippin_tensor_wrap(PIPPIN_INT8, 1, shape, nullptr, nullptr, nullptr, nullptr,
                                  &tensor, &error),
               kWrong, "at no address");
  EXPECT_FAILS(pippin_tensor_convert(nullptr, PIPPIN_INT8, &tensor, &error), kWrong,
               "tensor is NULL");

  pippin_model* model = nullptr;
  pippin_function* function = nullptr;
  pippin_state* state = nullptr;
  pippin_call* call = nullptr;
  char* text = nullptr;
  EXPECT_FAILS(pippin_model_load(nullptr, nullptr, &model, &error), kWrong, "path is NULL");
  EXPECT_FAILS(pippin_model_load("x", nullptr, nullptr, &error), kWrong, "model is NULL");
  EXPECT_FAILS(pippin_function_open(nullptr, nullptr, &function, &error), kWrong, "model is NULL");
  EXPECT_FAILS(pippin_function_describe(nullptr, &text, &error), kWrong, "function is NULL");
  EXPECT_FAILS(pippin_function_describe(nullptr, nullptr, &error), kWrong, "text is NULL");
  EXPECT_FAILS(pippin_state_new(nullptr, &state, &error), kWrong, "function is NULL");
  EXPECT_FAILS(pippin_state_new_for_model(nullptr, &state, &error), kWrong, "model is NULL");
  EXPECT_FAILS(pippin_state_clone(nullptr, &state, &error), kWrong, "state is NULL");
  EXPECT_FAILS(pippin_state_reset(nullptr, &error), kWrong, "state is NULL");
  EXPECT_FAILS(pippin_state_read(nullptr, "x", &text, 8, &error), kWrong, "state is NULL");
  EXPECT_FAILS(pippin_state_write(nullptr, "x", &text, 8, &error), kWrong, "state is NULL");
  EXPECT_FAILS(pippin_call_new(nullptr, &call, &error), kWrong, "function is NULL");
  EXPECT_FAILS(pippin_call_set_input(nullptr, "x", nullptr, &error), kWrong, "call is NULL");
  EXPECT_FAILS(pippin_call_set_output(nullptr, "x", nullptr, &error), kWrong, "call is NULL");
  EXPECT_FAILS(pippin_call_set_state(nullptr, nullptr, &error), kWrong, "call is NULL");
  EXPECT_FAILS(pippin_call_clear(nullptr, &error), kWrong, "call is NULL");
  EXPECT_FAILS(pippin_call_run(nullptr, nullptr, &error), kWrong, "call is NULL");
  EXPECT_FAILS(pippin_call_output(nullptr, "x", &tensor, &error), kWrong, "call is NULL");
  EXPECT_FAILS(pippin_call_output_keys(nullptr, "x", &tensor, &error), kWrong, "call is NULL");
}

TEST(CErrors, NullIsNamedByLanguageModels) {
  constexpr pippin_code kWrong = PIPPIN_ERROR_INVALID_ARGUMENT;
  pippin_language_model* model = nullptr;
  pippin_session* session = nullptr;
  pippin_sampler* sampler = nullptr;
  pippin_completion* completion = nullptr;
  int32_t* ids = nullptr;
  int32_t id = 0;
  char* text = nullptr;
  const char* piece = nullptr;
  EXPECT_FAILS(pippin_language_model_load(nullptr, nullptr, nullptr, &model, &error), kWrong,
               "model is NULL");
  EXPECT_FAILS(pippin_language_model_load("demo", nullptr, nullptr, nullptr, &error), kWrong,
               "loaded is NULL");
  EXPECT_FAILS(pippin_language_model_encode(nullptr, "x", -1, 1, &ids, nullptr, &error), kWrong,
               "model is NULL");
  EXPECT_FAILS(pippin_language_model_encode(nullptr, "x", -1, 1, nullptr, nullptr, &error), kWrong,
               "ids is NULL");
  EXPECT_FAILS(pippin_language_model_decode(nullptr, &id, 1, 1, &text, nullptr, &error), kWrong,
               "model is NULL");
  EXPECT_FAILS(pippin_language_model_render(nullptr, "[]", &text, nullptr, &error), kWrong,
               "model is NULL");
  EXPECT_FAILS(pippin_session_open(nullptr, &session, &error), kWrong, "model is NULL");
  EXPECT_FAILS(pippin_session_tokens(nullptr, &ids, nullptr, &error), kWrong, "session is NULL");
  EXPECT_FAILS(pippin_session_feed(nullptr, &id, 1, nullptr, &error), kWrong, "session is NULL");
  EXPECT_FAILS(pippin_session_next(nullptr, nullptr, nullptr, &id, &error), kWrong,
               "session is NULL");
  EXPECT_FAILS(pippin_session_text(nullptr, 0, &piece, nullptr, &error), kWrong, "session is NULL");
  EXPECT_FAILS(pippin_session_reset(nullptr, &error), kWrong, "session is NULL");
  EXPECT_FAILS(pippin_session_truncate(nullptr, 0, &error), kWrong, "session is NULL");
  EXPECT_FAILS(pippin_session_fork(nullptr, &session, &error), kWrong, "session is NULL");
  EXPECT_FAILS(pippin_session_save(nullptr, "x", &error), kWrong, "session is NULL");
  EXPECT_FAILS(pippin_session_restore(nullptr, "x", &error), kWrong, "session is NULL");
  EXPECT_FAILS(pippin_sampler_new(nullptr, nullptr, &sampler, &error), kWrong, "model is NULL");
  EXPECT_FAILS(
      pippin_generate(nullptr, &id, 1, nullptr, nullptr, nullptr, nullptr, &completion, &error),
      kWrong, "session is NULL");
}

TEST(COptions, SayWhatTheyAre) {
  std::set<std::string> names;
  for (int64_t i = 0; i < pippin_option_count(); ++i) {
    EXPECT_TRUE(names.insert(pippin_option_name(i)).second) << pippin_option_name(i);
    EXPECT_GT(std::strlen(pippin_option_help(i)), 10U) << pippin_option_name(i);
  }
  EXPECT_TRUE(names.contains("precision"));
  EXPECT_EQ(pippin_option_name(-1), nullptr);
  EXPECT_EQ(pippin_option_help(pippin_option_count()), nullptr);
}

// The two options may be set in any order: the backend is determined when a model is loaded.
TEST(COptions, SayWhatComputes) {
  pippin_options* options = nullptr;
  ASSERT_WORKS(pippin_options_new(&options, &error));
  const auto expect_refusal = [&](const char* name, const char* value, pippin_code wanted,
                                  const char* words) {
    ASSERT_WORKS(pippin_options_set(options, name, value, &error));
    pippin_model* model = nullptr;
    EXPECT_FAILS(pippin_model_load("nowhere", options, &model, &error), wanted, words);
    pippin_language_model* language = nullptr;
    EXPECT_FAILS(pippin_language_model_load("nowhere", options, nullptr, &language, &error), wanted,
                 words);
  };
  expect_refusal("backend", "cpu", PIPPIN_ERROR_NOT_FOUND, "nowhere");
  expect_refusal("compute_units", "all", PIPPIN_ERROR_INVALID_ARGUMENT, "this is cpu");
  expect_refusal("backend", "gpu", PIPPIN_ERROR_INVALID_ARGUMENT, "not cpu, cuda, cuda:N");
  expect_refusal("backend", "cuda:x", PIPPIN_ERROR_INVALID_ARGUMENT, "not cpu, cuda, cuda:N");
  expect_refusal("backend", "cuda", PIPPIN_ERROR_INVALID_ARGUMENT, "this is cuda");
#ifndef __APPLE__
  expect_refusal("backend", "coreml", PIPPIN_ERROR_UNSUPPORTED, "Core ML is not available");
#endif
  pippin_options_free(options);
}

TEST(COptions, RefuseWhatTheyCannotBe) {
  pippin_options* options = nullptr;
  ASSERT_WORKS(pippin_options_new(&options, &error));
  ASSERT_WORKS(pippin_options_set(options, "precision", "exact", &error));
  ASSERT_WORKS(pippin_options_set(options, "trace", "true", &error));
  EXPECT_FAILS(pippin_options_set(options, "precision", "high", &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "precision cannot be 'high' (model: fast, exact");
  for (const char* value : {"", "x", "1.5", "99999999999999999999", " 1"}) {
    EXPECT_FAILS(pippin_options_set(options, "threads", value, &error),
                 PIPPIN_ERROR_INVALID_ARGUMENT, "threads cannot be");
  }
  EXPECT_FAILS(pippin_options_set(options, "trace", "yes", &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "trace cannot be 'yes'");
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"temperature", "0.5"},
                                                        {"top_k", "4"},
                                                        {"logit_bias", "7:-inf"},
                                                        {"seed", "1"},
                                                        {"stop", "end"},
                                                        {"stop", "."},
                                                        {"overflow", "shift"},
                                                        {"json_object", "true"},
                                                        {"choice", "yes"},
                                                        {"choice", "no"},
                                                        {"prefill", "steps"},
                                                        {"max_tokens", "-1"}}) {
    ASSERT_WORKS(pippin_options_set(options, name, value, &error));
  }
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"temperature", "hot"},
                                                        {"top_k", "4.5"},
                                                        {"logit_bias", "7"},
                                                        {"logit_bias", "x:1"},
                                                        {"seed", "-1"},
                                                        {"stop", ""},
                                                        {"overflow", "none"},
                                                        {"json_object", "{}"},
                                                        {"prefill", "slow"}}) {
    EXPECT_FAILS(pippin_options_set(options, name, value, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
                 name + std::string(" cannot be"));
  }
  pippin_options_free(options);
}

TEST(CCancel, IsTriggeredUntilItIsReset) {
  pippin_cancel* cancel = nullptr;
  ASSERT_WORKS(pippin_cancel_new(&cancel, &error));
  EXPECT_EQ(pippin_cancel_is_triggered(cancel), 0);
  pippin_cancel_trigger(cancel);
  EXPECT_EQ(pippin_cancel_is_triggered(cancel), 1);
  pippin_cancel_reset(cancel);
  EXPECT_EQ(pippin_cancel_is_triggered(cancel), 0);
  pippin_cancel_free(cancel);
}

TEST(CTensors, HaveTheirOwnElements) {
  const int64_t shape[] = {2, 3};
  pippin_tensor* tensor = nullptr;
  ASSERT_WORKS(pippin_tensor_new(PIPPIN_FLOAT32, 2, shape, &tensor, &error));
  EXPECT_EQ(pippin_tensor_type(tensor), PIPPIN_FLOAT32);
  EXPECT_EQ(pippin_tensor_rank(tensor), 2);
  EXPECT_EQ(pippin_tensor_size(tensor), 6);
  EXPECT_EQ(std::vector(pippin_tensor_shape(tensor), pippin_tensor_shape(tensor) + 2),
            (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::vector(pippin_tensor_strides(tensor), pippin_tensor_strides(tensor) + 2),
            (std::vector<int64_t>{12, 4}));
  auto* const data = static_cast<float*>(pippin_tensor_data(tensor));
  EXPECT_EQ(std::vector(data, data + 6), std::vector<float>(6));
  data[5] = 2.5F;

  pippin_tensor* half = nullptr;
  ASSERT_WORKS(pippin_tensor_convert(tensor, PIPPIN_FLOAT16, &half, &error));
  EXPECT_EQ(static_cast<const uint16_t*>(pippin_tensor_const_data(half))[5], 0x4100);
  pippin_tensor_free(half);
  EXPECT_FAILS(pippin_tensor_convert(tensor, PIPPIN_INT32, &half, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "element 5 is 2.5, which int32 cannot hold");
  EXPECT_EQ(half, nullptr);
  pippin_tensor_free(tensor);
}

TEST(CTensors, HoldTexts) {
  const int64_t shape[] = {2};
  const char* const texts[] = {"one", "zwei \xc3\xbc"};
  pippin_tensor* tensor = nullptr;
  ASSERT_WORKS(pippin_tensor_new_strings(1, shape, texts, &tensor, &error));
  EXPECT_EQ(pippin_tensor_type(tensor), PIPPIN_STRING);
  EXPECT_STREQ(pippin_tensor_string(tensor, 1), texts[1]);
  EXPECT_EQ(pippin_tensor_string(tensor, 2), nullptr);
  EXPECT_EQ(pippin_tensor_string(tensor, -1), nullptr);
  EXPECT_EQ(pippin_tensor_data(tensor), nullptr);
  pippin_tensor_free(tensor);
}

void count(void* user) {
  ++*static_cast<int*>(user);
}

TEST(CTensors, WrapMemoryUntilItIsReleased) {
  float memory[] = {1, 2, 3, 4};
  const int64_t shape[] = {2, 2}, strides[] = {4, 8};
  int released = 0;
  pippin_tensor* tensor = nullptr;
  ASSERT_WORKS(pippin_tensor_wrap(PIPPIN_FLOAT32, 2, shape, strides, memory, count, &released,
                                  &tensor, &error));
  EXPECT_EQ(pippin_tensor_data(tensor), memory);
  EXPECT_EQ(pippin_tensor_strides(tensor)[1], 8);
  pippin_tensor* packed = nullptr;
  ASSERT_WORKS(pippin_tensor_convert(tensor, PIPPIN_FLOAT32, &packed, &error));
  EXPECT_EQ(static_cast<float*>(pippin_tensor_data(packed))[1], 3);
  EXPECT_EQ(released, 0);
  pippin_tensor_free(tensor);
  EXPECT_EQ(released, 1);
  pippin_tensor_free(packed);
  EXPECT_EQ(released, 1);

  ASSERT_WORKS(pippin_tensor_wrap_const(PIPPIN_FLOAT32, 2, shape, nullptr, memory, nullptr, nullptr,
                                        &tensor, &error));
  EXPECT_EQ(pippin_tensor_data(tensor), nullptr);
  EXPECT_EQ(pippin_tensor_const_data(tensor), memory);
  pippin_tensor_free(tensor);
}

// The structure in DLPack's specification.
struct Lent {
  void* data;
  int32_t device, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
  int* ended;
  void (*deleter)(DLManagedTensor* self);
};

pippin_code take(Lent& lent, pippin_tensor** tensor, pippin_error** error) {
  return pippin_tensor_from_dlpack(reinterpret_cast<DLManagedTensor*>(&lent), tensor, error);
}

TEST(CTensors, GoThroughDlpack) {
  float memory[] = {0, 1, 2, 3, 4, 5, 6};
  int64_t shape[] = {2, 3}, strides[] = {1, 2};
  int ended = 0;
  Lent lent = {
      memory,  1,  0,      2,
      2,       32, 1,      shape,
      strides, 4,  &ended, [](DLManagedTensor* self) { ++*reinterpret_cast<Lent*>(self)->ended; }};
  pippin_tensor* tensor = nullptr;
  ASSERT_WORKS(take(lent, &tensor, &error));
  EXPECT_EQ(pippin_tensor_type(tensor), PIPPIN_FLOAT32);
  EXPECT_EQ(pippin_tensor_data(tensor), memory + 1);
  EXPECT_EQ(pippin_tensor_strides(tensor)[1], 8);

  DLManagedTensor* managed = nullptr;
  ASSERT_WORKS(pippin_tensor_to_dlpack(tensor, &managed, &error));
  auto* const given = reinterpret_cast<Lent*>(managed);
  pippin_tensor_free(tensor);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(given->data, memory + 1);
  EXPECT_EQ(std::vector<int>({given->device, given->ndim, given->code, given->bits, given->lanes}),
            std::vector<int>({1, 2, 2, 32, 1}));
  EXPECT_EQ(std::vector(given->shape, given->shape + 2), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::vector(given->strides, given->strides + 2), (std::vector<int64_t>{1, 2}));
  given->deleter(managed);
  EXPECT_EQ(ended, 1);

  constexpr pippin_code kNot = PIPPIN_ERROR_UNSUPPORTED;
  lent.device = 2;
  EXPECT_FAILS(take(lent, &tensor, &error), kNot, "on device 2");
  lent.device = 1;
  lent.code = 4;
  EXPECT_FAILS(take(lent, &tensor, &error), kNot, "of type 4, 32 bits");
  lent.code = 2;
  strides[0] = INT64_MAX;
  EXPECT_FAILS(take(lent, &tensor, &error), PIPPIN_ERROR_LIMIT_EXCEEDED, "stride");
  lent.shape = nullptr;
  EXPECT_FAILS(take(lent, &tensor, &error), PIPPIN_ERROR_INVALID_ARGUMENT, "shape is NULL");
  EXPECT_FAILS(pippin_tensor_from_dlpack(nullptr, &tensor, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "managed is NULL");
  EXPECT_EQ(ended, 1);

  const int64_t row[] = {1, 2}, odd[] = {6, 4};
  ASSERT_WORKS(
      pippin_tensor_wrap(PIPPIN_FLOAT32, 2, row, odd, memory, nullptr, nullptr, &tensor, &error));
  EXPECT_FAILS(pippin_tensor_to_dlpack(tensor, &managed, &error), kNot, "strides of 6 bytes");
  EXPECT_EQ(managed, nullptr);
  pippin_tensor_free(tensor);
  ASSERT_WORKS(pippin_tensor_wrap_const(PIPPIN_FLOAT32, 0, nullptr, nullptr, memory, nullptr,
                                        nullptr, &tensor, &error));
  EXPECT_FAILS(pippin_tensor_to_dlpack(tensor, &managed, &error), kNot, "const memory");
  pippin_tensor_free(tensor);
  EXPECT_FAILS(pippin_tensor_to_dlpack(nullptr, &managed, &error), PIPPIN_ERROR_INVALID_ARGUMENT,
               "tensor is NULL");
}

TEST(CTensors, RefuseWhatTheyCannotBe) {
  const int64_t shape[] = {1, -2}, huge[] = {INT64_MAX, 4};
  pippin_tensor* tensor = nullptr;
  constexpr pippin_code kWrong = PIPPIN_ERROR_INVALID_ARGUMENT;
  EXPECT_FAILS(pippin_tensor_new(13, 1, shape, &tensor, &error), kWrong, "type is 13; 0 to 12");
  EXPECT_FAILS(pippin_tensor_new(-1, 1, shape, &tensor, &error), kWrong, "type is -1");
  EXPECT_FAILS(pippin_tensor_new(PIPPIN_INT8, -1, shape, &tensor, &error), kWrong, "rank is -1");
  EXPECT_FAILS(pippin_tensor_new(PIPPIN_INT8, 65, shape, &tensor, &error), kWrong, "rank is 65");
  EXPECT_FAILS(pippin_tensor_new(PIPPIN_INT8, 2, shape, &tensor, &error), kWrong, "negative size");
  EXPECT_FAILS(pippin_tensor_new(PIPPIN_STRING, 1, shape, &tensor, &error), kWrong,
               "pippin_tensor_new_strings()");
  EXPECT_FAILS(pippin_tensor_new(PIPPIN_INT8, 2, huge, &tensor, &error),
               PIPPIN_ERROR_LIMIT_EXCEEDED, "too large");
  int released = 0;
  float memory = 0;
  EXPECT_FAILS(pippin_tensor_wrap(PIPPIN_FLOAT32, 2, shape, nullptr, &memory, count, &released,
                                  &tensor, &error),
               kWrong, "negative size");
  EXPECT_EQ(released, 0);
  EXPECT_EQ(tensor, nullptr);
}

}  // namespace
}  // namespace pippin::c
