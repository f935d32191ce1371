"""predict_async(): predictions in threads, for asyncio."""

from __future__ import annotations

import asyncio
import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ._pippin import CancelToken

# A thread for each model or function: its predictions take turns anyway, and others do not have to wait for them.
_threads: weakref.WeakKeyDictionary[Any, tuple[int, ThreadPoolExecutor]] = weakref.WeakKeyDictionary()


def _thread_of(owner: Any) -> ThreadPoolExecutor:
    process, thread = _threads.get(owner, (0, None))
    if thread is None or process != os.getpid():  # a child process has no threads of its parent
        thread = ThreadPoolExecutor(1, thread_name_prefix="pippin")
        _threads[owner] = os.getpid(), thread
    return thread


async def predict(owner: Any, inputs: Any, state: Any, **options: Any) -> Any:
    cancel = CancelToken()
    started = _thread_of(owner).submit(owner.predict, inputs, state, cancel=cancel, **options)
    result = asyncio.wrap_future(started)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        if not started.cancel():
            cancel.request()
            await asyncio.wait([result])  # the state is in use until then
            if not result.cancelled():
                result.exception()  # marks the exception as retrieved
        raise
