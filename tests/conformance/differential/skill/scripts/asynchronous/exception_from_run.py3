import asyncio


async def fails():
    await asyncio.sleep(0)
    raise ValueError("in a coroutine")


asyncio.run(fails())
