// The grammar of call arguments that are not JSON.
#pragma once

#include "pippin/answer/call_syntax.h"
#include "pippin/answer/mark_grammar.h"
#include "pippin/answer/tool.h"
#include "pippin/constrain/grammar.h"

namespace pippin::answer {

// The arguments of a tool: the properties of its schema, in order; if the schema has none, anything
// that the syntax allows. Throws Unsupported for a strict tool whose schema the syntax cannot
// enforce.
constrain::Symbol add_tagged_arguments(MarkGrammar& marks, const CallSyntax& syntax,
                                       const Tool& tool);
constrain::Symbol add_literal_arguments(MarkGrammar& marks, const CallSyntax& syntax,
                                        const Tool& tool);

}  // namespace pippin::answer
