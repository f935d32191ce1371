// The grammar of call arguments that are not JSON.
#pragma once

#include "pippin/constrain/grammar.h"
#include "pippin/model_output/call_syntax.h"
#include "pippin/model_output/mark_grammar.h"
#include "pippin/model_output/tool.h"

namespace pippin::model_output {

// The arguments of a tool: the properties of its schema, in order; if the schema has none, anything
// that the syntax allows. Throws Unsupported for a strict tool whose schema the syntax cannot
// enforce.
constrain::Symbol add_tagged_arguments(MarkGrammar& marks, const CallSyntax& syntax,
                                       const Tool& tool);
constrain::Symbol add_literal_arguments(MarkGrammar& marks, const CallSyntax& syntax,
                                        const Tool& tool);

}  // namespace pippin::model_output
