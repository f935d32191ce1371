"""Language models, with the functions of mlx-lm.

>>> from pippin import lm
>>> model, tokenizer = lm.load("demo")
>>> messages = [{"role": "user", "content": "Tell me a story."}]
>>> prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
>>> len(lm.generate(model, tokenizer, prompt, max_tokens=8)) > 0
True
"""

from .convert import convert
from .generate import (
    BatchResponse,
    BatchStats,
    GenerationResponse,
    batch_generate,
    generate,
    generate_step,
    stream_generate,
)
from .models.cache import (
    PromptCache,
    can_trim_prompt_cache,
    load_prompt_cache,
    make_prompt_cache,
    save_prompt_cache,
    trim_prompt_cache,
)
from .perplexity import eval_ppl, perplexity
from .sample_utils import make_logits_processors, make_sampler
from .tokenizer_utils import TokenizerWrapper
from .utils import load

__all__ = [
    "BatchResponse", "BatchStats", "GenerationResponse", "PromptCache", "TokenizerWrapper", "batch_generate",
    "can_trim_prompt_cache", "convert", "eval_ppl", "generate", "generate_step", "load", "load_prompt_cache",
    "make_logits_processors", "make_prompt_cache", "make_sampler", "perplexity", "save_prompt_cache",
    "stream_generate", "trim_prompt_cache",
]
