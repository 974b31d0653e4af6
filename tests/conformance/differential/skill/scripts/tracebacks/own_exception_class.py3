class WrongError(Exception):
    pass


class Outer:
    class InnerError(WrongError):
        pass


raise Outer.InnerError("qualified")
