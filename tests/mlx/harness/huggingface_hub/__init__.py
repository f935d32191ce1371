"""The names that mlx-lm imports; its tests of models use none of them."""


def snapshot_download(*args, **kwargs):
    raise NotImplementedError("huggingface_hub is not here")


def scan_cache_dir(*args, **kwargs):
    raise NotImplementedError("huggingface_hub is not here")


class HfApi:
    pass


class ModelCard:
    pass


class ModelCardData:
    pass
