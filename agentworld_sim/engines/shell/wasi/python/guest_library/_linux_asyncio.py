"""Event loops without a pair of sockets that wakes them: nobody could from outside."""


def enter(selector_events):
    loop = selector_events.BaseSelectorEventLoop
    loop._make_self_pipe = loop._close_self_pipe = loop._write_to_self = lambda self: None
    loop.add_signal_handler = lambda self, sig, callback, *args: None
    loop.remove_signal_handler = lambda self, sig: False
