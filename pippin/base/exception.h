// The project's only exception.
//
// The library throws Error when an operation cannot return a result: a broken file, a wrong
// argument, a full disk. Expected outcomes (a stop reason, an absent tensor) are values instead. A
// message is one line that names the problem, the place and the numbers. The library never prints,
// aborts or exits.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "pippin/base/export.h"

namespace pippin {

// The kinds of errors, for callers that treat some differently.
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

// Returns a short name for messages.
PIPPIN_API std::string_view to_string(ErrorCode code);

// The exception of all functions.
class PIPPIN_API Error : public std::runtime_error {
 public:
  // An error with a message of one line.
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  // The kind of error.
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace pippin
