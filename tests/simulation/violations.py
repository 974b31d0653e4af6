class Violation(AssertionError):
    pass


def claim_that(holds: bool, rule: str, about: object) -> None:
    if not holds:
        raise Violation(f"{rule}: {about}")
