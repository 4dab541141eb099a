"""How much a client may send, fetch and ask, and how long it has to wait if it was more.

Pure: time comes in with each call. Nobody is refused; whoever takes too much is told to wait
(KIP-219), and its connection is not read from until then.
"""
