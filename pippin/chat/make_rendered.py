#!/usr/bin/env python3
"""Writes rendered.json: conversations rendered by Python's Jinja2 through chat templates, for rendered_test.cpp.

    python3 pippin/chat/make_rendered.py > pippin/chat/rendered.json      (needs python3-jinja2)

The environment is set up as in transformers' apply_chat_template. The templates are made up, but use the features of
real ones. Results hold the rendered text, or null if Jinja2 raises an error.
"""

import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

TEMPLATES = {
    "plain": """{% for message in messages %}<|{{ message['role'] }}|>
{{ message['content'] }}<|end|>
{% endfor %}
{% if add_generation_prompt %}
<|assistant|>
{% endif %}
""",
    # The system text becomes part of the first question; roles must alternate.
    "folded": """{%- if messages[0].role == 'system' -%}
    {%- set system = messages[0].content.strip() ~ '\n\n' -%}
    {%- set turns = messages[1:] -%}
{%- else -%}
    {%- set system = '' -%}
    {%- set turns = messages -%}
{%- endif -%}
{{- bos_token -}}
{%- for turn in turns -%}
    {%- if (turn.role == 'user') != (loop.index0 % 2 == 0) -%}
        {{- raise_exception('Roles have to alternate: user/assistant/user/...') -}}
    {%- endif -%}
    {%- if turn.role == 'user' -%}
        {{- '[INST] ' + (system if loop.first else '') + turn.content | trim + ' [/INST]' -}}
    {%- else -%}
        {{- ' ' ~ turn.content | trim ~ eos_token -}}
    {%- endif -%}
{%- endfor -%}
""",
    "tools": """{%- macro spelled(value) -%}
    {%- if value is string %}{{ value }}{% else %}{{ value | tojson }}{% endif -%}
{%- endmacro -%}
{%- if tools is defined and tools %}
    {{- '<tools>\n' }}
    {%- for tool in tools %}
        {{- tool.function | tojson(indent=2) + '\n' }}
        {%- for name, about in tool.function.parameters.properties.items() %}
            {{- '- ' ~ name ~ ': ' ~ about.type ~ (' (required)' if name in tool.function.parameters.required else '') ~ '\n' }}
        {%- endfor %}
    {%- endfor %}
    {{- '</tools>\n' }}
{%- endif %}
{%- for message in messages %}
    {{- '<' ~ message.role ~ '>' }}
    {%- if message.content is string %}
        {{- message.content }}
    {%- elif message.content is iterable %}
        {%- for part in message.content | selectattr('type', 'equalto', 'text') %}{{ part.text }}{{ ' ' if not loop.last }}{% endfor %}
        {{- '(%d other)' % (message.content | rejectattr('type', 'eq', 'text') | list | length) }}
    {%- endif %}
    {%- for call in message.tool_calls or [] %}
        {%- set call = call.function if call.function is defined else call %}
        {{- '\n{"name": "' + call.name + '", "arguments": ' + spelled(call.arguments) + '}' }}
    {%- endfor %}
    {{- '</' ~ message.role ~ '>\n' }}
{%- endfor %}
""",
    # Thoughts before the last question are dropped.
    "thoughts": """{%- set ns = namespace(last=-1, thoughts='') %}
{%- for message in messages[::-1] %}
    {%- set index = messages | length - 1 - loop.index0 %}
    {%- if ns.last < 0 and message.role == 'user' and not message.content is none %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is not string %}{% continue %}{% endif %}
    {%- set content = message.content %}
    {%- set ns.thoughts = '' %}
    {%- if message.role == 'assistant' and '</think>' in content %}
        {%- set ns.thoughts = content.split('</think>')[0].split('<think>')[-1].strip('\n') %}
        {%- set content = content.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
    {{- message.role | upper + ': ' }}
    {%- if ns.thoughts and loop.index0 > ns.last %}{{ '<think>\n' + ns.thoughts + '\n</think>\n\n' }}{% endif %}
    {{- content | replace('\n', ' / ') }}
    {%- if not loop.last %}{{ '\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '\nASSISTANT: ' ~ ('<think>\n' if enable_thinking is undefined or enable_thinking) }}{% endif %}
""",
    "dated": """{%- if not today is defined %}
    {%- set today = strftime_now('%d %B %Y, %H:%M') %}
{%- endif %}
{{- 'Today: ' ~ today ~ '\n' }}
{%- set names = {'user': 'Human', 'assistant': 'Machine'} %}
{%- for message in messages if message.role in names %}
    {{- '%s %02d: %s' | format(names[message.role], loop.index, message.content | default('nothing', true)) }}
    {{- '\n' if loop.nextitem is defined else '' }}
{%- else %}
    {{- 'nobody says anything' }}
{%- endfor %}
""",
    # Literal whitespace, comments, set blocks, numbers.
    "loose": """  {# what is
     not seen #}
  {% set title %}<b>{{ messages | length }}</b>{% endset %}
{{ title | trim }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 2 ** 8 }} {{ 1 / 4 }} {{ 0.1 + 0.2 }} {{ 1e20 }} {{ 10 * 1.0 }}
  {%+ if messages[-1].role == 'user' %} open {% endif %}

\t{%- for role, group in messages | groupby('role') -%}
\t {{ role }}={{ group | map(attribute='content') | select('string') | map('length') | sum }};
  {%- endfor %}
{{ messages | map(attribute='role') | unique | sort(reverse=true) | join(' < ') }}
{{ ['b', 'A', 'c'] | sort | join }}{{ {'z': 1, 'a': [true, none, 1.5, 'q']} | tojson }}{{ {'z': (1,), 'a': none} }}
{% raw %}{{ as it is }}{% endraw %}
""",
}

