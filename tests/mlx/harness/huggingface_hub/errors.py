class LocalEntryNotFoundError(Exception):
    pass
