"""For scripts that derive from these classes without using them."""


class MistralAttention:
    pass


class MistralConfig:
    pass


class MistralForCausalLM:
    pass


MISTRAL_ATTENTION_CLASSES = {}
apply_rotary_pos_emb = repeat_kv = None