PARTS = [{"type": "image", "url": "x.png"}, {"type": "text", "text": "What is"}, {"type": "text", "text": "this?"}]
WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "The weather \"now\" & <soon>", "parameters": {
        "type": "object", "properties": {"place": {"type": "string"}, "days": {"type": "integer"}}, "required": ["place"]}}}
CONVERSATIONS = {
    "question": {"messages": [{"role": "user", "content": "What is 1 + 1?"}]},
    "system": {"messages": [{"role": "system", "content": "  Be brief.\n"}, {"role": "user", "content": "Hi"}]},
    "turns": {"messages": [{"role": "user", "content": "  Grüße, 世界 🦊  "}, {"role": "assistant", "content": "Hello.\n\nYou?"},
                           {"role": "user", "content": "It's \"fine\" <b>&</b> \\n"}]},
    "thinking": {"messages": [{"role": "user", "content": "One"}, {"role": "assistant", "content": "<think>\na\n</think>\n\nTwo"},
                              {"role": "user", "content": "Three"}, {"role": "assistant", "content": "<think>b</think>Four"}]},
    "call": {"tools": [WEATHER], "messages": [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"type": "function", "function": {"name": "weather", "arguments": {"place": "Köln", "days": 2}}},
            {"name": "weather", "arguments": "{\"place\": \"Ulm\"}"}]},
        {"role": "tool", "content": "{\"rain\": true}"}]},
    "parts": {"messages": [{"role": "user", "content": PARTS}]},
    "twice": {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": ""}], "enable_thinking": False},
    "none": {"messages": []},
}

