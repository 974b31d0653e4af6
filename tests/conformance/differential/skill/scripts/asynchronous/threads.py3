import asyncio
import threading


async def main():
    name = await asyncio.to_thread(lambda: threading.current_thread().name)
    print(name, threading.current_thread().name)


asyncio.run(main())
