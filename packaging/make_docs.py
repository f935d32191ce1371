#!/usr/bin/env python3
"""Writes manual pages and completions for bash, zsh and fish, from the program's own descriptions.

    make_docs.py PIPPIN FOLDER

Writes FOLDER/man1/pippin.1 and one page for each command, FOLDER/bash/pippin, FOLDER/zsh/_pippin and
FOLDER/fish/pippin.fish.
"""

import json
import pathlib
import re
import subprocess
import sys


def roff(text):
    """Escapes text for roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def page(program, names, app, version):
    """One manual page."""
    name = "-".join(names)
    lines = [f'.TH {name.upper()} 1 "" "Pippin {version}" "User Commands"', ".SH NAME",
             f"{roff(name)} \\- {roff(app['description'].splitlines()[0])}", ".SH SYNOPSIS"]
    arguments = " ".join(f"[\\fI{roff(one['name'])}\\fR]" for one in app["arguments"])
    command = f" \\fICOMMAND\\fR" if app["commands"] else ""
    lines.append(f".B {roff(' '.join(names))}\n[\\fIOPTIONS\\fR]{command} {arguments}".rstrip())
    if app["arguments"]:
        lines.append(".SH ARGUMENTS")
        for one in app["arguments"]:
            lines += [".TP", f".I {roff(one['name'])}", roff(one["description"])]
    if app["commands"]:
        lines.append(".SH COMMANDS")
        for one in app["commands"]:
            lines += [".TP", f".BR {roff(name + '-' + one['name'])} (1)", roff(one["description"].splitlines()[0])]
    lines.append(".SH OPTIONS")
    for one in app["options"]:
        value = "" if one["is_flag"] else f" \\fI{roff(one['type'])}\\fR"
        lines += [".TP", ", ".join(f"\\fB{roff(n)}\\fR" for n in one["names"]) + value, roff(one["description"])]
    if app["footer"]:
        lines += [".SH NOTES", ".nf", roff(app["footer"]), ".fi"]
    if len(names) > 1:
        lines += [".SH SEE ALSO", f".BR {roff(program)} (1)"]
    else:
        lines += [".SH EXIT STATUS",
                  "0 success, 1 an error, 2 wrong usage, 3 something valid that Pippin does not support, 128 + n after signal n."]
    return "\n".join(lines) + "\n"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def first_line(app):
    return app["description"].splitlines()[0]


def option_words(app):
    return [name for one in app["options"] for name in one["names"] if name.startswith("--")]


def value_options(app):
    return [name for one in app["options"] if not one["is_flag"] for name in one["names"]]


def bash(tree):
    cases = "".join(f"    {one['name']}) words={quoted(' '.join(option_words(one)))}; values={quoted(' '.join(value_options(one)))} ;;\n"
                    for one in tree["commands"])
    commands = " ".join(one["name"] for one in tree["commands"])
    return f"""# bash completion for pippin
_pippin() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words values
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {quoted(commands + ' ' + ' '.join(option_words(tree)))} -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    # A value, or an argument: most of them are files or folders.
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _pippin pippin
"""


def zsh(tree):
    def escaped(text):
        return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:").replace("'", "'\\''")

    commands = "\n".join(f"    '{one['name']}:{escaped(first_line(one))}'" for one in tree["commands"])
    cases = ""
    for one in tree["commands"]:
        cases += f"    {one['name']})\n      _arguments -S"
        for option in one["options"]:
            for name in option["names"]:
                value = "" if option["is_flag"] else f":{escaped(option['type']) or 'value'}:_files"
                cases += f" \\\n        '*{name}[{escaped(option['description'])}]{value}'"
        cases += " \\\n        '*:file:_files' ;;\n"
    return f"""#compdef pippin
_pippin() {{
  local -a commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{cases}  esac
}}
_pippin "$@"
"""


def fish(tree):
    def text(value):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = ["# fish completion for pippin"]
    for one in tree["commands"]:
        lines.append(f"complete -c pippin -n __fish_use_subcommand -a {one['name']} -d {text(first_line(one))}")
        for option in one["options"]:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option["names"])
            value = "" if option["is_flag"] else " -r"
            lines.append(f"complete -c pippin -n '__fish_seen_subcommand_from {one['name']}' {names}{value} -d {text(option['description'])}")
    return "\n".join(lines) + "\n"


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    tree = json.loads(subprocess.run([program, "--command-tree"], check=True, capture_output=True, text=True).stdout)
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    files = {f"man1/pippin-{one['name']}.1": page("pippin", ["pippin", one["name"]], one, version) for one in tree["commands"]}
    files |= {"man1/pippin.1": page("pippin", ["pippin"], tree, version), "bash/pippin": bash(tree),
              "zsh/_pippin": zsh(tree), "fish/pippin.fish": fish(tree)}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if __name__ == "__main__":
    main()
