"""For scripts that derive from its class and do not use it."""


class Cache:
    pass
