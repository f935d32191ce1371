// Reads the beginning of a call, up to its arguments.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/model_output/call_syntax.h"
#include "pippin/model_output/marks.h"
#include "pippin/model_output/tool.h"

namespace pippin::model_output {

struct CallHead {
  size_t end = 0;  // start of the arguments; end of the whole call if `is_whole`
  const Tool* tool = nullptr;
  std::string id;  // from the model; empty if it gave none
  bool is_whole = false;
  std::string arguments;  // JSON, if `is_whole`
  int open_objects = 0;   // around the arguments
  CallSyntax::Arguments kind = CallSyntax::Arguments::Json;
};

class CallHeadReader {
 public:
  CallHeadReader(const CallSyntax& syntax, std::span<const Tool> tools);

  enum class Place : uint8_t {
    Begin,      // of the answer
    LineBegin,  // within content
    Content,
    BehindCall,
  };
  // Returns whether a call begins with `text`; `is_all` if no more follows. Calls of tools that
  // were not offered do not count. More: `head` has the part known so far.
  Found read(std::string_view text, Place place, bool is_all, CallHead& head) const;
  // The bytes with which calls can begin.
  const std::string& first_bytes() const { return first_bytes_; }

 private:
  std::vector<std::string> begins(Place place) const;
  const Tool* find(std::string_view name) const;
  Found read_object(std::string_view text, size_t at, bool is_marked, CallHead& head) const;
  Found read_function(std::string_view text, size_t at, bool is_all, CallHead& head) const;
  Found read_python_call(std::string_view text, size_t at, bool is_all, CallHead& head) const;
  Found read_name(std::string_view text, size_t& at, bool is_all, CallHead& head) const;

  const CallSyntax& syntax_;
  std::vector<const Tool*> tools_;  // longest names first
  std::string first_bytes_;
  bool has_late_id_ = false;  // after the arguments
};

}  // namespace pippin::model_output
