// For tests: the errors that code throws, as text.
#pragma once

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/exception.h"

namespace pippin {

// Returns the code and the message, one line, of the error that `body` throws, or "no error".
template <typename Body>
std::string thrown_fault(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return fmt::format("{}: {}", to_string(error.code()), error.what());
  }
  return "no error";
}

// The same without the code.
template <typename Body>
std::string thrown_message(const Body& body) {
  const std::string text = thrown_fault(body);
  return text.substr(text.find(": ") == text.npos ? 0 : text.find(": ") + 2);
}

}  // namespace pippin