# Single expressions, evaluated with NAMES.
NAMES = {
    "lines": "one\r\ntwo\vthree\x1cfour\u2028five\x85six\n\n\rseven",
    "spaced": "\u3000 wide\u00a0space\u2003 and\tmore \u2009",
    "nothing": None,
    "mixed": {"b": [1, 2.5, None, True], "a": {"z": "'", "y": '"'}, "c": [], "d": {}},
}
METHODS = r"""
'½'.isnumeric(), '½'.isdigit(), '²'.isdigit(), '²'.isdecimal(), '٣'.isdecimal(), '七'.isnumeric(), ''.isnumeric(), '1a'.isnumeric()
'é'.isalpha(), '½'.isalpha(), '世界'.isalpha(), 'a b'.isalpha(), '½a'.isalnum(), 'a_'.isalnum(), spaced.isspace(), '\u3000\u2028\x1f'.isspace()
'ÀÉ1'.isupper(), 'ªb'.islower(), 'ǅ'.isupper(), 'ǅ'.istitle(), 'Ab Cd'.istitle(), 'AB'.istitle(), '1'.istitle(), 'A1B'.istitle()
'ß ŉ İ'.upper(), 'İ ΑΣ ΑΣ.Α Σ'.lower(), "ﬁne ǆ they're x1y".title(), 'ǆΣ ABC'.capitalize(), 'Hello ß ΟΣ İ'.swapcase(), 'Straße ΟΣ İ'.casefold()
['\u200b', '\xa0', 'é', '\U000e0001', '🦊', '\u0378', '\xad', '\n']
'abc'.isascii(), 'é'.isascii(), ''.isascii(), 'a\u200b'.isprintable(), ''.isprintable(), 'a é'.isprintable()
'a\tbc\td\n\te'.expandtabs(), '\t'.expandtabs(3), 'é\t|'.expandtabs(tabsize=4), 'a\tb'.expandtabs(0), 'a\tb'.expandtabs(-3), 'a\r\tb'.expandtabs(2), 'a\v\tb'.expandtabs(4)
''.expandtabs(), 'a\tb'.expandtabs(true)
'a'.expandtabs('2')
'a'.expandtabs(none)
'a'.expandtabs(1.5)
'a'.expandtabs(1, 2)
'a'.expandtabs(99999999999)
'a'.swapcase(1)
'a'.casefold(x=1)
'a'.isnumeric(1)
none.istitle()
lines.splitlines(), lines.splitlines(true), ''.splitlines(), '\n'.splitlines(), spaced.split(), spaced.strip()
"ß-ǆ they're (ok) [x<y{z ΑΣ"|title, 'ǆΣ ABC'|capitalize, 'ß'|upper, 'ΑΣ'|lower
"""
FILTERS = r"""
'<p>a <b>b</b>\n\t c</p>'|striptags, ''|striptags, none|striptags, 5|striptags, '<!-- <b> -->x<!-->y<!--->z'|striptags, '<!<!-- -->-- a -->b'|striptags, 'a < b > c'|striptags, 'a <'|striptags, '<!-- open <i>x</i>'|striptags
'&lt;b&gt; &amp;amp; &ampx &notit; &notin; &NotEqualTilde; &nosuch; AT&T &#60;&#x3C &#X3c;&#0;&#128;&#xD800;&#1114112;&#1;&#xFFFE;& &; &#; &#x;'|striptags
'a\u00a0b\u3000c\u2028d&nbsp;e&Tab;&NewLine;'|striptags, '<a>'|safe|striptags, ('<a>'|safe|striptags) is escaped, '&CounterClockwiseContourIntegral; &aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaamp; &copyé; &eacute'|striptags, ['<i>', 1]|striptags
undefined_name|striptags
'a'|striptags(1)
'The quick brown fox jumps over the lazy dog. Pneumonoultramicroscopicsilicovolcanoconiosis is long.'|wordwrap(20)
'The quick brown fox jumps over Pneumonoultramicroscopicsilicovolcanoconiosis'|wordwrap(20, false), 'aaaaaaaaaa bbb'|wordwrap(4, break_long_words=false)
'state-of-the-art well-known-thing a-b-c x--y em--dash 1-2-3 --option -x ab-cd- foo-1bar'|wordwrap(6)
'state-of-the-art well-known-thing a-b-c x--y em--dash 1-2-3 --option -x ab-cd- foo-1bar'|wordwrap(6, break_on_hyphens=false)
'state-of-the-art em--dash ----------- a----------b'|wordwrap(3), 'a-b-c-d-e.f-g-h'|wordwrap(2), "it's-a \"quoted\"--text e.g.--like this"|wordwrap(8)
''|wordwrap, '   '|wordwrap, ' \n \n'|wordwrap(2), '   lead and trail   '|wordwrap(6), 'a  b   c    d'|wordwrap(3)
lines|wordwrap(4), lines|wordwrap(4, wrapstring='|'), spaced|wordwrap(5), 'a\tb\tc d'|wordwrap(3), 'ab cd'|wordwrap(2, true, '\r\n')
'世界 你好世界 é-ü ßß-ßß-ßß 🦊🦊🦊🦊'|wordwrap(3), 'a\u00a0b\u2003c d'|wordwrap(4), 'x \u3000 y'|wordwrap(1), 'abcd efgh'|wordwrap(4), 'abcd \u00a0 efgh'|wordwrap(4)
'abc'|wordwrap(1), 'a b'|wordwrap(true), ''|wordwrap(0), '1234 123456789'|wordwrap(5), 'ab-cdefghijk'|wordwrap(5), '-abcdefgh --abcdefgh'|wordwrap(4)
('x ' * 60)|wordwrap, '<a b'|wordwrap(2, wrapstring='<br>'|safe), '<a b'|safe|wordwrap(2)
'a'|wordwrap(0)
'a'|wordwrap(-5)
'a b'|wordwrap(none)
'a b'|wordwrap('3')
none|wordwrap
5|wordwrap
'a'|wordwrap(5, true, 7)
'a'|wordwrap(5, true, none, true, 1)
0|filesizeformat, 1|filesizeformat, 999|filesizeformat, 1000|filesizeformat, 1024|filesizeformat(true), 1023|filesizeformat(binary=true), 1e6|filesizeformat, 999999|filesizeformat, 123456789|filesizeformat, 123456789|filesizeformat(true)
-5|filesizeformat, -5000|filesizeformat, 0.5|filesizeformat, -0.5|filesizeformat, 1.0|filesizeformat, true|filesizeformat, 999.9|filesizeformat, 1e26|filesizeformat, 1e30|filesizeformat, (2**90)|filesizeformat(true), (10**24)|filesizeformat, (10**24 + 10**9)|filesizeformat, (10**21)|filesizeformat, (10**18 - 1)|filesizeformat, (10**27)|filesizeformat
'1000'|filesizeformat, ' 1e3 '|filesizeformat, 'nan'|filesizeformat, 'inf'|filesizeformat(true), '1500.5'|filesizeformat, (1000**2)|filesizeformat, 1250|filesizeformat, 1350|filesizeformat, (1024**8)|filesizeformat(true), 999950|filesizeformat
none|filesizeformat
'x'|filesizeformat
''|filesizeformat
[]|filesizeformat
'-inf'|filesizeformat
(10**400)|filesizeformat
undefined_name|filesizeformat
1|filesizeformat(true, 1)
{'a': 1, 'b': none, 'c': '<"\'&>', 'd': undefined_name, 'é': [1, '<']}|xmlattr, {}|xmlattr, {'a': none}|xmlattr, {'a': 1, 'b': 2}|xmlattr(false), {'a<"': '<b>'|safe}|xmlattr(autospace=true), {'a': true, 'b': 1.5, '': ''}|xmlattr, {'a\u00a0b': 1}|xmlattr
{'a b': 1}|xmlattr
{'a/': 1}|xmlattr
{'a>': 1}|xmlattr
{'a=': 1}|xmlattr
{'a\n': 1}|xmlattr
{'a b': none}|xmlattr
{1: 2}|xmlattr
{1: none}|xmlattr
none|xmlattr
[1]|xmlattr
'a'|xmlattr
undefined_name|xmlattr
mixed|pprint, none|pprint, ''|pprint, 'a'|pprint, 1.5|pprint, []|pprint, {}|pprint, ()|pprint, (1,)|pprint, [[]]|pprint, true|pprint, ('a'|safe)|pprint, undefined_name|pprint, range(3)|pprint, {'c': (1,), 'd': ()}|pprint
{'b': 1, 'a': {'d': 2, 'c': 3}, 3: 4, none: 5, 1.5: 6, true: 7, (1, 2): 8}|pprint
(range(40)|list)|pprint
([range(30)|list, {'k': range(30)|list}],)|pprint
{'name': 'weather', 'description': 'The weather now and soon, in every place that has a name, by the hour', 'parameters': {'type': 'object', 'properties': {'place': {'type': 'string', 'description': 'Where, by the name that its people give it, which need not be ours'}, 'days': {'type': 'integer'}}, 'required': ['place', 'days']}}|pprint
('word ' * 40)|pprint
('x' * 100)|pprint, ('x' * 78)|pprint, ('x' * 77)|pprint, ('x' * 76 ~ ' y')|pprint, ('x' * 79 ~ ' ' ~ 'y' * 79)|pprint
[('word ' * 40)|trim]|pprint, {'key': 'line one\nline two is rather longer than the first one\r\nline three\u2028four ' ~ 'five ' * 20}|pprint, (('word ' * 20)|trim,)|pprint, [('é' * 90) ~ ' \u3000 ' ~ ('\u200b' * 20)]|pprint
[[[[[[[[[['deeply nested text that has to be broken somewhere', 'and another']]]]]]]]]]|pprint
[{'a' * 70: 'long value of words after a long key', 'b': ['x' * 60, 'y' * 30]}]|pprint
('a\n' * 50)|pprint, ('\n' * 90)|pprint, (' ' * 100)|pprint, ('it\'s "quoted" ' * 10)|pprint
{'z': ('q' * 30, 'r' * 30), 'y': ('q' * 80,), 'x': [('q' * 30, 'r' * 30, 's' * 30)]}|pprint, ('<b> ' * 30)|safe|pprint, [('<b> ' * 30)|safe]|pprint
{'a': mixed.items()|list, 'b': range(50), 'd': 'x y ' * 25}|pprint
mixed|pprint(1)
"""


