"""The chat template, and the same in Python for the training data."""

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
SPECIAL = [PAD, START, END]

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def render(messages, add_generation_prompt=False):
    text = "".join(f"{START}{m['role']}\n{m['content'].strip()}{END}\n" for m in messages)
    return text + (f"{START}assistant\n" if add_generation_prompt else "")
