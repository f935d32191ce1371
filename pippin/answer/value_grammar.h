// The arguments of calls that are not JSON, as a part of a grammar.
#pragma once

#include "pippin/answer/call_syntax.h"
#include "pippin/answer/mark_grammar.h"
#include "pippin/answer/tool.h"
#include "pippin/constrain/grammar.h"

namespace pippin::answer {

// The arguments of a tool: those that its schema names, in its order; of a schema without
// properties, as the syntax allows. Throws Unsupported for a strict tool with a schema that the
// syntax cannot keep to.
constrain::Symbol add_tagged_arguments(MarkGrammar& marks, const CallSyntax& syntax,
                                       const Tool& tool);
constrain::Symbol add_literal_arguments(MarkGrammar& marks, const CallSyntax& syntax,
                                        const Tool& tool);

}  // namespace pippin::answer
