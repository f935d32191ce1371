"""The names that mlx-lm imports; its tests of models use none of them."""


class PreTrainedTokenizer:
    pass


class PreTrainedTokenizerFast(PreTrainedTokenizer):
    pass


class AutoTokenizer:
    @staticmethod
    def from_pretrained(*args, **kwargs):
        raise NotImplementedError("transformers is not here")

    @staticmethod
    def register(*args, **kwargs):
        pass
