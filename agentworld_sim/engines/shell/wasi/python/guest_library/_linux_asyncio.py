"""Event loops without a pair of sockets that wakes them, nobody could from outside, and without processes."""


def enter(module):
    if module.__name__ == "asyncio.unix_events":
        module._UnixSelectorEventLoop._make_subprocess_transport = refuse
        return
    loop = module.BaseSelectorEventLoop
    loop._make_self_pipe = loop._close_self_pipe = loop._write_to_self = lambda self: None
    loop.add_signal_handler = lambda self, sig, callback, *args: None
    loop.remove_signal_handler = lambda self, sig: False


async def refuse(self, *_, **__):
    raise NotImplementedError
