"""Continues a prompt: generate.py MODEL PROMPT [TOKENS]

MODEL is a Core ML package, a folder, org/name on the Hugging Face Hub, or "demo".
"""

import sys

from pippin import lm


def main(name: str, prompt: str, max_tokens: int = 64) -> None:
    model, tokenizer = lm.load(name)
    if tokenizer.has_chat_template:
        messages = [{"role": "user", "content": prompt}]
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    for response in lm.stream_generate(model, tokenizer, prompt, max_tokens, logprobs=False):
        print(response.text, end="", flush=True)
    print(f"\n{response.generation_tps:.1f} tokens per second", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
