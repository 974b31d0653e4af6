import asyncio
import os
import signal


async def main():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        print("cancelled by the interrupt")
        raise


asyncio.run(main())
