"""Conversations of a library with raw sockets, recorded byte by byte.

`capture.py` plays one of them with any library and writes down every byte and everything that the C interface showed.
`proto/tests/vectors/` holds what the real library said; `test_golden.py` compares.
"""
