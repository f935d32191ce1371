"""For scripts that derive from its class without using it."""


class Cache:
    pass
