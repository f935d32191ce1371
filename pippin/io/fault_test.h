// For the tests of this folder: the one-line message of a call that must fail.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"

namespace pippin {

inline std::string fault_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    EXPECT_LT(message.size(), 600u) << message;
    return message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an Error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// Expects that the call fails with a message that contains `expected`.
#define EXPECT_FAULT(call, expected)                                       \
  do {                                                                     \
    const std::string message = ::pippin::fault_of([&] { (void)(call); }); \
    EXPECT_NE(message.find(expected), message.npos) << message;            \
  } while (false)

}  // namespace pippin
