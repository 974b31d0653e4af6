import asyncio
from contextlib import asynccontextmanager


@asynccontextmanager
async def opened(name):
    print("open", name)
    yield name
    print("close", name)


async def count():
    for number in range(3):
        yield number
        await asyncio.sleep(0)


async def main():
    async with opened("it") as name:
        print(name, [number async for number in count()])


asyncio.run(main())
