"""What mlx-lm has beside its models: the caches of prompts (cache)."""
