// Untrusted schemas, grammars and regular expressions: they are compiled or rejected with an Error,
// and compiled ones can be walked. The first byte selects the kind.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/constrain/gbnf/gbnf.h"
#include "pippin/constrain/matcher.h"
#include "pippin/constrain/patterns/pattern.h"
#include "pippin/constrain/schema/schema.h"
#include "pippin/io/json.h"

using namespace pippin;
using namespace pippin::constrain;

namespace {

Symbol add(Grammar& grammar, char kind, std::string_view text) {
  SchemaOptions options;
  options.max_values = 500;
  options.max_branches = 200;
  options.max_steps = 5000;
  if (kind == 'g') return add_gbnf(grammar, text);
  if (kind == 'r') return Symbol::regex(whole_pattern(grammar.regexes(), text, Writing::Utf8, "r"));
  return add_schema(grammar, Json::parse(text, "schema"), options);
}

// Follows the first possible byte at each step.
void walk(Matcher& matcher) {
  StateId state = matcher.start();
  for (int i = 0; i < 64 && state != Matcher::kDead; ++i) {
    StateId next = Matcher::kDead;
    for (unsigned byte = 0; byte < 256 && next == Matcher::kDead; ++byte) {
      next = matcher.step(state, static_cast<uint8_t>((byte + '"') % 256));
    }
    // In every live state, the text can end or continue.
    if (next == Matcher::kDead && !matcher.can_end(state)) {
      bool has_tokens = false;
      for (const auto& terminal : matcher.terminals(state))
        has_tokens |= terminal.rest == RegexPool::kNothing;
      if (!has_tokens) __builtin_trap();
    }
    state = next;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(static_cast<const char*>(static_cast<const void*>(data)), size);
  try {
    GrammarLimits limits;
    limits.regexes.max_expressions = 20'000;
    limits.regexes.max_parts = 100'000;
    limits.max_rules = 5000;
    auto grammar = std::make_shared<Grammar>(limits);
    const RuleId root = grammar->add_rule("root");
    grammar->add_alternative(root, {add(*grammar, text[0], text.substr(1))});
    grammar->set_root(root);
    grammar->finish();
    Matcher matcher(grammar, 5000);
    walk(matcher);
  } catch (const Error&) {
  }
  return 0;
}
