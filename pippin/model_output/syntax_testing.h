// For tests only: templates of models that call tools in different ways.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/chat_template.h"
#include "pippin/model_output/answer_parser.h"
#include "pippin/model_output/read_syntax.h"
#include "pippin/model_output/tool.h"

namespace pippin::model_output {

// Returns a template that writes a message's calls with `calls`, in Jinja.
inline std::string template_source(std::string_view calls) {
  return "{% for t in tools or [] %}{{ t | tojson }}\n{% endfor %}"
         "{% for m in messages %}[{{ m.role }}]{{ m.content }}"
         "{% if m.tool_calls %}" +
         std::string(calls) +
         "{% endif %}[end]\n{% endfor %}"
         "{% if add_generation_prompt %}[assistant]{% endif %}";
}

inline ChatTemplate chat_template(std::string_view source) {
  return ChatTemplate::from_source(source, chat::Value(chat::Dict{}));
}

// {"name": F, "arguments": {...}} between marks.
inline constexpr std::string_view kHermes =
    "{% for c in m.tool_calls %}{{ '\\n' }}<tool_call>\n{\"name\": \"{{ c.function.name }}\", "
    "\"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}";
// Each argument between marks.
inline constexpr std::string_view kTagged =
    "{% for c in m.tool_calls %}<tool_call>\n<function={{ c.function.name }}>\n"
    "{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n"
    "{% endfor %}</function>\n</tool_call>{% endfor %}";
// A list, with ids after the arguments.
inline constexpr std::string_view kList =
    "[CALLS][{% for c in m.tool_calls %}{\"name\": \"{{ c.function.name }}\", \"arguments\": "
    "{{ c.function.arguments | tojson }}, \"id\": \"{{ c.id }}\"}{{ '' if loop.last else ', ' }}"
    "{% endfor %}]";
// The name, an id, then JSON.
inline constexpr std::string_view kNamed =
    "{% for c in m.tool_calls %}[CALL]{{ c.function.name }}[ID]{{ c.id }}[ARGS]"
    "{{ c.function.arguments | tojson }}{% endfor %}";
// f(k=v)
inline constexpr std::string_view kPython =
    "<calls>[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in "
    "c.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ '' if loop.last else ', ' }}"
    "{% endfor %}){{ '' if loop.last else ', ' }}{% endfor %}]</calls>";
// One call, without marks.
inline constexpr std::string_view kBare =
    "{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}"
    "{\"name\": \"{{ m.tool_calls[0].function.name }}\", \"parameters\": "
    "{{ m.tool_calls[0].function.arguments | tojson }}}";

inline std::shared_ptr<const CallSyntax> syntax_of(std::string_view calls) {
  auto syntax = read_call_syntax(chat_template(template_source(calls)));
  return syntax ? std::make_shared<CallSyntax>(std::move(*syntax)) : nullptr;
}

inline std::shared_ptr<const std::vector<Tool>> tools_of(std::string_view json) {
  return std::make_shared<std::vector<Tool>>(read_tools(Json::parse(json, "tools")));
}

// Returns some tools with arguments of all kinds.
inline std::shared_ptr<const std::vector<Tool>> some_tools() {
  return tools_of(R"([
      {"type": "function", "function": {"name": "weather", "description": "Tells the weather",
       "parameters": {"type": "object", "properties": {
         "city": {"type": "string", "pattern": "^[a-z]{1,4}$"},
         "days": {"type": "integer", "minimum": 1, "maximum": 9},
         "unit": {"type": "string", "enum": ["c", "f"]},
         "now": {"type": "boolean"}}, "required": ["city", "days"],
         "additionalProperties": false}}},
      {"type": "function", "function": {"name": "weather_map", "parameters": {"type": "object",
         "properties": {}, "additionalProperties": false}}}])");
}

}  // namespace pippin::model_output
