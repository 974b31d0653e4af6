"""The command line's entry."""


def main() -> None:
    try:
        # Half a second of imports, in which Ctrl-C must be as quiet as later on.
        from .cli import main as command_line  # noqa: PLC0415
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    command_line()


if __name__ == "__main__":
    main()
