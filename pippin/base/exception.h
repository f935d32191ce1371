// The project's only exception.
//
// The library throws Error when an operation cannot return a result: a broken file, a wrong
// argument, a full disk. Expected outcomes (a stop reason, an absent tensor) are values instead. A
// message is one line that says what is wrong, where, and the numbers. The library never prints,
// aborts or exits.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "pippin/base/export.h"

namespace pippin {

enum class ErrorCode {
  InvalidFile,      // the content of a file violates its format
  Unsupported,      // valid, but not supported by Pippin
  InvalidArgument,  // a value from the caller is wrong
  NotFound,
  LimitExceeded,
  Io,
  Network,
  Cancelled,
  Device,  // an accelerator failed during a computation
  Internal,
};

PIPPIN_API std::string_view to_string(ErrorCode code);

class PIPPIN_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace pippin
