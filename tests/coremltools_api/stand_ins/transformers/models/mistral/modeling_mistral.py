"""For scripts that derive from these classes and do not use them."""


class MistralAttention:
    pass


class MistralConfig:
    pass


class MistralForCausalLM:
    pass


MISTRAL_ATTENTION_CLASSES = {}
apply_rotary_pos_emb = repeat_kv = None
