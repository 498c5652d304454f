"""What a stream says of itself: its header, and the nodes of its description."""

import ctypes as c

from lsl_abi import FORMATS, encode


class Info:
    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def text(self, field):
        return getattr(self.library, f"get_{field}")(self.handle).decode(errors="replace")

    def name(self):
        return self.text("name")

    def fields(self):
        library = self.library
        formats = {number: name for name, number in FORMATS.items()}
        return {
            **{field: self.text(field) for field in ("name", "type", "source_id", "uid", "session_id", "hostname")},
            "channels": library.get_channel_count(self.handle), "rate": library.get_nominal_srate(self.handle),
            "format": formats.get(library.get_channel_format(self.handle), "undefined"),
            "version": library.get_version(self.handle), "created_at": library.get_created_at(self.handle),
        }

    def sizes(self):
        return self.library.get_channel_bytes(self.handle), self.library.get_sample_bytes(self.handle)

    def xml(self):
        pointer = self.library.get_xml(self.handle)
        text = c.string_at(pointer).decode(errors="surrogateescape")
        self.library.destroy_string(pointer)
        return text

    def desc(self):
        return Node(self.library, self.library.get_desc(self.handle))

    def desc_tree(self):
        return self.desc().tree()

    def fill(self, tree):
        """Adds (name, value or list of such) pairs below desc."""
        self.desc().fill(tree)

    def copy(self):
        return Info(self.library, self.library.copy_streaminfo(self.handle))

    def matches(self, query):
        return self.library.stream_info_matches_query(self.handle, encode(query))

    def reset_uid(self):
        self.library.c.lsl_reset_uid.restype = c.c_char_p
        self.library.c.lsl_reset_uid.argtypes = (c.c_void_p,)
        return self.library.reset_uid(self.handle).decode()

    def destroy(self):
        self.library.destroy_streaminfo(self.handle)


class Node:
    """A node of the description tree."""

    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def fill(self, tree):
        for name, value in tree:
            if isinstance(value, str):
                self.library.append_child_value(self.handle, encode(name), encode(value))
            else:
                Node(self.library, self.library.append_child(self.handle, encode(name))).fill(value)

    def tree(self):
        library, children = self.library, []
        child = library.first_child(self.handle)
        while child:
            if not library.is_text(child):
                node = Node(library, child)
                inner = node.tree()
                children.append((node.name(), inner if inner else library.child_value(child).decode()))
            child = library.next_sibling(child)
        return children

    def name(self):
        return self.library.name(self.handle).decode()

    def call(self, function, *arguments):
        """Calls an lsl_ XML function on this node; nodes become Node, text becomes str."""
        given = [a.handle if isinstance(a, Node) else encode(a) for a in arguments]
        result = getattr(self.library, function)(self.handle, *given)
        if isinstance(result, bytes):
            return result.decode()
        if function in ("empty", "is_text", "set_child_value", "set_name", "set_value"):
            return result
        return Node(self.library, result) if result else None

    def is_same(self, other):
        return self.handle == other.handle
