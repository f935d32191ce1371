// The commands of rank 0, each the first byte of a message.
#pragma once

#include <cstdint>

namespace pippin::pipeline {

enum class Command : uint8_t {
  MakePlan,       // plan, model, groups, function, options: if the rank does not have it yet
  MakeExecution,  // execution, plan: the same
  Lanes,          // execution, count
  Run,            // execution, lanes with their changed inputs
  Fetch,          // execution, output, lane, begin, size: answered with the bytes
  MakeState,      // state, features
  CloneState,     // state, of another one
  FreeState,
  ResetState,
  CopyRows,   // state, index, rows, of another one
  ReadRows,   // state, index, rows: answered with those of the rank's slices
  WriteRows,  // state, index, rows, bytes of the rank's slices
  End,
};

}  // namespace pippin::pipeline
