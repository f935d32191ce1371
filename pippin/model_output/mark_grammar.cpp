#include "pippin/model_output/mark_grammar.h"

#include "pippin/constrain/patterns/json_text.h"

namespace pippin::model_output {

using constrain::RegexId;
using constrain::Sequence;
using constrain::Symbol;
using constrain::Writing;

MarkGrammar::Special MarkGrammar::first_special(std::string_view text) const {
  Special first{text.size(), 0, -1};
  if (tokenizer_ == nullptr || text.empty()) return first;
  for (const int32_t id : tokenizer_->encode(text, false)) {
    if (!tokenizer_->is_special(id)) continue;
    const std::string spelled = tokenizer_->token_bytes(id);
    const size_t at = spelled.empty() ? std::string_view::npos : text.find(spelled);
    if (at < first.begin) first = {at, spelled.size(), id};
  }
  return first;
}

void MarkGrammar::add(Sequence& sequence, std::string_view mark) {
  while (!mark.empty()) {
    const Special special = first_special(mark);
    if (special.begin > 0) {
      sequence.push_back(Symbol::regex(regexes().literal(mark.substr(0, special.begin))));
    }
    if (special.id >= 0) sequence.push_back(grammar_.add_tokens({special.id}));
    mark.remove_prefix(special.begin + special.size);
  }
}

bool MarkGrammar::begins_special(std::string_view mark) const {
  const Special special = first_special(mark);
  return special.id >= 0 && special.begin == 0;
}

RegexId MarkGrammar::text_without(std::string_view mark) {
  const RegexId any = constrain::any_text(regexes(), Writing::Utf8);
  if (mark.empty() || begins_special(mark)) return any;
  // If a mark contains special tokens, the text before them is excluded, too.
  const std::string_view text = mark.substr(0, first_special(mark).begin);
  const RegexId marked = regexes().concat(std::array{any, regexes().literal(text), any});
  return regexes().minus(any, marked);
}

Symbol MarkGrammar::rule(std::string name, std::vector<Sequence> alternatives) {
  const constrain::RuleId id = grammar_.add_rule(std::move(name));
  for (Sequence& sequence : alternatives) grammar_.add_alternative(id, std::move(sequence));
  return Symbol::rule(id);
}

}  // namespace pippin::model_output
