// What a model may write of calls, as a part of a grammar: the syntax of its template, with the
// names and the schemas of the tools.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/answer/call_syntax.h"
#include "pippin/answer/tool.h"
#include "pippin/constrain/grammar.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::answer {

struct CallRules {
  std::shared_ptr<const CallSyntax> syntax;
  std::shared_ptr<const std::vector<Tool>> tools;  // one at least
  bool is_required = true;                         // else the answer may be without calls
  bool is_parallel = true;                         // more than one call
};

// An answer of calls alone, one or more. Arguments are of their tool's schema. Where that has
// something that is not supported: Unsupported for a strict tool, with its place; else any object.
// `tokenizer`: of the special tokens in the marks; null: there are none.
constrain::Symbol add_calls(constrain::Grammar& grammar, const CallRules& rules,
                            const Tokenizer* tokenizer);

// Any text, and calls behind it if there are some.
constrain::Symbol add_text_and_calls(constrain::Grammar& grammar, const CallRules& rules,
                                     const Tokenizer* tokenizer);

}  // namespace pippin::answer