def environment():
    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.TemplateError(message)

    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = datetime.datetime(2025, 1, 2, 3, 4, 5).strftime
    return made


def main():
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    results = []
    for name, source in TEMPLATES.items():
        template = environment().from_string(source)
        for case, conversation in CONVERSATIONS.items():
            prompt = len(results) % 2 == 0
            try:
                output = template.render(**{"tools": None, **conversation}, **tokens, add_generation_prompt=prompt)
            except Exception:
                output = None
            results.append({"template": name, "case": case, "add_generation_prompt": prompt, "output": output})
    expressions = []
    for source in (METHODS + FILTERS).strip().replace("\n\n", "\n").split("\n"):
        try:
            output = environment().from_string("{{ (%s) }}" % source).render(**NAMES)
        except Exception:
            output = None
        expressions.append([source, output])
    lines = ["{", '"templates": {', ",\n".join("%s: %s" % (json.dumps(n), json.dumps(s)) for n, s in TEMPLATES.items()), "},",
             '"conversations": {',
             ",\n".join("%s: %s" % (json.dumps(n), json.dumps(c, ensure_ascii=False)) for n, c in CONVERSATIONS.items()), "},",
             '"bos_token": "<s>", "eos_token": "</s>",', '"results": [',
             ",\n".join(json.dumps(result, ensure_ascii=False) for result in results), "],",
             '"names": %s,' % json.dumps(NAMES), '"expressions": [', ",\n".join(map(json.dumps, expressions)), "]}"]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
