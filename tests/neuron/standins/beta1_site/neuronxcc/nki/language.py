"""Names a kernel's module asks for when it is imported; the stand-in never executes a kernel's body."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return name
