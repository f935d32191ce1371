"""The parts of mlx_lm.models that are not models: prompt caches (cache)."""
