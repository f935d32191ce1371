// The beginning of a call, up to its arguments.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/answer/call_syntax.h"
#include "pippin/answer/marks.h"
#include "pippin/answer/tool.h"

namespace pippin::answer {

struct CallHead {
  size_t end = 0;  // where the arguments begin; of the whole call if `is_whole`
  const Tool* tool = nullptr;
  std::string id;  // as the model wrote it; empty: it did not
  bool is_whole = false;
  std::string arguments;  // JSON, if it is whole
  int open_objects = 0;   // around the arguments
  CallSyntax::Arguments kind = CallSyntax::Arguments::Json;
};

class CallHeadReader {
 public:
  CallHeadReader(const CallSyntax& syntax, std::span<const Tool> tools);

  enum class Place : uint8_t {
    Begin,      // of an answer
    LineBegin,  // of content
    Content,
    BehindCall,
  };
  // Whether a call begins with `text`, which `is_all` if no more comes. Calls of tools that were
  // not offered are none. More: `head` has what is known so far.
  Found read(std::string_view text, Place place, bool is_all, CallHead& head) const;
  // The bytes that calls can begin with.
  const std::string& first_bytes() const { return first_bytes_; }

 private:
  std::vector<std::string> begins(Place place) const;
  const Tool* find(std::string_view name) const;
  Found read_object(std::string_view text, size_t at, bool is_marked, CallHead& head) const;
  Found read_function(std::string_view text, size_t at, bool is_all, CallHead& head) const;
  Found read_python_call(std::string_view text, size_t at, bool is_all, CallHead& head) const;
  Found read_name(std::string_view text, size_t& at, bool is_all, CallHead& head) const;

  const CallSyntax& syntax_;
  std::vector<const Tool*> tools_;  // the longest names first
  std::string first_bytes_;
  bool has_late_id_ = false;  // behind the arguments
};

}  // namespace pippin::answer
