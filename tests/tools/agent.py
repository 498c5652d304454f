"""A process that has one library loaded and does what the test says: `agent.py LIBRARY FD`.

It speaks pickled messages over an inherited socket: (number, object, method, arguments, names, thread?). Objects
stay here; the test holds their numbers. A call that may block runs in a thread of its own when the test asks.
"""

import sys
import threading
from multiprocessing.connection import Connection

import lsl


class Remote:
    """Stands for an object of the agent in a message."""

    def __init__(self, number):
        self.number = number


OBJECTS = (lsl.Info, lsl.Inlet, lsl.Node, lsl.Outlet, lsl.Resolver)


def main():
    library, channel = lsl.Library(sys.argv[1]), Connection(int(sys.argv[2]))
    objects, lock = {0: library}, threading.Lock()

    def there(value):
        if isinstance(value, OBJECTS):
            with lock:
                number = len(objects)
                objects[number] = value
            return Remote(number)
        if isinstance(value, (list, tuple)):
            return type(value)(there(item) for item in value)
        return value

    def here(value):
        return objects[value.number] if isinstance(value, Remote) else value

    def answer(number, target, method, arguments, names):
        try:
            given = [here(a) for a in arguments]
            named = {name: here(a) for name, a in names.items()}
            result = (number, True, there(getattr(objects[target], method)(*given, **named)))
        except Exception as error:
            result = (number, False, error)
        with lock:
            channel.send(result)

    while True:
        try:
            *call, threaded = channel.recv()
        except EOFError:
            return
        if threaded:
            threading.Thread(target=answer, args=call, daemon=True).start()
        else:
            answer(*call)


if __name__ == "__main__":
    # As a module, so that its classes have the same names at both ends.
    import agent

    agent.main()
