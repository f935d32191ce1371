// For tests of the C interface: errors of failed calls, and a model to call.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/c/pippin.h"

namespace pippin::c {

// The code and message of an error that a call returned; frees it.
inline std::string taken(pippin_error* error) {
  if (error == nullptr) return "no error";
  std::string text = std::to_string(pippin_error_code(error)) + ": " + pippin_error_message(error);
  pippin_error_free(error);
  return text;
}

// EXPECT_FAILS(pippin_model_load(path, NULL, &model, &error), PIPPIN_ERROR_NOT_FOUND, "no such");
// Checks that the call, whose last argument is &error, fails with this code and message, and with
// the same code if `error` is NULL.
#define EXPECT_FAILS(call, code, part)                                       \
  do {                                                                       \
    pippin_error* error = nullptr;                                           \
    EXPECT_EQ(call, code) << #call;                                          \
    const std::string said = ::pippin::c::taken(error);                      \
    EXPECT_EQ(said.find(std::to_string(code) + ": "), 0U) << said;           \
    EXPECT_NE(said.find(part), std::string::npos) << #call " says " << said; \
  } while (false)

// The call must succeed; otherwise prints its error.
#define ASSERT_WORKS(call)                                                    \
  do {                                                                        \
    pippin_error* error = nullptr;                                            \
    const pippin_code code = call;                                            \
    ASSERT_EQ(code, PIPPIN_OK) << #call << ": " << ::pippin::c::taken(error); \
    ASSERT_EQ(error, nullptr);                                                \
  } while (false)

}  // namespace pippin::c
