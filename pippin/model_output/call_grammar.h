// The grammar of tool calls: the syntax of the model's template, with the names and schemas of the
// tools.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/constrain/grammar.h"
#include "pippin/model_output/call_syntax.h"
#include "pippin/model_output/tool.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::model_output {

struct CallRules {
  std::shared_ptr<const CallSyntax> syntax;
  std::shared_ptr<const std::vector<Tool>> tools;  // at least one
  bool is_required = true;                         // false: the answer may have no calls
  bool is_parallel = true;                         // several calls are allowed
};

// An answer that consists of one or more calls. Arguments follow their tool's schema. If the schema
// has an unsupported feature: throws Unsupported, with its location, for a strict tool; otherwise
// allows any object. `tokenizer`: for the special tokens in the marks; null if none exist.
constrain::Symbol add_calls(constrain::Grammar& grammar, const CallRules& rules,
                            const Tokenizer* tokenizer);

// Any text, optionally followed by calls.
constrain::Symbol add_text_and_calls(constrain::Grammar& grammar, const CallRules& rules,
                                     const Tokenizer* tokenizer);

}  // namespace pippin::model_output
