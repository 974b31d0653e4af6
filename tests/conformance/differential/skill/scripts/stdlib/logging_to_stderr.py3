import logging
logging.warning("by the root logger, not set up")
logging.basicConfig(force=True, level=logging.DEBUG, format="%(levelname)s %(name)s %(filename)s:%(lineno)d %(funcName)s %(message)s")


def inside():
    logging.getLogger("a.b").info("info %d", 1)
    try:
        1 / 0
    except ZeroDivisionError:
        logging.exception("failed")


inside()
logging.error("with the stack", stack_info=True)
logging.info("%d", "not a number")
